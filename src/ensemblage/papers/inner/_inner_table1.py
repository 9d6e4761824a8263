"""Table 1 of the inner ensembles paper: Bayesian networks on 14 datasets, over a grid."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import msgspec
import numpy as np
from sklearn.utils import _safe_indexing

from ensemblage.papers._paper_table import (
    PaperScope,
    PaperTable,
    Scales,
    paper_cell,
    paper_dataset,
    paper_table,
    repeat_seed,
)
from ensemblage.papers.inner._inner_network_rows import GRIDS, NetworkGrid, network_tables
from ensemblage.papers.inner._inner_networks import as_frame, paper_model
from ensemblage.papers.inner._inner_prefixes import FoldNetworks
from ensemblage.parallel import Fold, make_folds
from ensemblage.runs import CellResult, ResultTable

N_FOLDS, INNER_FOLDS = 10, 3


class NetworkParams(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One cross-validation of one method; a grid of settings is in lists."""

    dataset: str
    method: str
    repeat: int
    seed: int
    n_views: list[int] = []
    view_size: list[float] = []
    replace: bool | None = None


def folds_of(y: Any, n_folds: int, seed: int) -> list[Fold]:
    """Stratified folds; a class may have fewer rows than there are folds."""
    codes = np.unique(np.asarray(y), return_inverse=True)[1]
    return make_folds(codes, n_folds, seed)


def accuracy(model: Any, X: Any, y: Any, fold: Fold) -> float:
    """Fit on the training rows and score on the test rows, in per cent."""
    model.fit(_safe_indexing(X, fold.train), _safe_indexing(y, fold.train))
    truth = np.asarray(_safe_indexing(y, fold.test))
    return 100.0 * float(np.mean(model.predict(_safe_indexing(X, fold.test)) == truth))


def fold_scores(params: NetworkParams, X: Any, y: Any, fold: Fold, seed: int) -> list[float]:
    """Accuracies of the method in per cent, of each setting."""
    if params.method == "inner":
        return inner_accuracies(FoldNetworks(X, y, fold), params, seed)
    if params.method == "bagging":
        return FoldNetworks(X, y, fold).bags(params.n_views, seed)
    if params.method == "nested":
        return [nested_accuracy(X, y, fold, params, seed)]
    return [accuracy(paper_model(params.method, seed), X, y, fold)]


def inner_accuracies(networks: FoldNetworks, params: NetworkParams, seed: int) -> list[float]:
    """Accuracies with the inner score, of all sizes by shares."""
    replace = bool(params.replace)
    by_share = [networks.inner(params.n_views, share, replace, seed) for share in params.view_size]
    return [each for by_size in zip(*by_share, strict=True) for each in by_size]


def nested_accuracy(X: Any, y: Any, fold: Fold, params: NetworkParams, seed: int) -> float:
    """Choose a setting on inner folds of the training rows, then score it on the test rows."""
    inner = [
        Fold(fold.train[part.train], fold.train[part.test])
        for part in folds_of(np.asarray(y)[fold.train], INNER_FOLDS, seed)
    ]
    scores = [inner_accuracies(FoldNetworks(X, y, part), params, seed) for part in inner]
    means = [np.mean(each) for each in zip(*scores, strict=True)]
    size, share = list(product(params.n_views, params.view_size))[int(np.argmax(means))]
    return FoldNetworks(X, y, fold).inner([size], share, replace=False, seed=seed)[0]


QUICK = NetworkGrid((10,), (0.3, 0.7), repeats=1, plain_repeats=4)
STANDARD = NetworkGrid((10, 30), (0.1, 0.3, 0.5, 0.7, 0.9), repeats=2, plain_repeats=10)
FULL = NetworkGrid(
    tuple(range(10, 101, 10)), tuple(share / 10 for share in range(1, 11)), 10, plain_repeats=10
)


@paper_table("inner-table1")
class InnerTable1(PaperTable[NetworkGrid]):
    """Ten-fold cross-validations over a grid, with and without replacement; in full the paper's."""

    scales = Scales(QUICK, STANDARD, FULL)

    def grid(self, scope: PaperScope) -> Iterator[NetworkParams]:
        """Repeats first; the plain network is cheap and has more of them."""
        grid = self.scale_of(scope)
        for repeat, name in product(range(grid.plain_repeats), scope.datasets):
            params = partial(NetworkParams, dataset=name, repeat=repeat, seed=scope.seed)
            yield params(method="plain")
            if repeat < grid.repeats:
                yield from _ensembles(params, grid)

    @staticmethod
    @paper_cell(NetworkParams)
    def compute(params: NetworkParams, data_dir: str | None) -> dict[str, Any]:
        """Mean accuracy in per cent of one ten-fold cross-validation; of a grid, all in a list."""
        X, y = as_frame(paper_dataset(params.dataset, data_dir))
        seed = repeat_seed(params.seed, params.repeat)
        scores = [fold_scores(params, X, y, fold, seed) for fold in folds_of(y, N_FOLDS, seed)]
        means = [float(np.mean(each)) for each in zip(*scores, strict=True)]
        return {"accuracy": means if params.method in GRIDS else means[0]}

    def summarise(self, results: Sequence[CellResult], scope: PaperScope) -> list[ResultTable]:
        """Put the accuracies beside the paper's."""
        return network_tables(self, results, scope, self.scale_of(scope))


def _ensembles(params: Callable[..., NetworkParams], grid: NetworkGrid) -> Iterator[NetworkParams]:
    """Everything but the plain network, on the same folds."""
    yield params(method="default")
    yield params(method="crowd")
    sizes, shares = list(grid.sizes), list(grid.shares)
    yield params(method="bagging", n_views=sizes)
    for replace in (False, True):
        yield params(method="inner", n_views=sizes, view_size=shares, replace=replace)
    nested = STANDARD if grid is FULL else grid  # the whole grid would say little more
    yield params(method="nested", n_views=list(nested.sizes), view_size=list(nested.shares))
