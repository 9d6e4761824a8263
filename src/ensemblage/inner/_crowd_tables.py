"""One table out of many: bootstraps refit bins and tables, and are averaged on one grid."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ensemblage.bayes._cells import Configurations
from ensemblage.bayes._coding import Coder, code_columns, fill_missing, learn_coders
from ensemblage.bayes._columns import MISSING, Column
from ensemblage.bayes._discretizer import bin_of
from ensemblage.bayes._tables import NodeTable, fit_prior, fit_table, look_up, make_table

GRID_CELLS = 2**14
"""A table on the common grid has at most so many cells per class; bins are merged beyond."""


class Bag(NamedTuple):
    """One bootstrap, with bins of its own.

    Attributes
    ----------
    coders : list of Coder
        Its bins.
    n_categories : ndarray of shape (n_nodes,)
        Number of codes of each node on its bins.
    codes : ndarray of shape (n_nodes, n_rows)
        All rows on its bins; the class first.
    weights : ndarray of shape (n_rows,)
        How often each row was drawn, times its weight.
    """

    coders: list[Coder]
    n_categories: NDArray[np.int64]
    codes: NDArray[np.int32]
    weights: NDArray[np.float64]


def code_bag(
    columns: list[Column],
    labels: NDArray[np.int32],
    n_classes: int,
    weights: NDArray[np.float64],
    discretizer: str | None,
    seed: int,
) -> Bag:
    """Draw a bootstrap and cut the columns by it.

    Parameters
    ----------
    columns : list of Column
        The features as they were read.
    labels : ndarray of shape (n_rows,)
        Class codes.
    n_classes : int
        Number of class codes.
    weights : ndarray of shape (n_rows,)
        Weight of each row.
    discretizer : {"mdlp", None}
        How numbers become categories.
    seed : int
        For the bootstrap.

    Returns
    -------
    Bag
        All rows on the bootstrap's bins.
    """
    n_rows = len(labels)
    drawn = np.random.default_rng(seed).integers(n_rows, size=n_rows)
    bag = np.bincount(drawn, minlength=n_rows) * weights
    coders = learn_coders(columns, labels, n_classes, bag, discretizer)
    codes = fill_missing(code_columns(columns, coders), coders)
    codes[0] = labels
    sizes = np.array([n_classes, *(len(coder.labels) for coder in coders)], dtype=np.int64)
    return Bag(coders, sizes, codes, bag)


class VoicesMeasure:
    """A measure in which each view has a measure of its own.

    Parameters
    ----------
    voices : list of Measure
        One per view, all of the same rows, for instance on different bins.
    """

    def __init__(self, voices: list[Any]) -> None:
        self.voices = voices
        self.n_items = voices[0].n_items
        self._views: list[NDArray[np.float64]] = []
        self._key: NDArray[np.float64] | None = None

    def score_views(self, candidates: Any, views: NDArray[np.float64]) -> NDArray[np.float64]:
        """Let each voice score the candidates on its view.

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
        if views is not self._key:  # a voice knows its view again by identity
            self._key, self._views = views, list(views)
        pairs = zip(self.voices, self._views, strict=True)
        return np.stack([voice(candidates, view) for voice, view in pairs])


def common_cuts(
    bags: list[Bag], parents: list[list[int]], n_classes: int, max_entries: int
) -> list[NDArray[np.float64] | None]:
    """Put all bags' cut points on one grid per column, merged where a table would be too large.

    Parameters
    ----------
    bags : list of Bag
        The crowd.
    parents : list of list of int
        The structure.
    n_classes : int
        Number of classes.
    max_entries : int
        Cap on the cells of a node's table.

    Returns
    -------
    list of ndarray or None
        Cut points of each column; None for a column of categories.
    """
    cuts: list[NDArray[np.float64] | None] = []
    for coders in zip(*(bag.coders for bag in bags), strict=True):
        found = [coder.cuts for coder in coders if coder.cuts is not None]
        cuts.append(np.unique(np.concatenate(found)) if found else None)
    fixed = [int(n) for n in bags[0].n_categories[1:]]
    for node in range(1, len(parents)):
        family = [node, *(p for p in parents[node] if p != 0)]
        while True:
            sizes = {
                j: fixed[j - 1] if cuts[j - 1] is None else len(cuts[j - 1]) + 1 for j in family
            }
            cells = n_classes * int(np.prod(list(sizes.values()), dtype=object))
            cuttable = [j for j in family if cuts[j - 1] is not None and sizes[j] > 2]
            if cells <= max_entries or not cuttable:
                break
            widest = max(cuttable, key=lambda j: sizes[j])
            cuts[widest - 1] = cuts[widest - 1][::2]
    return cuts


def _bag_codes(cuts: NDArray[np.float64] | None, coder: Coder) -> NDArray[np.int64]:
    """Find the bag's code of each code on the common grid."""
    if cuts is None or coder.cuts is None:
        return np.arange(len(coder.labels))
    # a bin's right edge belongs to it, so the edge tells which of the bag's bins it lies in
    return np.searchsorted(coder.cuts, np.append(cuts, np.inf), side="left")


def average_table(
    bags: list[Bag],
    tables: list[NodeTable],
    node: int,
    parents: list[int],
    cuts: list[NDArray[np.float64] | None],
    masses: list[NDArray[np.float64]],
) -> NodeTable:
    r"""Pool a node's tables over the bags, on the common grid.

    Parameters
    ----------
    bags : list of Bag
        The crowd.
    tables : list of dict
        The feature's ``NodeTable`` in each bag.
    node : int
        The feature.
    parents : list of int
        Its parents.
    cuts : list of ndarray or None
        The common grid.
    masses : list of ndarray
        Weight of the rows in each bin or category of each column, on the common grid.

    Returns
    -------
    dict
        A ``NodeTable`` of all configurations.

    Notes
    -----
    A bag's probability of one of its bins is shared out among the common bins inside by the
    rows in them, whatever their class: :math:`P_b(u) = P_b(v) m_u / m_v`. The pool is
    :math:`\exp \frac1B \sum_b \log P_b`, made to add up to one.
    """
    others = [p for p in parents if p != 0]
    shape = [len(masses[p - 1]) for p in others]
    n_own = len(masses[node - 1])
    axes = np.indices((*shape, n_own + 1), sparse=True)
    total = np.zeros(1)
    for bag, table in zip(bags, tables, strict=True):
        maps = [_bag_codes(cuts[p - 1], bag.coders[p - 1]) for p in (*others, node)]
        within = np.bincount(maps[-1], weights=masses[node - 1])[maps[-1]]
        shares = np.append(np.log(masses[node - 1] / within), 0.0)
        maps[-1] = np.append(maps[-1], bag.n_categories[node])
        codes = [m[axis] for m, axis in zip(maps, axes, strict=True)]
        found = look_up(table, bag.n_categories, codes[-1], codes[:-1])
        total = total + found + shares[:, None]
    log_table = total.reshape(-1, n_own + 1, total.shape[-1]) / len(bags)
    log_table -= logsumexp(log_table[:, :-1], axis=1, keepdims=True)
    configurations = np.indices(shape, dtype=np.int32).reshape(len(shape), len(log_table)).T
    steps = [np.arange(n, dtype=np.int32) for n in np.cumprod(shape, dtype=np.int64)]
    return make_table(parents, np.ascontiguousarray(configurations), steps, log_table)


def common_coders(
    columns: list[Column],
    coders: list[Coder],
    cuts: list[NDArray[np.float64] | None],
    weights: NDArray[np.float64],
) -> tuple[list[Coder], list[NDArray[np.float64]]]:
    """Code the columns on the common grid.

    Parameters
    ----------
    columns : list of Column
        The features as they were read.
    coders : list of Coder
        The plain bins, whose mode stands in for a missing value.
    cuts : list of ndarray or None
        The common grid.
    weights : ndarray of shape (n_rows,)
        Weight of each row.

    Returns
    -------
    coders : list of Coder
        On the common grid; the mode is where the middle row of the plain mode lies.
    masses : list of ndarray
        Weight of the rows in each bin or category, a little above zero if there is none.
    """
    common, masses = [], []
    for column, coder, grid in zip(columns, coders, cuts, strict=True):
        new = Coder(coder.cuts, coder.categories, coder.mode)
        if grid is not None:
            inside = np.flatnonzero(coder.code(column) == coder.mode)
            new = Coder(grid, None)
            if len(inside):
                middle = np.median(column.numbers[inside])  # type: ignore[index]
                new.mode = int(bin_of(np.array([middle]), grid)[0])
        codes = new.code(column)
        known = (codes != MISSING) & (codes < len(new.labels))
        mass = np.bincount(codes[known], weights=weights[known], minlength=len(new.labels))
        common.append(new)
        masses.append(mass + 0.5 / len(mass))
    return common, masses


def pool_bags(
    bags: list[Bag],
    columns: list[Column],
    coders: list[Coder],
    parents: list[list[int]],
    weights: NDArray[np.float64],
    smoothing: float,
    max_entries: int,
    names: list[str],
) -> tuple[list[Coder], list[NodeTable], NDArray[np.float64]]:
    """Fit a structure's tables to each bag and pool them into one network.

    Parameters
    ----------
    bags : list of Bag
        The crowd.
    columns : list of Column
        The features as they were read.
    coders : list of Coder
        The plain bins.
    parents : list of list of int
        The structure.
    weights : ndarray of shape (n_rows,)
        Weight of each row.
    smoothing : float
        Added to each count.
    max_entries : int
        Cap on the cells of a table.
    names : list of str
        Names of the nodes, for errors.

    Returns
    -------
    coders : list of Coder
        The common grid.
    tables : list of dict
        Pooled ``NodeTable`` of each feature.
    prior : ndarray of shape (n_classes,)
        Pooled log probabilities of the classes.
    """
    n_classes = int(bags[0].n_categories[0])
    cuts = common_cuts(bags, parents, n_classes, min(max_entries, n_classes * GRID_CELLS))
    common, masses = common_coders(columns, coders, cuts, weights)
    cells = [Configurations(bag.codes, bag.n_categories, names, max_entries) for bag in bags]
    pooled = []
    for node in range(1, len(parents)):
        tables = [
            fit_table(one, node, parents[node], bag.weights, smoothing)
            for one, bag in zip(cells, bags, strict=True)
        ]
        pooled.append(average_table(bags, tables, node, parents[node], cuts, masses))
    priors = [fit_prior(bag.codes[0], n_classes, bag.weights, smoothing) for bag in bags]
    prior = np.mean(priors, axis=0)
    return common, pooled, prior - logsumexp(prior)
