"""K2, and what it decides by.

Each node takes the parents, among those before it, that raise the score most: the leave-one-out
score of the whole network, or a local score of the node.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

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
            self._key = view
            self._see(compress_views(view[None]))
        scores: Floats = self._score(candidates)[0]
        return scores

    def score_views(self, candidates: Candidates, views: Floats) -> Floats:
        """Score the candidates on all views of (n_views, n_rows) together: (n_views, n_extras)."""
        if views is not self._key:
            self._key = views
            self._see(compress_views(views))
        return self._score(candidates)

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
        self._included: dict[int, tuple[int, ...]] = {}
        self._left_out: tuple[int, Any] | None = None
        self._ratios = np.empty_like(self._log_ratios)

    def without(self, structure: Structure, node: int) -> Rest:
        """Give the ratios without a node."""
        others = structure.parents[:node], structure.parents[node + 1 :]
        if (node, others) != self._left_out:
            for other in structure.features:
                self._include(other, structure.parents[other] if other != node else None)
            np.minimum(np.maximum(self._log_ratios, -LOG_LIMIT), LOG_LIMIT, out=self._ratios)
            np.exp(self._ratios, out=self._ratios)
            self._left_out = node, others
        return Rest(self._ratios, self.smoothing)

    def _include(self, node: int, parents: tuple[int, ...] | None) -> None:
        """Bring a node's share up to date; None takes it out."""
        before = self._included.get(node)
        if before == parents:
            return
        if before is not None:
            self._add(node, self._included.pop(node), -1.0)
        if parents is not None:
            self._add(node, parents, 1.0)
            self._included[node] = parents

    def _add(self, node: int, parents: tuple[int, ...], sign: float) -> None:
        if CLASS in parents:
            configurations = self.rows.configurations([p for p in parents if p != CLASS])
            add_log_ratios(
                self.rows.nodes, Family(node, True, *configurations), self.views,
                self.smoothing, sign, self._log_ratios,
            )  # fmt: skip


class LeaveOneOutMeasure(NetworkMeasure):
    """Leave-one-out score of the whole network (Algorithm 3), by one of ``GLOBAL_CRITERIA``."""

    def __init__(self, rows: CodedRows, metric: int, smoothing: float) -> None:
        super().__init__(rows, metric)
        self.smoothing = smoothing

    def _see(self, views: RowViews) -> None:
        self._views = views
        self._rest = RestOfNetwork(self.rows, views, self.smoothing)
        # by entry, a candidate costs its entries times the classes; by row, its rows times them
        self._few_entries = 2 * self.rows.n_classes * int(np.diff(views.starts).min())
        self._whole_rows = bool(views.weights.min() >= 1.0)

    def _score(self, candidates: Candidates) -> Floats:
        structure, node, extras = candidates
        parents, others, n_classes = (
            structure.parents[node],
            structure.others(node),
            self.rows.n_classes,
        )
        rest = self._rest.without(structure, node)
        configurations = self.rows.configurations(others)
        family = Family(node, CLASS in parents, *configurations)
        # the class is told apart in any case, and splits nothing
        splits = [NO_EXTRA if extra == CLASS else extra for extra in extras.tolist()]
        n_groups = configurations.n_codes * n_classes
        widest = self.rows.count_entries(node, parents, n_groups, splits)
        few = widest * n_classes <= self._few_entries
        by_entry = few and self._whole_rows and family.has_class
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
