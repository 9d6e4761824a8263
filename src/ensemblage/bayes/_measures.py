"""What K2 decides by: the leave-one-out score of the whole network, or a local score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.bayes._cells import Configurations
from ensemblage.kernels._k2 import (
    ACCURACY,
    BDEU,
    BIC,
    K2,
    LOG,
    PROBABILITY,
    add_log_ratios,
    leave_one_out_scores,
    leave_one_out_scores_by_cell,
    local_scores,
)

GLOBAL_SCORES = {"accuracy": ACCURACY, "probability": PROBABILITY, "log": LOG}
LOCAL_SCORES = {"k2": K2, "bdeu": BDEU, "bic": BIC}

# exp of what exceeds this overflows; a class this far behind or ahead decides alone anyway
LOG_LIMIT = 650.0


@dataclass
class Structure:
    """Parents of every node so far; node 0 is the class.

    Attributes
    ----------
    parents : list of list of int
        In the order in which they were added.
    """

    parents: list[list[int]]


class Candidates(NamedTuple):
    """One decision of K2: which of the extras, if any, becomes a parent of the node.

    Attributes
    ----------
    structure : Structure
        The network so far.
    node : int
        Whose parents are chosen.
    extras : ndarray of shape (n_extras,)
        Candidate parents; the node itself stands for the network as it is.
    """

    structure: Structure
    node: int
    extras: NDArray[np.int64]


class CompressedViews(NamedTuple):
    """Rows of positive weight in each view, one view after the other.

    Attributes
    ----------
    rows : ndarray of shape (n_entries,)
        Row numbers.
    starts : ndarray of shape (n_views + 1,)
        Where each view begins.
    weights : ndarray of shape (n_entries,)
        The rows' weights in their views.
    """

    rows: NDArray[np.int64]
    starts: NDArray[np.int64]
    weights: NDArray[np.float64]


def compress_views(views: NDArray[np.float64]) -> CompressedViews:
    """Keep each view's rows of positive weight.

    Parameters
    ----------
    views : ndarray of shape (n_views, n_rows)
        Weight of each row in each view.

    Returns
    -------
    CompressedViews
        The same views.
    """
    view, rows = np.nonzero(views)
    starts = np.concatenate([[0], np.cumsum(np.bincount(view, minlength=len(views)))])
    return CompressedViews(rows, starts.astype(np.int64), views[view, rows])


class _NodeMeasure:
    """What both kinds of measures share: the rows, their cells, and the compressed views.

    Parameters
    ----------
    cells : Configurations
        Codes of all nodes.
    metric : int
        The kernel's number of the score.
    """

    def __init__(self, cells: Configurations, metric: int) -> None:
        self.n_items = cells.columns.shape[1]
        self.cells = cells
        self.metric = metric
        self._key: NDArray[np.float64] | None = None
        self._buffers: dict[str, NDArray[np.float64]] = {}

    def __call__(self, candidates: Candidates, view: NDArray[np.float64]) -> NDArray[np.float64]:
        """Score the candidates on one view; see :class:`ensemblage.inner.Measure`.

        Parameters
        ----------
        candidates : Candidates
            One node and its candidate parents.
        view : ndarray of shape (n_rows,)
            Weight of each row.

        Returns
        -------
        ndarray of shape (n_extras,)
            Scores.
        """
        if view is not self._key:
            self._key = view
            self._see(compress_views(view[None]))
        return self._score(candidates)[0]

    def score_views(
        self, candidates: Candidates, views: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Score the candidates on all views together.

        Parameters
        ----------
        candidates : Candidates
            One node and its candidate parents.
        views : ndarray of shape (n_views, n_rows)
            Weight of each row in each view.

        Returns
        -------
        ndarray of shape (n_views, n_extras)
            Scores.
        """
        if views is not self._key:
            self._key = views
            self._see(compress_views(views))
        return self._score(candidates)

    def _see(self, views: CompressedViews) -> None:
        self._views = views

    def _scratch(self, name: str, cells: int) -> NDArray[np.float64]:
        if name not in self._buffers or len(self._buffers[name]) < cells:
            self._buffers[name] = np.empty(cells)
        return self._buffers[name]

    def _score(self, candidates: Candidates) -> NDArray[np.float64]:
        raise NotImplementedError  # pragma: no cover


class LeaveOneOutMeasure(_NodeMeasure):
    r"""Leave-one-out score of the whole network (Algorithm 3).

    Between calls it keeps, for each row of each view, the log ratios
    :math:`\log P_k - \log P_y` of the network without the node in question; they follow the
    structure as it grows, so a candidate costs one pass over the rows.

    Parameters
    ----------
    cells : Configurations
        Codes of all nodes.
    metric : int
        ``ACCURACY``, ``PROBABILITY`` or ``LOG``.
    smoothing : float
        Added to each count.
    """

    def __init__(self, cells: Configurations, metric: int, smoothing: float) -> None:
        super().__init__(cells, metric)
        self.smoothing = smoothing

    def _see(self, views: CompressedViews) -> None:
        super()._see(views)
        n_classes = int(self.cells.n_categories[0])
        labels = self.cells.columns[0][views.rows]
        view = np.repeat(np.arange(len(views.starts) - 1), np.diff(views.starts))
        prior = np.zeros((len(views.starts) - 1, n_classes))
        np.add.at(prior, (view, labels), views.weights)
        kept = prior[view, labels] - np.minimum(views.weights, 1.0) + self.smoothing
        self._log_ratios = np.log((prior[view] + self.smoothing) / kept[:, None])
        self._log_ratios[np.arange(len(labels)), labels] = 0.0
        self._included: dict[int, list[int]] = {}
        self._node = -1
        # by cell, a candidate costs its cells times the classes; by row, its rows times them
        self._few_cells = 2 * n_classes * int(np.diff(views.starts).min())
        self._whole_rows = bool(views.weights.min() >= 1.0)

    def _score(self, candidates: Candidates) -> NDArray[np.float64]:
        structure, node, extras = candidates
        if node != self._node:
            self._leave_out(structure, node)
        parents = structure.parents[node]
        others = [p for p in parents if p != 0]
        configuration, count = self.cells.of(others)
        n_classes = int(self.cells.n_categories[0])
        cells = max(
            self.cells.check(node, parents, count * n_classes, extra if extra != 0 else node)
            for extra in extras.tolist()
        )
        shared = (self.cells.columns, self.cells.n_categories, node)
        views = (*self._views, self._ratios, self.smoothing, self.metric)
        if self._whole_rows and 0 in parents and cells * n_classes <= self._few_cells:
            return leave_one_out_scores_by_cell(
                *shared, configuration, count, extras, *views,
                self._scratch("counts", cells), self._scratch("factors", cells * n_classes),
            )  # fmt: skip
        return leave_one_out_scores(
            *shared, 0 in parents, configuration, count, extras, *views,
            self._scratch("counts", cells), self._scratch("totals", cells),
        )  # fmt: skip

    def _leave_out(self, structure: Structure, node: int) -> None:
        """Bring the ratios up to date with the structure, without the node."""
        for other in range(1, len(structure.parents)):
            wanted = list(structure.parents[other]) if other != node else None
            if self._included.get(other) != wanted:
                self._add(other, self._included.pop(other, None), -1.0)
                self._add(other, wanted, 1.0)
                if wanted is not None:
                    self._included[other] = wanted
        self._ratios = np.exp(np.clip(self._log_ratios, -LOG_LIMIT, LOG_LIMIT))
        self._node = node

    def _add(self, node: int, parents: list[int] | None, sign: float) -> None:
        if parents is None or 0 not in parents:
            return
        configuration, count = self.cells.of([p for p in parents if p != 0])
        add_log_ratios(
            self.cells.columns, self.cells.n_categories, node, configuration, count,
            *self._views, self.smoothing, sign, self._log_ratios,
        )  # fmt: skip


class LocalMeasure(_NodeMeasure):
    """Decomposable score of one node given its parents, the class among them.

    Parameters
    ----------
    cells : Configurations
        Codes of all nodes.
    metric : int
        ``K2``, ``BDEU`` or ``BIC``.
    """

    def _score(self, candidates: Candidates) -> NDArray[np.float64]:
        structure, node, extras = candidates
        parents = structure.parents[node]
        configuration, count = self.cells.of(parents)
        cells = max(self.cells.check(node, parents, count, extra) for extra in extras.tolist())
        possible = float(np.prod([float(self.cells.n_categories[p]) for p in parents]))
        return local_scores(
            self.cells.columns, self.cells.n_categories, node, configuration, count, possible,
            extras, *self._views, self.metric, self._scratch("counts", cells),
        )  # fmt: skip


def make_measure(score: str, cells: Configurations, smoothing: float) -> _NodeMeasure:
    """Make the measure that the user named.

    Parameters
    ----------
    score : {"accuracy", "probability", "log", "k2", "bdeu", "bic"}
        Name.
    cells : Configurations
        Codes of all nodes.
    smoothing : float
        Added to each count by the global scores.

    Returns
    -------
    Measure
        Scores :class:`Candidates`.
    """
    if score in GLOBAL_SCORES:
        return LeaveOneOutMeasure(cells, GLOBAL_SCORES[score], smoothing)
    return LocalMeasure(cells, LOCAL_SCORES[score])
