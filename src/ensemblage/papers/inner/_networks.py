"""Inner Bayesian networks: Table 1 and its significance, and Figure 2, prediction time."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from itertools import product
from math import isnan
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.base import clone

from ensemblage._core import Fold, draw_seeds, make_folds, safe_indexing
from ensemblage.bayes import (
    CLASS,
    NO_EXTRA,
    BayesNetClassifier,
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
from ensemblage.datasets import Dataset, read_features
from ensemblage.inner import InnerBayesNetClassifier, draw_views, mean_of_views
from ensemblage.papers._declaration import (
    PaperScope,
    PaperTable,
    PrintedTable,
    Scales,
    paper_cell,
    paper_dataset,
    paper_table,
    read_printed,
    repeat_seed,
)
from ensemblage.papers._summaries import (
    Repeats,
    averaged,
    best_of,
    by_repeat,
    closeness,
    entry,
    failed,
    friedman,
    gain_sentence,
    grouped,
    improving,
    mean_rows,
    paired_gain,
)
from ensemblage.studies import CellResult, ResultRow, ResultTable

Doubles = NDArray[np.float64]

ALL = "inner, all settings"
IMPROVING = "inner, improving settings"
BEST = "inner, best setting"
IMPROVED = "improved"
"""The paper's column of the share of the settings that improved."""

SELECTION_NOTE = (
    f"'{IMPROVING}' is the paper's average: it omits the settings that did not improve on the "
    f"plain method on the reported data, so it cannot be worse. '{BEST}' is selected in the same "
    f"way. '{ALL}' omits no setting."
)


class SettingValues(NamedTuple):
    """Values by repeat of each setting with results, and the number of failed cells."""

    values: list[Repeats]
    failures: int


def setting_values(cells: Sequence[Sequence[CellResult]], value: str) -> SettingValues:
    found = [by_repeat(part, value) for part in cells]
    return SettingValues([each for each in found if each], sum(map(failed, cells)))


def selection_rows(
    table: PaperTable[Any], row: str, inner: SettingValues, plain: Repeats
) -> list[ResultRow]:
    """Average over all settings and over those that improved, and take the best.

    If no setting improved, the second is the plain method, as in the paper.
    """
    settings, failures = inner
    better = improving(settings, plain)
    mean = averaged(settings)
    chosen = averaged(better) if better else {r: plain[r] for r in mean if r in plain}
    none = None if better or not settings else "No setting improved: the plain method's value."
    return [
        table.entry(row, ALL, mean, failures),
        table.entry(row, IMPROVING, chosen, failures, none),
        table.entry(row, BEST, best_of(settings), failures),
    ]


def share_row(
    row: str, column: str, inner: SettingValues, plain: Repeats, paper: float | None
) -> ResultRow:
    """Share of the settings that improved on the plain method, in per cent.

    ``repeats`` counts the settings; there is no standard error.
    """
    known = inner.values if plain else []
    share = 100.0 * len(improving(known, plain)) / len(known) if known else None
    return ResultRow(row, column, paper, share, None, len(known), inner.failures)


RANGES = ("sample size from (%)", "sample size to (%)", "ensemble size from", "ensemble size to")
"""The paper's columns S-Size and En-Size: the range of the settings that improved."""


def range_rows(
    printed: PrintedTable, row: str, settings: Mapping[tuple[int, float], Repeats], plain: Repeats
) -> list[ResultRow]:
    """Smallest and largest sizes of the settings that improved on the plain method.

    ``repeats`` counts these settings; there is no standard error.
    """
    better = [setting for setting, values in settings.items() if improving([values], plain)]
    shares = [round(100 * share) for _, share in better]
    sizes = [size for size, _ in better]
    limits = [end(each) for each in (shares, sizes) for end in (min, max)] if better else [None] * 4
    theirs = [printed.value(row, column) for column in RANGES]
    return [
        # the paper prints no range, nan, where no setting improved
        ResultRow(
            row, column, None if paper is None or isnan(paper) else paper, limit, None, len(better)
        )
        for column, paper, limit in zip(RANGES, theirs, limits, strict=True)
    ]


PLAIN = "plain network"
NESTED = "inner, nested choice"
BAGGING = "bagging, all sizes"
BAGGING_BEST = "bagging, best size"
POOLED = "pooled tables (ours)"
DEFAULT = "default network (ours)"
COLUMNS = (PLAIN, ALL, IMPROVING, BEST, NESTED, BAGGING, BAGGING_BEST, POOLED, DEFAULT)
GRIDS = ("inner", "bagging")
"""Methods whose cells have one accuracy for each setting of a grid."""
MODES = {False: "without replacement", True: "with replacement"}
PAPER_SHARES = {False: 62.0, True: 46.0}
"""Share of the settings that improved, in per cent, as the paper's text gives it."""


class NetworkGrid(NamedTuple):
    """Ensemble sizes, sample sizes, and numbers of cross-validations."""

    sizes: tuple[int, ...]
    shares: tuple[float, ...]
    repeats: int
    plain_repeats: int


def by_setting(result: CellResult) -> Iterator[CellResult]:
    """Split a cell into one for each of its settings; a nested choice has no setting."""
    params: Mapping[str, Any] = result.cell.params
    lists = {name: params[name] for name in ("n_views", "view_size") if name in params}
    rest = {name: value for name, value in params.items() if name not in lists}
    settings = list(product(*lists.values())) if params["method"] in GRIDS else [()]
    for i, setting in enumerate(settings):
        own = rest | dict(zip(lists, setting, strict=False))
        accuracies: Any = result.values.get("accuracy")
        values = {"accuracy": accuracies[i]} if isinstance(accuracies, list) else result.values
        cell = dataclasses.replace(result.cell, params=own)
        yield dataclasses.replace(result, cell=cell, values=values)


class NetworkResults:
    """Results of the grid by dataset, method and setting."""

    def __init__(self, results: Sequence[CellResult], grid: NetworkGrid) -> None:
        single = [one for result in results for one in by_setting(result)]
        self.grid = grid
        self._groups = grouped(single, "dataset", "method", "n_views", "view_size", "replace")

    def cells(self, name: str, method: str, *setting: Any) -> list[CellResult]:
        """Give the cells of a method; parameters that a setting lacks are None in their key."""
        return self._groups.get((name, method, *(*setting, None, None, None)[:3]), [])

    def values(self, name: str, method: str, *setting: Any) -> dict[int, float]:
        return by_repeat(self.cells(name, method, *setting), "accuracy")

    def inner(self, name: str, replace: bool) -> SettingValues:
        settings = product(self.grid.sizes, self.grid.shares)
        return setting_values(
            [self.cells(name, "inner", *setting, replace) for setting in settings], "accuracy"
        )

    def settings(self, name: str) -> dict[tuple[int, float], Repeats]:
        """Values of each setting without replacement that has any."""
        settings = product(self.grid.sizes, self.grid.shares)
        found = {each: self.values(name, "inner", *each, False) for each in settings}
        return {setting: values for setting, values in found.items() if values}

    def bags(self, name: str) -> SettingValues:
        return setting_values(
            [self.cells(name, "bagging", size) for size in self.grid.sizes], "accuracy"
        )


def network_tables(
    table: PaperTable[Any], results: Sequence[CellResult], scope: PaperScope, grid: NetworkGrid
) -> list[ResultTable]:
    """Make Table 1, the shares of settings that improved, and a grid per sampling mode."""
    found = NetworkResults(results, grid)
    rows = [row for name in scope.datasets for row in _dataset_rows(table, name, found)]
    summary = [*closeness(rows, 2), *_gains(scope, found)]
    for columns in ((PLAIN, IMPROVING, BAGGING), (PLAIN, BEST, BAGGING_BEST)):
        summary += friedman(rows, columns, "paper")
        summary += friedman(rows, columns)
    summary += friedman(rows, (PLAIN, NESTED, BAGGING))
    return [
        ResultTable(
            table.name, table.printed.title, "accuracy (%)", [*rows, *mean_rows(rows, COLUMNS)],
            summary, (SELECTION_NOTE, *table.printed.notes, *scope.missing_notes),
            greater_is_better=True,
        ),
        _share_table(table, scope, found),
        _range_table(table, scope, found),
        *(_grid_table(table, scope, found, replace) for replace in MODES),
    ]  # fmt: skip


def _dataset_rows(table: PaperTable[Any], name: str, found: NetworkResults) -> list[ResultRow]:
    plain, bags = found.values(name, "plain"), found.bags(name)

    def single(column: str, method: str) -> ResultRow:
        return table.entry(
            name, column, found.values(name, method), failed(found.cells(name, method))
        )

    return [
        single(PLAIN, "plain"),
        *selection_rows(table, name, found.inner(name, replace=False), plain),
        single(NESTED, "nested"),
        table.entry(name, BAGGING, averaged(bags.values), bags.failures),
        table.entry(name, BAGGING_BEST, best_of(bags.values), bags.failures),
        single(POOLED, "pooled"),
        single(DEFAULT, "default"),
    ]


def _gains(scope: PaperScope, found: NetworkResults) -> list[str]:
    gains: dict[str, list[float]] = {ALL: [], NESTED: [], BAGGING: [], POOLED: []}
    for name in scope.datasets:
        plain = found.values(name, "plain")
        compared = {
            ALL: averaged(found.inner(name, replace=False).values),
            NESTED: found.values(name, "nested"),
            BAGGING: averaged(found.bags(name).values),
            POOLED: found.values(name, "pooled"),
        }
        for column, values in compared.items():
            gain = paired_gain(values, plain)
            gains[column] += [] if gain is None else [gain]
    return [text for column, known in gains.items() for text in gain_sentence(column, PLAIN, known)]


def _share_table(table: PaperTable[Any], scope: PaperScope, found: NetworkResults) -> ResultTable:
    rows = []
    for name in scope.datasets:
        plain = found.values(name, "plain")
        for replace, title in MODES.items():
            paper = None if replace else table.printed.value(name, IMPROVED)
            rows.append(share_row(name, title, found.inner(name, replace), plain, paper))
    means = [
        msgspec.structs.replace(row, paper=PAPER_SHARES[replace])
        for replace, row in zip(MODES, mean_rows(rows, tuple(MODES.values())), strict=True)
    ]
    shown = ", ".join(f"{row.ours:.0f} % {row.column}" for row in means if row.ours is not None)
    theirs = " and ".join(f"{share:.0f} %" for share in PAPER_SHARES.values())
    summary = [f"Settings that improved on the plain network: {shown}; the paper: {theirs}."]
    return ResultTable(
        f"{table.name}-improved", "Settings that improved on the plain network",
        "share of settings (%)", [*rows, *means], summary if shown else [],
        ("A setting without an effect would improve in about half of the cases, minus the ties.",),
    )  # fmt: skip


def _range_table(table: PaperTable[Any], scope: PaperScope, found: NetworkResults) -> ResultTable:
    rows = [
        row
        for name in scope.datasets
        for row in range_rows(
            table.printed, name, found.settings(name), found.values(name, "plain")
        )
    ]
    return ResultTable(
        f"{table.name}-range", "Range of the settings that improved, without replacement",
        "smallest and largest size", rows, [],
        ("A single setting that improves by chance widens a range.",), ranked=False,
    )  # fmt: skip


def _grid_table(
    table: PaperTable[Any], scope: PaperScope, found: NetworkResults, replace: bool
) -> ResultTable:
    rows = []
    for share, size in product(found.grid.shares, found.grid.sizes):
        setting = (size, share, replace)
        gains = [
            paired_gain(found.values(name, "inner", *setting), found.values(name, "plain"))
            for name in scope.datasets
        ]
        known = [gain for gain in gains if gain is not None]
        failures = sum(failed(found.cells(name, "inner", *setting)) for name in scope.datasets)
        rows.append(entry(f"{share:.0%} of the rows", f"{size} samples", known, failures=failures))
    values = [row.ours for row in rows if row.ours is not None]
    mode, summary = MODES[replace], []
    if values:
        span = f"between {min(values):+.2f} and {max(values):+.2f} points"
        mean = f"{np.mean(values):+.2f} on average"
        summary = [f"Gains over the plain network, sampling {mode}: {span}, {mean}."]
    return ResultTable(
        f"{table.name}-grid-{mode.replace(' ', '-')}", f"Sensitivity, sampling {mode}",
        "gain over the plain network on the same folds (points)", rows, summary,
        ("Mean and standard error over datasets. The paper prints no such grid.",),
        greater_is_better=True, ranked=False,
    )  # fmt: skip


class Branch(NamedTuple):
    """Ensemble sizes with the same decisions so far; the measure has the views of the largest."""

    structure: Structure
    sizes: list[int]
    measure: LeaveOneOutMeasure


def search_prefixes(
    measure: LeaveOneOutMeasure, views: Doubles, sizes: Sequence[int], space: SearchSpace
) -> dict[int, Structure]:
    """Run K2 on the first views, for each size; sizes share the work up to a first difference."""
    if (views == views[0]).all():  # equal views have equal scores
        views = views[:1]
    measure.set_views(views)
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
    """Add one node's parents; a branch splits where its sizes choose differently."""
    waiting = [branch]
    while waiting:
        branch = waiting.pop()
        possible = space.candidates(branch.structure, node, earlier)
        if not possible:
            yield branch
            continue
        extras = np.array([NO_EXTRA, *possible], dtype=np.int64)
        for choice, part in _split_by_choice(branch, Candidates(branch.structure, node, extras)):
            if choice == NO_EXTRA:
                yield part
            else:
                waiting.append(part._replace(structure=branch.structure.add(node, choice)))


def _split_by_choice(branch: Branch, candidates: Candidates) -> Iterator[tuple[int, Branch]]:
    """Choose a candidate for each size, and group the sizes by their choice."""
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
    """The paper's networks on one fold; rows are read and discretised once."""

    def __init__(self, X: Any, y: Any, fold: Fold) -> None:
        self.model = declare_classes(paper_model("plain", 0), y)
        train = safe_indexing(X, fold.train), safe_indexing(y, fold.train)
        self.training: Training = read_training(self.model, *train, None)
        self.test = read_features(self.model, safe_indexing(X, fold.test), reset=False)
        self.truth = np.asarray(safe_indexing(y, fold.test))
        self.space = plan_search(self.model, self.training)
        self.sample = self._code(self.training)
        self._known: dict[Structure, float] = {}

    def inner(self, sizes: Sequence[int], share: float, replace: bool, seed: int) -> list[float]:
        """Accuracies in per cent of networks with the inner score, for each size."""
        found = self._structures(sizes, share, replace, seed)
        for structure in found.values():
            if structure not in self._known:
                network = fit_network(self.sample, self.model.smoothing, structure)
                self._known[structure] = self._accuracy(self._log_joint(network).argmax(axis=1))
        return [self._known[found[size]] for size in sizes]

    def bags(self, sizes: Sequence[int], seed: int) -> list[float]:
        by_name, n_rows = self.training.sorted_codes, len(self.training.weights)
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
        if rows.one_class():
            return dict.fromkeys(sizes, self.space.first())
        # the classifier draws the seeds of its views first
        views = draw_views(rows.n_rows, draw_seeds(seed, max(sizes)), share, replace)
        return search_prefixes(self._measure(self.sample), views, sizes, self.space)

    def _learn(self, training: Training) -> FittedNetwork:
        sample, structure = self._code(training), self.space.first()
        if not sample.rows.one_class():
            structure = k2_search(partial(self._measure(sample), view=sample.weights), self.space)
        return fit_network(sample, self.model.smoothing, structure)

    def _code(self, training: Training) -> Sample:
        return code_sample(training, self.model.discretizer, self.model.max_entries)

    def _measure(self, sample: Sample) -> Any:
        return make_measure(self.model.criterion, sample.rows, self.model.smoothing)

    def _log_joint(self, network: FittedNetwork) -> Doubles:
        codes = code_columns(self.test, network.coders)
        return network.log_joint(fill_missing(codes, network.coders))

    def _accuracy(self, predicted: NDArray[np.intp]) -> float:
        right = self.training.classes[predicted] == self.truth
        return 100.0 * float(np.mean(right))


PAPER_NETWORK: dict[str, Any] = {
    "init": "empty", "criterion": "probability", "max_parents": None, "calibration": None,
}  # fmt: skip
"""The network that reproduces the paper's column BN."""


class BaggedNetworks:
    """Bagging that indexes data frames by row, so that declared categories are kept."""

    def __init__(self, estimator: Any, n_estimators: int, random_state: int) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> BaggedNetworks:
        self.members_ = []
        for seed in draw_seeds(self.random_state, self.n_estimators):
            rows = np.random.default_rng(seed).integers(len(y), size=len(y))
            member = declare_classes(clone(self.estimator), y)
            self.members_.append(member.fit(safe_indexing(X, rows), safe_indexing(y, rows)))
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        total = np.asarray(sum(member.predict_proba(X) for member in self.members_))
        return np.asarray(self.members_[0].classes_[total.argmax(axis=1)])


def declare_classes(model: Any, y: Any) -> Any:
    """Count all declared classes of a network, as Weka does, even if they do not occur."""
    if isinstance(model, BaggedNetworks):  # declares them to its members
        return model
    return model.set_params(categories={y.name: y.cat.categories.tolist()})


def as_frame(dataset: Dataset) -> tuple[Any, Any]:
    """Convert a dataset to a pandas frame and a series of classes, with declared categories."""
    import pandas as pd  # noqa: PLC0415  optional; only frames can declare categories

    columns = {}
    for j, (name, kind) in enumerate(zip(dataset.feature_names, dataset.kinds, strict=True)):
        values = dataset.X[:, j]
        if kind != "categorical":
            columns[name] = pd.Series(values.astype(float))
        else:
            known = dataset.categories.get(name) or sorted({v for v in values if v is not None})
            columns[name] = pd.Series(pd.Categorical(values, categories=list(known)))
    classes = dataset.categories.get(dataset.target) or np.unique(dataset.y).tolist()
    y = pd.Series(pd.Categorical(dataset.y, categories=list(classes)), name=dataset.target)
    return pd.DataFrame(columns), y


def paper_model(method: str, seed: int, **setting: Any) -> Any:
    """Make one of the networks that the paper compares, or one of ours.

    "plain", "inner" and "bagging" are the paper's network without an ensemble, with the inner
    score, and bagged; "pooled" and "default" are ours with pooled tables and without an ensemble.
    ``setting`` has ``n_views`` (for bagging the number of networks), ``view_size`` and ``replace``.
    """
    if method == "inner":
        return InnerBayesNetClassifier(
            **setting, tables="plain", random_state=seed, arc_confidence=False, **PAPER_NETWORK
        )
    if method == "bagging":
        return BaggedNetworks(BayesNetClassifier(**PAPER_NETWORK), setting["n_views"], seed)
    if method == "pooled":
        return InnerBayesNetClassifier(random_state=seed, arc_confidence=False, **setting)
    return BayesNetClassifier(**(PAPER_NETWORK if method == "plain" else {}))


N_FOLDS = 10
INNER_FOLDS = 3
"""Folds of the training rows for the nested choice."""


class NetworkParams(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One cross-validation of one method; lists are a grid of settings."""

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
    declare_classes(model, y)
    model.fit(safe_indexing(X, fold.train), safe_indexing(y, fold.train))
    truth = np.asarray(safe_indexing(y, fold.test))
    return 100.0 * float(np.mean(model.predict(safe_indexing(X, fold.test)) == truth))


def fold_scores(params: NetworkParams, X: Any, y: Any, fold: Fold, seed: int) -> list[float]:
    if params.method == "inner":
        return inner_accuracies(FoldNetworks(X, y, fold), params, seed)
    if params.method == "bagging":
        return FoldNetworks(X, y, fold).bags(params.n_views, seed)
    if params.method == "nested":
        return [nested_accuracy(X, y, fold, params, seed)]
    return [accuracy(paper_model(params.method, seed), X, y, fold)]


def inner_accuracies(networks: FoldNetworks, params: NetworkParams, seed: int) -> list[float]:
    """Accuracies with the inner score, for all sizes and shares."""
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
    """Ten-fold cross-validations over a grid, with and without replacement."""

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
        """Mean accuracy in per cent of a ten-fold cross-validation; for a grid, a list."""
        X, y = as_frame(paper_dataset(params.dataset, data_dir))
        seed = repeat_seed(params.seed, params.repeat)
        scores = [fold_scores(params, X, y, fold, seed) for fold in folds_of(y, N_FOLDS, seed)]
        means = [float(np.mean(each)) for each in zip(*scores, strict=True)]
        return {"accuracy": means if params.method in GRIDS else means[0]}

    def summarise(self, results: Sequence[CellResult], scope: PaperScope) -> list[ResultTable]:
        return network_tables(self, results, scope, self.scale_of(scope))


def _ensembles(params: Callable[..., NetworkParams], grid: NetworkGrid) -> Iterator[NetworkParams]:
    """All methods but the plain network, on the same folds."""
    yield params(method="default")
    yield params(method="pooled")
    sizes, shares = list(grid.sizes), list(grid.shares)
    yield params(method="bagging", n_views=sizes)
    for replace in (False, True):
        yield params(method="inner", n_views=sizes, view_size=shares, replace=replace)
    nested = STANDARD if grid is FULL else grid
    yield params(method="nested", n_views=list(nested.sizes), view_size=list(nested.shares))


TIMED = {
    "inner": "inner score, one network",
    "pooled": "inner score, pooled tables (ours)",
    "bagging": "bagging",
}
TIMED_VIEW_SIZE = 0.3
"""Share of the rows in each view of Figure 2."""


class TimeParams(msgspec.Struct, frozen=True):
    """One model on one dataset."""

    dataset: str
    method: str
    n_views: int
    best_of: int
    seed: int


@paper_table("inner-figure2")
class InnerFigure2(PaperTable[tuple[tuple[int, ...], int]]):
    """Two ensemble sizes, four, or ten as in the paper, on the datasets of Table 1.

    A scale has the ensemble sizes, and the number of timed runs.
    """

    scales = Scales(((10, 50), 3), ((10, 40, 70, 100), 5), (tuple(range(10, 101, 10)), 20))

    def datasets(self, scale: str) -> tuple[str, ...]:
        return tuple(read_printed("inner-table1").rows)

    def grid(self, scope: PaperScope) -> Iterator[TimeParams]:
        """Datasets first."""
        sizes, best_of = self.scale_of(scope)
        for name, size, method in product(scope.datasets, sizes, TIMED):
            yield TimeParams(name, method, size, best_of, scope.seed)

    @staticmethod
    @paper_cell(TimeParams)
    def compute(params: TimeParams, data_dir: str | None) -> dict[str, float]:
        X, y = as_frame(paper_dataset(params.dataset, data_dir))
        sampled = (
            {} if params.method == "bagging" else {"view_size": TIMED_VIEW_SIZE, "replace": False}
        )
        model = paper_model(params.method, params.seed, n_views=params.n_views, **sampled)
        # the first call may compile or cache; it is not timed
        declare_classes(model, y).fit(X, y).predict(X)
        seconds = []
        for _ in range(params.best_of):
            start = time.perf_counter()
            model.predict(X)
            seconds.append(time.perf_counter() - start)
        return {"milliseconds": 1000.0 * min(seconds), "rows": len(y)}

    def summarise(self, results: Sequence[CellResult], scope: PaperScope) -> list[ResultTable]:
        groups = grouped(results, "method", "n_views")
        sizes, _ = self.scale_of(scope)
        rows, means = [], {}
        for size, (method, title) in product(sizes, TIMED.items()):
            found = groups.get((method, size), [])
            times: list[Any] = [r.values["milliseconds"] for r in found if not r.error]
            rows.append(self.entry(f"ensemble size {size}", title, times, failed(found)))
            means[method, size] = rows[-1].ours
        return [
            ResultTable(
                self.name, self.printed.title, "prediction time (ms)", rows,
                _time_sentences(means, sizes), (*self.printed.notes, *scope.missing_notes),
                greater_is_better=False, ranked=False,
            )
        ]  # fmt: skip


def _time_sentences(
    means: Mapping[tuple[str, int], float | None], sizes: Sequence[int]
) -> list[str]:
    small, large = sizes[0], sizes[-1]
    sentences = []
    for method, title in TIMED.items():
        first, last = means[method, small], means[method, large]
        if first is not None and last is not None:
            sentences.append(
                f"{title}: {first:.2f} ms with {small}, {last:.2f} ms with {large}: "
                f"{last / first:.1f} times as long."
            )
    inner, bagging = means["inner", large], means["bagging", large]
    if inner is not None and bagging is not None:
        ratio = f"{bagging / inner:.0f} times as long as one network"
        sentences.append(f"Bagging of {large} takes {ratio}.")
    return sentences
