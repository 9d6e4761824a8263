"""Networks of ensembles of all sizes at once: the views of a smaller one are the first of a larger.

What comes out is, to the bit, what fitting each size by itself gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.utils import _safe_indexing

from ensemblage.bayes import (
    Candidates,
    FittedNetwork,
    LeaveOneOutMeasure,
    Sample,
    SearchSpace,
    Structure,
    Training,
    code_columns,
    code_sample,
    fill_missing,
    first_best,
    fit_network,
    k2_search,
    make_measure,
    plan_search,
    read_training,
)
from ensemblage.inner import draw_views, mean_of_views
from ensemblage.kernels import CLASS, NO_EXTRA
from ensemblage.papers.inner._inner_networks import paper_model
from ensemblage.parallel import Fold, draw_seeds
from ensemblage.tables import read_features

Floats = NDArray[np.float64]


class Branch(NamedTuple):
    """Sizes that have decided alike so far; the measure has the views of the largest."""

    structure: Structure
    sizes: list[int]
    measure: LeaveOneOutMeasure


def search_prefixes(
    measure: LeaveOneOutMeasure, views: Floats, sizes: Sequence[int], space: SearchSpace
) -> dict[int, Structure]:
    """Run K2 on the first views, for each size; sizes part where they first decide differently."""
    if (views == views[0]).all():  # all of the rows: one view speaks for all
        views = views[:1]
    measure.see(views)
    branches = [Branch(space.first(), list(sizes), measure)]
    for position, node in enumerate(space.order):
        earlier = [CLASS, *space.order[:position]]
        branches = [
            grown for each in branches for grown in _add_parents(each, node, earlier, space)
        ]
    return {size: branch.structure for branch in branches for size in branch.sizes}


def _add_parents(
    branch: Branch, node: int, earlier: Sequence[int], space: SearchSpace
) -> Iterator[Branch]:
    """Give one node its parents, in as many ways as the sizes choose."""
    waiting = [branch]
    while waiting:
        branch = waiting.pop()
        possible = space.candidates(branch.structure, node, earlier)
        if not possible:
            yield branch
            continue
        extras = np.array([NO_EXTRA, *possible], dtype=np.int64)
        for choice, part in _part_by_choice(branch, Candidates(branch.structure, node, extras)):
            if choice == NO_EXTRA:
                yield part
            else:
                waiting.append(part._replace(structure=branch.structure.add(node, choice)))


def _part_by_choice(branch: Branch, candidates: Candidates) -> Iterator[tuple[int, Branch]]:
    """Let each size choose among the candidates; those that agree stay together."""
    structure, sizes, measure = branch
    n_views = [min(size, measure.n_views) for size in sizes]
    parts: dict[int, list[int]] = {}
    for size, scores in zip(sizes, measure.score_first(candidates, n_views), strict=True):
        whole = scores if len(scores) == size else np.repeat(scores, size, axis=0)
        best = first_best(mean_of_views(whole).tolist())
        parts.setdefault(int(candidates.extras[best]), []).append(size)
    for choice, part in parts.items():
        own = measure
        if len(parts) > 1:
            own = copy(measure)
            own.keep_first(min(max(part), measure.n_views))
        yield choice, Branch(structure, part, own)


class FoldNetworks:
    """The paper's networks on one fold, whose rows are read and cut into bins once."""

    def __init__(self, X: Any, y: Any, fold: Fold) -> None:
        self.model = paper_model("plain", 0)
        train = _safe_indexing(X, fold.train), _safe_indexing(y, fold.train)
        self.training: Training = read_training(self.model, *train, None)
        self.test = read_features(self.model, _safe_indexing(X, fold.test), reset=False)
        self.truth = np.asarray(_safe_indexing(y, fold.test))
        self.space = plan_search(self.model, self.training)
        self.sample = self._code(self.training)
        self._known: dict[Structure, float] = {}

    def inner(self, sizes: Sequence[int], share: float, replace: bool, seed: int) -> list[float]:
        """Accuracies in per cent of networks with the inner score, of each size."""
        found = self._structures(sizes, share, replace, seed)
        for structure in found.values():
            if structure not in self._known:
                network = fit_network(self.sample, self.model.smoothing, structure)
                self._known[structure] = self._accuracy(self._log_joint(network).argmax(axis=1))
        return [self._known[found[size]] for size in sizes]

    def bags(self, sizes: Sequence[int], seed: int) -> list[float]:
        """Accuracies in per cent of bags of each size."""
        by_name, n_rows = self.training.target.sorted_codes, len(self.training.weights)
        found, total = {}, np.zeros((len(self.truth), len(by_name)))
        for size, own in enumerate(draw_seeds(seed, max(sizes)), start=1):
            rows = np.random.default_rng(own).integers(n_rows, size=n_rows)
            joint = self._log_joint(self._learn(self.training.take(rows)))
            total += np.exp(log_softmax(joint, axis=1)[:, by_name])
            if size in sizes:
                found[size] = self._accuracy(by_name[total.argmax(axis=1)])
        return [found[size] for size in sizes]

    def _structures(
        self, sizes: Sequence[int], share: float, replace: bool, seed: int
    ) -> dict[int, Structure]:
        rows = self.sample.rows
        if rows.one_class():  # there is nothing to tell apart
            return dict.fromkeys(sizes, self.space.first())
        # a network's views have the first of the seeds that it draws
        views = draw_views(rows.n_rows, draw_seeds(seed, max(sizes)), share, replace)
        return search_prefixes(self._measure(self.sample), views, sizes, self.space)

    def _learn(self, training: Training) -> FittedNetwork:
        """Fit the plain network."""
        sample, structure = self._code(training), self.space.first()
        if not sample.rows.one_class():
            structure = k2_search(partial(self._measure(sample), view=sample.weights), self.space)
        return fit_network(sample, self.model.smoothing, structure)

    def _code(self, training: Training) -> Sample:
        return code_sample(training, self.model.discretizer, self.model.max_entries)

    def _measure(self, sample: Sample) -> Any:
        return make_measure(self.model.criterion, sample.rows, self.model.smoothing)

    def _log_joint(self, network: FittedNetwork) -> Floats:
        """Ask a network about the test rows."""
        codes = code_columns(self.test, network.coders)
        return network.log_joint(fill_missing(codes, network.coders))

    def _accuracy(self, predicted: NDArray[np.intp]) -> float:
        right = self.training.target.categories[predicted] == self.truth
        return 100.0 * float(np.mean(right))
