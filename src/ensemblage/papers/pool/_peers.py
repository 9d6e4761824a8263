"""Study of the pool beside AutoGluon, tuned boosting and RealMLP."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import product
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ensemblage._core import Fold, deal_folds, make_folds, require
from ensemblage.evaluation import compare_methods
from ensemblage.papers._declaration import (
    PaperScope,
    PaperTable,
    Scales,
    paper_cell,
    paper_table,
    repeat_seed,
)
from ensemblage.papers._summaries import (
    MIN_TABLES,
    Groups,
    complete_scores,
    failed,
    failure_notes,
    grouped,
    relative_changes,
)
from ensemblage.papers.pool._peers_tables import (
    HALF_OF,
    PeerRows,
    peer_fingerprint,
    peer_rows,
    task_of,
)
from ensemblage.papers.sources._multilevel_tables import CLASSIFICATION, HALVES, TASKS
from ensemblage.pool import PRIOR_WEIGHT, EnsemblageClassifier, EnsemblageRegressor
from ensemblage.studies import CellResult, ResultRow, ResultTable

Doubles = NDArray[np.float64]
Texts = NDArray[np.object_]

N_OUTER_FOLDS = 3
N_INNER_FOLDS = 5
COVERAGE = 0.9
"""Of prediction intervals."""
N_SETTINGS = 50
N_FINALISTS = 5
"""Settings of CatBoost that are evaluated on all folds; the others, for time, on the first only."""
MAX_ROUNDS = 400
EARLY_STOPPING_ROUNDS = 30
TIMED_ROWS = 1_000
"""Rows of a timed prediction; the test rows are repeated."""
MAX_DOUBLINGS = 4
"""Of a limit of AutoGluon within which it has no model."""
SHARES = (1, 4)
"""Time limits of AutoGluon, in fits of the pool."""
NO_TORCH = ["NN_TORCH", "FASTAI"]
"""Models of AutoGluon that need torch, which RealMLP brings along."""


class PeerTask(NamedTuple):
    """Training and test rows of an outer fold."""

    table: PeerRows
    fold: Fold
    seed: int

    @property
    def n_classes(self) -> int:
        return self.table.n_classes

    @property
    def y(self) -> NDArray[Any]:
        """Target of the training rows."""
        return self.table.y[self.fold.train]

    @property
    def categories(self) -> list[int]:
        """Categorical columns."""
        return [j for j, kind in enumerate(self.table.kinds) if kind != "numeric"]

    def rows(self, part: NDArray[np.intp]) -> NDArray[Any]:
        """Rows as in the table."""
        return self.table.X[part]

    def texts(self, part: NDArray[np.intp]) -> Texts:
        """Rows whose categories are texts, and missing ones a category."""
        X = self.table.X[part].astype(object)
        for column in self.categories:
            X[:, column] = ["missing" if value is None else str(value) for value in X[:, column]]
        return X

    def codes(self, part: NDArray[np.intp]) -> Doubles:
        """Rows with codes of the categories of the training rows; others are missing."""
        X, train = self.texts(part), self.texts(self.fold.train)
        for column in self.categories:
            code = {name: place for place, name in enumerate(sorted(set(train[:, column])))}
            X[:, column] = [code.get(name, np.nan) for name in X[:, column]]
        return X.astype(float)

    def frame(self, part: NDArray[np.intp]) -> Any:
        """Rows as a data frame with categorical columns."""
        pandas = require("pandas", "This method")
        X = self.texts(part)
        return pandas.DataFrame({
            f"x{column}": pandas.Categorical(X[:, column]) if column in self.categories
            else X[:, column].astype(float)
            for column in range(X.shape[1])
        })  # fmt: skip

    def folds(self) -> list[Fold]:
        """Make folds of the training rows."""
        rng = np.random.default_rng(self.seed)
        return deal_folds(
            self.y if self.n_classes else one_stratum(len(self.y)), N_INNER_FOLDS, rng
        )


def one_stratum(n_rows: int) -> NDArray[np.intp]:
    """Strata of a numeric target."""
    return np.zeros(n_rows, dtype=np.intp)


def peer_task(table: PeerRows, repeat: int, seed: int) -> PeerTask:
    """Make an outer fold; after three folds the rows are dealt anew."""
    split, place = divmod(repeat, N_OUTER_FOLDS)
    own = repeat_seed(seed, split)
    if table.n_classes:
        folds = make_folds(table.y, N_OUTER_FOLDS, own)
    else:
        folds = deal_folds(one_stratum(len(table.y)), N_OUTER_FOLDS, np.random.default_rng(own))
    return PeerTask(table, folds[place], repeat_seed(seed, repeat))


class Fitted(NamedTuple):
    """A fitted method: how to prepare rows, and how to predict them.

    ``intervals`` predicts intervals of a numeric target, if the method does.
    """

    prepare: Callable[[NDArray[np.intp]], Any]
    predict: Callable[[Any], Any]
    intervals: Callable[[Any], Any] | None = None


def cpu_seconds() -> float:
    """CPU seconds of this process and of its children that have ended."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def _fit_pool(task: PeerTask) -> Fitted:
    kind = EnsemblageClassifier if task.n_classes else EnsemblageRegressor
    model: Any = kind(random_state=task.seed).fit(task.rows(task.fold.train), task.y)
    if task.n_classes:
        return Fitted(task.rows, model.predict_proba)
    return Fitted(task.rows, model.predict, lambda X: model.predict_interval(X, coverage=COVERAGE))


@lru_cache(maxsize=2)
def compile_pool(classes: bool) -> None:
    """Fit a small table once per process, so that no cell has the time of compilation."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)).astype(object)
    X[:, 2] = np.array(["a", "b", None])[rng.integers(3, size=60)]
    y = rng.permutation(np.repeat([0, 1, 2], 20))
    table = PeerRows(X, ("numeric", "numeric", "categorical"), y if classes else rng.random(60),
                     3 * classes)  # fmt: skip
    task = PeerTask(table, Fold(np.arange(60), np.arange(60)), 0)
    fitted = _fit_pool(task)
    fitted.predict(fitted.prepare(task.fold.test))


def _fit_autogluon(task: PeerTask, seconds: float, folder: str) -> Fitted:
    """AutoGluon's best quality within a time limit, one core and without torch.

    Dynamic stacking, a trial fit, fails within limits of a few seconds, and then so does the fit.
    """
    tabular = require("autogluon.tabular", "This method")
    kind = "multiclass" if task.n_classes > 2 else "binary" if task.n_classes else "regression"
    model = tabular.TabularPredictor(
        "y", problem_type=kind, eval_metric="log_loss" if task.n_classes else "rmse", path=folder,
        verbosity=0,
    )  # fmt: skip
    model.fit(
        task.frame(task.fold.train).assign(y=task.y), presets="best_quality", time_limit=seconds,
        num_cpus=1, num_gpus=0, excluded_model_types=NO_TORCH, dynamic_stacking=False,
    )  # fmt: skip
    model.persist()
    predict = model.predict_proba if task.n_classes else model.predict
    return Fitted(task.frame, predict)


class Setting(NamedTuple):
    """Hyperparameters of boosting, with the loss and mean rounds of the folds so far."""

    loss: float
    rounds: int
    options: dict[str, Any]


Trial = Callable[[dict[str, Any], Fold], tuple[float, int]]
"""Fits on one fold with early stopping; gives the held-out loss and the rounds."""


def best_setting(
    trial: Trial, drawn: Sequence[dict[str, Any]], folds: Sequence[Fold],
    n_finalists: int | None = None,
) -> Setting:  # fmt: skip
    """Evaluate all settings on all folds, or on the first one to find finalists for all."""

    def evaluate(options: dict[str, Any], folds: Sequence[Fold]) -> Setting:
        found = np.array([trial(options, fold) for fold in folds])
        loss, rounds = found.mean(axis=0)
        return Setting(float(loss), max(1, round(rounds)), options)

    if n_finalists is not None:
        first = sorted((evaluate(each, folds[:1]) for each in drawn), key=lambda each: each.loss)
        drawn = [each.options for each in first[:n_finalists]]
    finalists = [evaluate(each, folds) for each in drawn]
    return min(finalists, key=lambda each: each.loss)


def lightgbm_settings(n_settings: int, seed: int) -> list[dict[str, Any]]:
    """Draw hyperparameters of LightGBM."""
    rng = np.random.default_rng(seed)
    return [
        {
            "learning_rate": _log_uniform(rng, 0.06, 0.3),
            "num_leaves": int(rng.choice([4, 8, 15, 31])),
            "min_data_in_leaf": int(rng.choice([3, 5, 10, 20, 40])),
            "feature_fraction": float(rng.uniform(0.3, 1.0)),
            "lambda_l2": float(rng.choice([0.0, 0.1, 1.0, 10.0])),
            "cat_smooth": float(rng.choice([1.0, 10.0, 30.0])),
            "min_data_per_group": int(rng.choice([5, 10, 50])),
        }
        for _ in range(n_settings)
    ]


def catboost_settings(n_settings: int, seed: int) -> list[dict[str, Any]]:
    """Draw hyperparameters of CatBoost."""
    rng = np.random.default_rng(seed)
    return [
        {
            "learning_rate": _log_uniform(rng, 0.06, 0.3),
            "depth": int(rng.choice([2, 3, 4, 5, 6])),
            "l2_leaf_reg": _log_uniform(rng, 1.0, 30.0),
            "rsm": float(rng.uniform(0.3, 1.0)),
            "random_strength": float(rng.choice([0.0, 1.0, 2.0])),
            "one_hot_max_size": int(rng.choice([2, 5, 10])),
        }
        for _ in range(n_settings)
    ]


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _fit_lightgbm(task: PeerTask) -> Fitted:
    """LightGBM with native categories, tuned over random settings."""
    lgb = require("lightgbm", "This method", extra="boost")
    objective: dict[str, Any] = {"objective": "regression"}
    if task.n_classes:
        objective = {"objective": "binary"}
    if task.n_classes > 2:
        objective = {"objective": "multiclass", "num_class": task.n_classes}
    fixed = {**objective, "verbose": -1, "num_threads": 1, "seed": task.seed,
             "deterministic": True, "force_row_wise": True, "max_cat_to_onehot": 4,
             "feature_pre_filter": False}  # fmt: skip
    X, y = task.codes(task.fold.train), task.y

    def data(rows: Any) -> Any:
        return lgb.Dataset(X[rows], y[rows], categorical_feature=task.categories)

    def trial(options: dict[str, Any], fold: Fold) -> tuple[float, int]:
        train = data(fold.train)
        booster = lgb.train(
            fixed | options, train, MAX_ROUNDS, [train.create_valid(X[fold.test], y[fold.test])],
            callbacks=[lgb.early_stopping(EARLY_STOPPING_ROUNDS, verbose=False)],
        )  # fmt: skip
        [loss] = booster.best_score["valid_0"].values()
        return loss, booster.best_iteration

    best = best_setting(trial, lightgbm_settings(N_SETTINGS, task.seed), task.folds())
    booster = lgb.train(fixed | best.options, data(slice(None)), best.rounds)
    return Fitted(task.codes, lambda rows: booster.predict(rows, num_threads=1))


def _fit_catboost(task: PeerTask) -> Fitted:
    """CatBoost with native categories, tuned over random settings."""
    catboost = require("catboost", "This method", extra="boost")
    loss = "MultiClass" if task.n_classes > 2 else "Logloss" if task.n_classes else "RMSE"
    fixed = {
        "loss_function": loss, "thread_count": 1, "silent": True, "allow_writing_files": False,
        "random_seed": task.seed, "boosting_type": "Plain", "max_ctr_complexity": 1,
    }  # fmt: skip
    X, y = task.texts(task.fold.train), task.y
    parts = [
        tuple(catboost.Pool(X[rows], y[rows], cat_features=task.categories) for rows in fold)
        for fold in task.folds()
    ]

    def trial(options: dict[str, Any], data: Any) -> tuple[float, int]:
        model = catboost.CatBoost({**fixed, **options, "iterations": MAX_ROUNDS})
        model.fit(data[0], eval_set=data[1], early_stopping_rounds=EARLY_STOPPING_ROUNDS)
        return model.get_best_score()["validation"][loss], model.get_best_iteration() + 1

    drawn = catboost_settings(N_SETTINGS, task.seed)
    best = best_setting(trial, drawn, parts, N_FINALISTS)  # type: ignore[arg-type]
    model = catboost.CatBoost({**fixed, **best.options, "iterations": best.rounds})
    model.fit(catboost.Pool(X, y, cat_features=task.categories))
    kind = "Probability" if task.n_classes else "RawFormulaVal"

    def predict(rows: Texts) -> Any:
        pool = catboost.Pool(rows, cat_features=task.categories)
        return model.predict(pool, prediction_type=kind, thread_count=1)

    return Fitted(task.texts, predict)


def _fit_realmlp(task: PeerTask) -> Fitted:
    """RealMLP with its tuned defaults, for the log loss if there are classes."""
    pytabkit = require("pytabkit", "This method")
    options: dict[str, Any] = {"device": "cpu", "n_threads": 1, "random_state": task.seed}
    if task.n_classes:
        options |= {"use_ls": False, "val_metric_name": "cross_entropy"}
    kind = pytabkit.RealMLP_TD_Classifier if task.n_classes else pytabkit.RealMLP_TD_Regressor
    medians = task.frame(task.fold.train).median(numeric_only=True)

    def prepare(part: NDArray[np.intp]) -> Any:
        return task.frame(part).fillna(medians)  # it takes no missing numbers

    model = kind(**options).fit(prepare(task.fold.train), task.y)
    return Fitted(prepare, model.predict_proba if task.n_classes else model.predict)


POOL, LIGHTGBM, CATBOOST, REALMLP = "pool", "lightgbm", "catboost", "realmlp"
AUTOGLUON = {share: f"autogluon-{share}" for share in SHARES}
"""Names of AutoGluon by its time limit."""
COLUMNS = {
    POOL: "pool",
    AUTOGLUON[1]: "AutoGluon, 1 x",
    AUTOGLUON[4]: "AutoGluon, 4 x",
    LIGHTGBM: f"LightGBM, {N_SETTINGS} settings",
    CATBOOST: f"CatBoost, {N_SETTINGS} settings",
    REALMLP: "RealMLP",
}
METHODS: dict[str, Callable[[PeerTask], Fitted]] = {
    LIGHTGBM: _fit_lightgbm,
    CATBOOST: _fit_catboost,
    REALMLP: _fit_realmlp,
}
CELLS = (POOL, *METHODS)
"""Methods of the cells; the pool's cell has AutoGluon too, whose limits are the pool's time."""


def peer_scores(method: str, task: PeerTask) -> dict[str, dict[str, float]]:
    """Score the methods of a cell on the test rows."""
    if method != POOL:
        return {method: fit_and_score(METHODS[method], task)}
    require("autogluon.tabular", "This method")
    compile_pool(task.n_classes > 0)
    start = time.perf_counter()
    fitted, seconds = _timed_fit(_fit_pool, task)
    elapsed = time.perf_counter() - start  # on a busy machine more than the CPU time
    found = {POOL: score(fitted, task, seconds)}
    for share, name in AUTOGLUON.items():
        found[name] = _autogluon_scores(task, share * elapsed)
    return found


def _autogluon_scores(task: PeerTask, seconds: float) -> dict[str, float]:
    """Score AutoGluon; its limit is doubled as long as it has no model within it."""
    for doubling in range(MAX_DOUBLINGS + 1):
        limit = seconds * 2**doubling
        with tempfile.TemporaryDirectory() as folder:
            try:
                found = fit_and_score(partial(_fit_autogluon, seconds=limit, folder=folder), task)
            except RuntimeError:
                if doubling == MAX_DOUBLINGS:
                    raise
            else:
                return found | {"doublings": doubling}
    raise AssertionError


def fit_and_score(fit: Callable[[PeerTask], Fitted], task: PeerTask) -> dict[str, float]:
    fitted, seconds = _timed_fit(fit, task)
    return score(fitted, task, seconds)


def _timed_fit(fit: Callable[[PeerTask], Fitted], task: PeerTask) -> tuple[Fitted, float]:
    start = cpu_seconds()
    fitted = fit(task)
    return fitted, cpu_seconds() - start


def score(fitted: Fitted, task: PeerTask, seconds: float) -> dict[str, float]:
    """Score predictions of the test rows, and time a second prediction."""
    test, y = task.fold.test, task.table.y[task.fold.test]
    values = np.asarray(fitted.predict(fitted.prepare(test)), float)
    if not np.isfinite(values).all():
        raise ValueError("The predictions are not finite.")
    many = fitted.prepare(np.resize(test, TIMED_ROWS))
    start = cpu_seconds()
    fitted.predict(many)
    found = {"fit": seconds, "predict": 1e6 * (cpu_seconds() - start) / TIMED_ROWS}
    if task.n_classes:
        return found | class_scores(values, y, np.bincount(task.y, minlength=task.n_classes))
    found["loss"] = float(np.sqrt(np.mean((y - values.ravel()) ** 2)))
    if fitted.intervals is not None:
        low, high = np.asarray(fitted.intervals(fitted.prepare(test))).T
        found["coverage"] = 100 * float(np.mean((low <= y) & (y <= high)))
    return found


def class_scores(
    values: Doubles, y: NDArray[np.intp], counts: NDArray[np.intp]
) -> dict[str, float]:
    """Score probabilities, mixed with the class frequencies as the pool's members are.

    ``values`` may be probabilities of the last of two classes only.
    """
    proba = np.column_stack([1 - values, values]) if values.ndim == 1 else values
    mixed = (1 - PRIOR_WEIGHT) * proba + PRIOR_WEIGHT * counts / counts.sum()
    return {
        "loss": float(-np.log(mixed[np.arange(len(y)), y]).mean()),
        "accuracy": 100 * float((proba.argmax(axis=1) == y).mean()),
    }


LOSSES = {True: "log loss", False: "RMSE"}
"""Loss in classification, and in regression."""


def loss_sentences(rows: Sequence[ResultRow], *, classes: bool) -> list[str]:
    """Compare the pool with its peers, and with what was aimed at."""
    measure = LOSSES[classes]
    found = relative_changes(rows, COLUMNS[POOL], list(COLUMNS.values()), measure)
    return [*rank_sentences(rows), *found, *aim_sentences(rows, measure, classes=classes)]


def rank_sentences(rows: Sequence[ResultRow]) -> list[str]:
    """Mean ranks of the methods that have values on all tables of the pool."""
    counts = {name: len(complete_scores(rows, (name,))[0]) for name in COLUMNS.values()}
    columns = [name for name, each in counts.items() if each >= max(1, counts[COLUMNS[POOL]])]
    names, scores = complete_scores(rows, columns)
    if len(names) < MIN_TABLES or len(columns) < 3:
        return []
    found = compare_methods(scores, names=columns, greater_is_better=False)
    ranks = ", ".join(f"{name} {found.mean_ranks[name]:.2f}" for name in found.ranking())
    return [f"Mean ranks over {len(names)} tables: {ranks}. {found.sentence()}"]


def aim_sentences(rows: Sequence[ResultRow], measure: str, *, classes: bool) -> list[str]:
    """Compare the pool with AutoGluon at four times its time, and with what was aimed at."""
    own, other = COLUMNS[POOL], COLUMNS[AUTOGLUON[4]]
    names, scores = complete_scores(rows, (own, other))
    if not names:
        return []
    change = np.median(scores[:, 0] / scores[:, 1] - 1)
    text = f"{own} against {other}: {measure} {change:+.1%} in the median"
    if not classes:
        return [f"{text} (aim: not above 0)."]
    lower = int((scores[:, 0] < scores[:, 1]).sum())
    share = f"{lower} of {len(names)} tables ({lower / len(names):.0%}; aim: 60%)"
    return [f"{text} (aim: below 0, and the lower mean rank), lower on {share}."]


def coverage_sentences(rows: Sequence[ResultRow]) -> list[str]:
    names, scores = complete_scores(rows, (COLUMNS[POOL],))
    if not names:
        return []
    low, high = int(scores.argmin()), int(scores.argmax())
    lowest, highest = (f"{scores[k, 0]:.1f} % ({names[k]})" for k in (low, high))
    mean = f"{scores.mean():.1f} % of the test rows on average over {len(names)} tables"
    return [f"{mean} (aim: 88 to 92 %), from {lowest} to {highest}."]


def cost_sentences(rows: Sequence[ResultRow], unit: str) -> list[str]:
    """Medians of the time over the tables, and the pool's as multiples of them."""
    known = {row.column for row in rows if row.ours is not None}
    medians = {
        column: float(np.median(complete_scores(rows, (column,))[1]))
        for column in COLUMNS.values()
        if column in known
    }
    own = COLUMNS[POOL]
    if own not in medians:
        return []
    texts = [f"{name} {value:.1f}" for name, value in medians.items()]
    ratios = [
        f"{medians[own] / value:.2f} x {name}" for name, value in medians.items() if name != own
    ]
    aim = "1.2 x boosting at most" if unit == FIT_UNIT else "20 at most"
    shares = f" {own}: {', '.join(ratios)}" if ratios else f" {own}"
    return [f"Medians, {unit}: {', '.join(texts)}.{shares} (aim: {aim})."]


FIT_UNIT, PREDICT_UNIT = "CPU seconds to fit", "CPU ms to predict 1,000 rows"


class PeerParams(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One method on one outer fold of a table."""

    half: str
    task: str
    dataset: str
    method: str
    repeat: int
    seed: int


@paper_table("pool-peers")
class PeerStudy(PaperTable[int]):
    """One outer fold of two tables; all three, or twice three, of all tables."""

    scales = Scales(1, N_OUTER_FOLDS, 2 * N_OUTER_FOLDS)
    quick_datasets = ("frogs", "athletes")

    def datasets(self, scale: str) -> tuple[str, ...]:
        return tuple(name for task in TASKS for name in HALF_OF[task])

    def fingerprint(self, name: str, data_dir: str | None) -> str:
        return peer_fingerprint(name)

    def grid(self, scope: PaperScope) -> Iterator[PeerParams]:
        """Iterate over folds first, so that an interrupted run has all tables."""
        for repeat, name in product(range(self.scale_of(scope)), scope.datasets):
            task = task_of(name)
            for method in CELLS:
                yield PeerParams(
                    half=HALF_OF[task][name], task=task, dataset=name, method=method,
                    repeat=repeat, seed=scope.seed,
                )  # fmt: skip

    @staticmethod
    @paper_cell(PeerParams)
    def compute(params: PeerParams, data_dir: str | None) -> Mapping[str, Any]:  # noqa: ARG004
        task = peer_task(peer_rows(params.dataset), params.repeat, params.seed)
        return peer_scores(params.method, task)

    def summarise(self, results: Sequence[CellResult], scope: PaperScope) -> list[ResultTable]:
        groups = grouped(results, "dataset", "method")
        made = []
        for half, task in product(HALVES, TASKS):
            names = [each for each in scope.datasets if HALF_OF[task].get(each) == half]
            own = [each for each in results if each.cell.params["dataset"] in names]
            if names:
                notes = [*time_limit_notes(own), *failure_notes(own, COLUMNS)]
                made += self._half(groups, scope, half, task, names, notes)
        return made

    def _half(
        self, groups: Groups, scope: PaperScope, half: str, task: str, names: Sequence[str],
        notes: Sequence[str],
    ) -> list[ResultTable]:  # fmt: skip
        """Make the tables of one half of one task."""
        classes = task == CLASSIFICATION
        measures = {
            "loss": LOSSES[classes], "accuracy": "accuracy (%)",
            "coverage": "coverage of 90 % prediction intervals (%)", "fit": FIT_UNIT,
            "predict": PREDICT_UNIT,
        }  # fmt: skip
        del measures["coverage" if classes else "accuracy"]
        made = []
        for stem, measure in measures.items():
            rows = [
                self.entry(name, column, values, n_failed)
                for name in names
                for column, values, n_failed in _entries(groups, name, stem)
            ]
            sentences: list[str] = []
            if stem == "loss":
                sentences = [*loss_sentences(rows, classes=classes), *notes]
            elif stem == "coverage":
                sentences = coverage_sentences(rows)
            elif stem != "accuracy":
                sentences = cost_sentences(rows, measure)
            better = None if stem == "coverage" else stem == "accuracy"
            made.append(
                self.measure_table(
                    f"{half}-{task}-{stem}", measure, rows, sentences, scope,
                    greater_is_better=better, part=f"{half}, {task}, ",
                )
            )  # fmt: skip
        return made


def _entries(groups: Groups, name: str, stem: str) -> Iterator[tuple[str, list[float], int]]:
    """Give the columns of a row with their values in each fold, and the failed cells."""
    for method, column in COLUMNS.items():
        if stem == "coverage" and method != POOL:
            continue
        found = groups.get((name, method if method in METHODS else POOL), [])
        scores: list[Any] = [each.values[method] for each in found if not each.error]
        yield column, [each[stem] for each in scores], failed(found)


def time_limit_notes(results: Sequence[CellResult]) -> list[str]:
    """Say on how many folds the limit of AutoGluon was doubled, as it had no model within it."""
    scores: list[Any] = [each.values for each in results if POOL in each.values]
    counts = {name: sum(each[name]["doublings"] > 0 for each in scores)
              for name in AUTOGLUON.values()}  # fmt: skip
    return [
        f"{COLUMNS[name]}: on {found} of {len(scores)} folds it had no model within its time "
        "limit, which was doubled until it had one."
        for name, found in counts.items()
        if found
    ]
