"""K2, and what it decides by.

Each node takes the parents, among those before it, that raise the score most: the leave-one-out
score of the whole network, or a local score of the node.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from itertools import compress
from operator import ne

import numpy as np
from numpy.typing import NDArray

from ensemblage.bayes._coding import CodedRows
from ensemblage.bayes._search_space import Candidates, Score, SearchSpace, Structure, first_best
from ensemblage.kernels import (
    ACCURACY,
    BDEU,
    BIC,
    CLASS,
    K2,
    LIKELIHOOD,
    LOG,
    NO_EXTRA,
    PROBABILITY,
    Family,
    Rest,
    RowViews,
    add_log_ratios,
    leave_one_out_scores,
    leave_one_out_scores_by_entry,
    local_scores,
)

Floats = NDArray[np.float64]

GLOBAL_CRITERIA = {"accuracy": ACCURACY, "probability": PROBABILITY, "log": LOG}
LOCAL_CRITERIA = {"k2": K2, "bdeu": BDEU, "bic": BIC}
TREE_CRITERION = "likelihood"
"""What a tree between the features is judged by; it needs no penalty, as its size is given."""

# exp of what exceeds this overflows; a class this far behind or ahead decides alone anyway
LOG_LIMIT = 650.0


def compress_views(views: Floats) -> RowViews:
    """Keep the rows of positive weight in each view of (n_views, n_rows)."""
    view, rows = np.nonzero(views)
    starts = np.concatenate([[0], np.cumsum(np.bincount(view, minlength=len(views)))])
    return RowViews(rows, starts.astype(np.int64), views[view, rows])


class NetworkMeasure(ABC):
    """Scores candidate parents on views of the rows; see :class:`ensemblage.inner.Measure`.

    Views are known again by identity, so that what is kept of them serves many candidates.
    """

    def __init__(self, rows: CodedRows, metric: int) -> None:
        self.n_items = rows.n_rows
        self.rows = rows
        self.metric = metric
        self._key: Floats | None = None

    def __call__(self, candidates: Candidates, view: Floats) -> Floats:
        """Score the candidates on one view, the weight of each row: (n_extras,)."""
        if view is not self._key:
            self.see(view[None])
            self._key = view
        scores: Floats = self._score_telling(candidates)[0]
        return scores

    def score_views(self, candidates: Candidates, views: Floats) -> Floats:
        """Score the candidates on all views of (n_views, n_rows) together: (n_views, n_extras)."""
        if views is not self._key:
            self.see(views)
        return self._score_telling(candidates)

    def see(self, views: Floats) -> None:
        """Look at other views from now on."""
        self._key = views
        self._see(compress_views(views))

    def _score_telling(self, candidates: Candidates) -> Floats:
        """Score the candidates that change something; others score as leaving the node as it is.

        A column that a bootstrap has not cut changes nothing, and of many columns most are such.
        """
        structure, node, extras = candidates
        if self.rows.all_tell or extras[0] != NO_EXTRA:
            return self._score(candidates)
        changes = self.rows.telling[extras] & self.rows.telling[node]
        changes[0] = True
        found = self._score(Candidates(structure, node, extras[changes]))
        scores = np.repeat(found[:, :1], len(extras), axis=1)
        scores[:, changes] = found
        return scores

    @abstractmethod
    def _see(self, views: RowViews) -> None:
        """Prepare for new views."""

    @abstractmethod
    def _score(self, candidates: Candidates) -> Floats:
        """Score the candidates on the views last seen."""


class RestOfNetwork:
    r"""Log ratios :math:`\log P_k - \log P_y` of the network without one node, rows left out.

    They follow the structure as it grows, so a candidate costs one pass over the rows.
    """

    def __init__(self, rows: CodedRows, views: RowViews, smoothing: float) -> None:
        self.rows = rows
        self.views = views
        self.smoothing = smoothing
        labels = rows.nodes.codes[CLASS][views.rows]
        view = np.repeat(np.arange(len(views.starts) - 1), np.diff(views.starts))
        prior = np.zeros((len(views.starts) - 1, rows.n_classes))
        np.add.at(prior, (view, labels), views.weights)
        kept = prior[view, labels] - np.minimum(views.weights, 1.0) + smoothing
        self._log_ratios = np.log((prior[view] + smoothing) / kept[:, None])
        self._log_ratios[np.arange(len(labels)), labels] = 0.0
        self._included: list[tuple[int, ...] | None] = [None] * len(rows.nodes.codes)
        self._ratios = np.empty_like(self._log_ratios)

    def keep_first(self, n_views: int) -> None:
        """Forget all but the first views; what is kept belongs to no other copy."""
        rows, starts, weights = self.views
        end = starts[n_views]
        self.views = RowViews(rows[:end], starts[: n_views + 1], weights[:end])
        self._log_ratios = self._log_ratios[:end].copy()
        self._ratios = self._ratios[:end].copy()

    def without(self, structure: Structure, node: int) -> Rest:
        """Give the ratios without a node."""
        wanted: list[tuple[int, ...] | None] = [*structure.parents]
        wanted[node] = None
        if wanted != self._included:
            for other in compress(range(len(wanted)), map(ne, self._included, wanted)):
                self._add(other, self._included[other] or (), -1.0)
                self._add(other, wanted[other] or (), 1.0)
            np.minimum(np.maximum(self._log_ratios, -LOG_LIMIT), LOG_LIMIT, out=self._ratios)
            np.exp(self._ratios, out=self._ratios)
            self._included = wanted
        return Rest(self._ratios, self.smoothing)

    def _add(self, node: int, parents: tuple[int, ...], sign: float) -> None:
        if CLASS in parents:
            configurations = self.rows.configurations([p for p in parents if p != CLASS])
            add_log_ratios(
                self.rows.nodes, Family(node, True, *configurations), self.views,
                self.smoothing, sign, self._log_ratios,
            )  # fmt: skip


class LeaveOneOutMeasure(NetworkMeasure):
    """Leave-one-out score of the whole network (Algorithm 3), by one of ``GLOBAL_CRITERIA``."""

    _rest: RestOfNetwork

    def __init__(self, rows: CodedRows, metric: int, smoothing: float) -> None:
        super().__init__(rows, metric)
        self.smoothing = smoothing

    @property
    def n_views(self) -> int:
        """How many views were last seen."""
        return len(self._fewest_rows)

    def keep_first(self, n_views: int) -> None:
        """Forget all but the first views seen; what is kept belongs to no other copy."""
        self._rest = copy(self._rest)
        self._rest.keep_first(n_views)
        self._look_at(self._rest.views)

    def score_first(self, candidates: Candidates, sizes: Sequence[int]) -> list[Floats]:
        """Score the candidates on the first views, so many at a time: (size, n_extras) each.

        They are, to the bit, what a measure that has seen no other views gives.
        """
        family, widest = self._family(candidates)
        by_entry = [self._by_entry(family, widest, size) for size in sizes]
        scores = {way: self._score_family(candidates, family, way) for way in set(by_entry)}
        return [scores[way][:size] for way, size in zip(by_entry, sizes, strict=True)]

    def _see(self, views: RowViews) -> None:
        self._rest = RestOfNetwork(self.rows, views, self.smoothing)
        self._look_at(views)

    def _look_at(self, views: RowViews) -> None:
        self._views = views
        # of the first views, by their number; a list is faster to ask than an array
        self._fewest_rows = np.minimum.accumulate(np.diff(views.starts)).tolist()
        self._whole_rows = bool(views.weights.min() >= 1.0)

    def _family(self, candidates: Candidates) -> tuple[Family, int]:
        """Give the node with its parents, and the entries of the widest candidate."""
        structure, node, extras = candidates
        parents = structure.parents[node]
        configurations = self.rows.configurations(structure.others(node))
        # the class is told apart in any case, and splits nothing
        splits = [NO_EXTRA if extra == CLASS else extra for extra in extras.tolist()]
        n_groups = configurations.n_codes * self.rows.n_classes
        widest = self.rows.count_entries(node, parents, n_groups, splits)
        return Family(node, CLASS in parents, *configurations), widest

    def _by_entry(self, family: Family, widest: int, n_views: int) -> bool:
        """By entry, a candidate costs its entries times the classes; by row, its rows."""
        few = widest <= 2 * self._fewest_rows[n_views - 1]
        return few and self._whole_rows and family.has_class

    def _score(self, candidates: Candidates) -> Floats:
        family, widest = self._family(candidates)
        by_entry = self._by_entry(family, widest, self.n_views)
        return self._score_family(candidates, family, by_entry)

    def _score_family(self, candidates: Candidates, family: Family, by_entry: bool) -> Floats:
        structure, node, extras = candidates
        rest = self._rest.without(structure, node)
        kernel = leave_one_out_scores_by_entry if by_entry else leave_one_out_scores
        scores: Floats = kernel(self.rows.nodes, family, extras, self._views, rest, self.metric)
        return scores


class LocalMeasure(NetworkMeasure):
    """Decomposable score of a node given its parents, the class among them."""

    def _see(self, views: RowViews) -> None:
        self._views = views

    def _score(self, candidates: Candidates) -> Floats:
        structure, node, extras = candidates
        nodes, parents = self.rows.nodes, structure.parents[node]
        configurations = self.rows.configurations(parents)
        self.rows.count_entries(node, parents, configurations.n_codes, extras.tolist())
        possible = float(np.prod([float(nodes.n_categories[p]) for p in parents]))
        family = Family(node, CLASS in parents, *configurations)
        scores: Floats = local_scores(nodes, family, possible, extras, self._views, self.metric)
        return scores


def make_measure(criterion: str, rows: CodedRows, smoothing: float) -> NetworkMeasure:
    """Make the measure that the user named; only the global criteria are smoothed."""
    if criterion in GLOBAL_CRITERIA:
        return LeaveOneOutMeasure(rows, GLOBAL_CRITERIA[criterion], smoothing)
    local = {**LOCAL_CRITERIA, TREE_CRITERION: LIKELIHOOD}
    return LocalMeasure(rows, local[criterion])


def add_parents(
    score: Score, structure: Structure, node: int, earlier: Sequence[int], space: SearchSpace
) -> Structure:
    """Give one node its parents (Algorithm 2, lines 3 to 12)."""
    while possible := space.candidates(structure, node, earlier):
        extras = np.array([NO_EXTRA, *possible], dtype=np.int64)
        scores = score(Candidates(structure, node, extras))
        chosen = int(extras[first_best(scores.tolist())])
        if chosen == NO_EXTRA:
            break
        structure = structure.add(node, chosen)
    return structure


def k2_search(
    score: Score, space: SearchSpace, step: Callable[[], bool] = lambda: False
) -> Structure:
    """Search the structure of a network (Algorithm 2).

    Each feature may have the class and the features before it in the order as parents.
    """
    structure = space.first()
    for position, node in enumerate(space.order):
        earlier = [CLASS, *space.order[:position]]
        structure = add_parents(score, structure, node, earlier, space)
        if step():
            break
    return structure
