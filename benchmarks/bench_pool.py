"""The pool compared with tuned boosting: fit and prediction time, log loss, time budgets.

python benchmarks/bench_pool.py [--datasets pima vehicle] [--pools lean full]
    [--budget] [--million] [--small] [--jobs 2]

Boosting is tuned over 30 random settings on the same five folds with early stopping and refitted,
with the same encoder for categorical columns. Times are CPU seconds of one core, except for
budgets, which are wall-clock times; ratios are within one run.
"""

import argparse
import os
import resource
import time
import warnings
from pathlib import Path

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from all_benchmarks import row
from ensemblage.datasets import TableEncoder, load_dataset
from ensemblage.pool import (
    Boosting,
    BoostingSettings,
    EnsemblageClassifier,
    PoolClassTarget,
    TrainingData,
    cross_validate_members,
    make_cv_folds,
    refit_member,
)
from ensemblage.pool._boosting import SETTINGS_GRID, as_probabilities, installed_library
from ensemblage.pool._member_spec import holdout_fold, log_loss

SCIKIT = ("breast-cancer", "wine")
SHARED = ("pima", "credit-a", "vehicle")
FIT = {"lean": 1.5, "full": 2.0}
PREDICT, PRUNED = 12.0, 4.0
"""Limits relative to tuned boosting."""
PREDICT_MS = 20.0
"""Limit for 1,000 rows of the lean pool, in milliseconds."""
MOST_ROWS, ASKED, MANY = 1_000, 100, 1_000


def settings(draws, seed=0):
    rng = np.random.default_rng(seed)
    return tuple(
        BoostingSettings(
            float(np.exp(rng.uniform(np.log(0.03), np.log(0.3)))),
            int(rng.choice([4, 8, 15, 31, 63])),
            int(rng.choice([3, 5, 10, 20, 40])),
            float(rng.uniform(0.3, 1.0)),
            float(rng.choice([0.0, 0.1, 1.0, 10.0])),
        )
        for _ in range(draws)
    )


class TunedBoosting:
    """Boosting tuned over candidate settings, with the encoder of the pool."""

    def __init__(self, candidates):
        library = installed_library()
        self.spec = Boosting("boosting", "standard", candidates, library=library)

    def fit(self, X, y):
        """Tune on five folds, and refit the best."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.encoder = TableEncoder() if X.dtype == object else None
        rows = X if self.encoder is None else np.ascontiguousarray(self.encoder.fit_transform(X, y))
        folds = make_cv_folds(codes, 5, 0)
        rows = TrainingData(rows, codes, PoolClassTarget(self.classes_), None, folds)
        (found,), _ = cross_validate_members([self.spec], rows, [0], 1)
        self.model = refit_member(found, rows)
        return self

    def predict_proba(self, X):
        """Predict class probabilities, by LightGBM itself."""
        rows = X if self.encoder is None else self.encoder.transform(X)
        if not hasattr(self.model, "booster_"):
            return self.model.predict_proba(rows)
        raw = self.model.booster_.predict(rows, raw_score=True, num_threads=1)
        return as_probabilities(raw)


def cpu(work):
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def latency(model, X):
    """Median CPU seconds for a hundred rows, over many calls."""
    model.predict_proba(X[:ASKED])
    return float(np.median([cpu(lambda: model.predict_proba(X[:ASKED]))[0] for _ in range(30)]))


def best_latency(model, X):
    """Least CPU milliseconds for a thousand rows, drawn with replacement."""
    rows = X[np.random.default_rng(0).integers(len(X), size=MANY)]
    return 1000 * min(cpu(lambda: model.predict_proba(rows))[0] for _ in range(10))


def loss(model, X, y):
    shares = (1 - 1e-6) * model.predict_proba(X) + 1e-6 / len(model.classes_)
    return log_loss(shares, np.searchsorted(model.classes_, y))


def verdict(what, ours, theirs, bound, unit=1.0):
    ratio = ours / theirs
    status = "met" if ratio <= bound else "MISSED"
    row(f"pool: {what}", unit * ours, unit * theirs, unit="", bar=bound, against="tuned boosting")
    return (
        f"  {what:18} {unit * ours:9.3f} {unit * theirs:9.3f}  {ratio:6.2f} (<= {bound:g}) {status}"
    )


def compare(name, pools):
    dataset = load_dataset(name, os.environ.get("ENSEMBLAGE_DATA"))
    X, y = dataset.X, np.asarray(dataset.y)
    if len(y) > MOST_ROWS:
        kept = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
        X, y = X[kept], y[kept]
    train, test, labels, true = train_test_split(X, y, test_size=0.25, random_state=0, stratify=y)
    boosting = TunedBoosting(settings(30))
    tuned, _ = cpu(lambda: boosting.fit(train, labels))
    asked, own = latency(boosting, test), loss(boosting, test, true)
    print(f"{name}: {X.shape[0]} rows, {X.shape[1]} columns; tuned boosting: log loss {own:.4f}")
    found = {}
    for pool in pools:
        model = EnsemblageClassifier(pool, random_state=0)
        fitted, _ = cpu(lambda: model.fit(train, labels))  # noqa: B023  called at once
        took = latency(model, test)
        found[pool] = (fitted / tuned, took / asked)
        print(f" {pool}: log loss {loss(model, test, true):.4f}")
        print(verdict("fit, s", fitted, tuned, FIT[pool]))
        print(verdict("predict, ms", took, asked, PREDICT, 1000))
        many, own_many = best_latency(model, test), best_latency(boosting, test)
        bar = PREDICT_MS if pool == "lean" else None
        row(f"pool: {pool}, predict 1,000 rows of {name}", many, unit="ms", bar=bar)
        print(f"  predict 1,000 rows: {many:.1f} ms, LightGBM {own_many:.1f} ms (limit {bar})")
        pruned(model, asked, (test, true))
    return found


def pruned(model, asked, rows):
    """Print the largest pool of the pruning path within the time limit."""
    points = model.pruning_path()
    for point in points:
        small = model.prune(point.latency)
        took = latency(small, rows[0])
        if took <= PRUNED * asked:
            break
    print(verdict("predict, pruned, ms", took, asked, PRUNED, 1000))
    print(
        f"    {len(points[0].members)} members to {len(small.member_names_)}: log loss "
        f"{loss(small, *rows):.4f} ({', '.join(small.member_names_)})"
    )


def made_rows(n_rows, seed=0):
    """24 numeric columns with missing values, 6 categorical; three classes, with an interaction."""
    rng = np.random.default_rng(seed)
    numeric = rng.normal(size=(n_rows, 24)).astype(np.float32)
    codes = rng.integers(0, [3, 4, 5, 8, 12, 20], size=(n_rows, 6))
    effects = [rng.normal(size=(20, 3)) for _ in range(6)]
    scores = numeric[:, :6] @ rng.normal(size=(6, 3)) + 1.5 * numeric[:, [6]] * numeric[:, [7]] * [
        1,
        0,
        -1,
    ]
    scores += sum(effect[codes[:, j]] for j, effect in enumerate(effects))
    y = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    numeric[rng.uniform(size=numeric.shape) < 0.03] = np.nan
    frame = pd.DataFrame(numeric, columns=[f"numeric {j}" for j in range(24)])
    for j in range(6):
        names = np.array([f"category {k}" for k in range(20)])
        frame[f"categorical {j}"] = pd.Categorical.from_codes(
            codes[:, j], names[: codes[:, j].max() + 1]
        )
    return frame, y


def boost_alone(X, y, seconds):
    """Fit only boosting in the same time, as the pool does with many rows."""
    start = time.perf_counter()
    encoder = TableEncoder()
    rows = np.ascontiguousarray(encoder.fit_transform(X, y))
    spec = Boosting("boosting", "standard", SETTINGS_GRID).to_the_end(1, seconds=0.7 * seconds)
    rows = TrainingData(rows, y, PoolClassTarget(np.arange(3)), None, holdout_fold(y, 0))
    (found,), _ = cross_validate_members([spec], rows, [0], 1)
    left = seconds - (time.perf_counter() - start)
    found = found if found.seconds > left else found._replace(model=None)
    model = refit_member(found, rows)
    return time.perf_counter() - start, model, encoder


def fit_within(seconds, n_rows, bound, jobs=None):
    X, y = made_rows(n_rows + 20_000)
    learned, true = X[:n_rows], y[n_rows:]
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = EnsemblageClassifier(time_budget=seconds, n_jobs=jobs, random_state=0)
        model.fit(learned, y[:n_rows])
    took = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    own = loss(model, X[n_rows:], true)
    status = "met" if took <= bound else "MISSED"
    print(f"{n_rows:,} x 30, budget {seconds:g} s: took {took:.1f} s (<= {bound:g}) {status}")
    print(f"  log loss {own:.4f}, peak memory {peak:.2f} GB")
    print(model.leaderboard_)
    alone, boosting, encoder = boost_alone(learned, y[:n_rows], seconds)
    theirs = log_loss(boosting.predict_proba(encoder.transform(X[n_rows:])), true)
    print(f"  boosting alone, {alone:.1f} s: log loss {theirs:.4f}")
    print(verdict("log loss", own, theirs, 1.005))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+")
    parser.add_argument("--pools", nargs="+", default=["lean", "full"])
    parser.add_argument("--budget", action="store_true", help="30 s for 50,000 rows")
    parser.add_argument("--million", action="store_true", help="300 s for 1,000,000 rows")
    parser.add_argument("--jobs", type=int, help="processes for a budget")
    parser.add_argument("--small", action="store_true", help="20 s for 20,000 rows, 5 s for 1,000")
    given = parser.parse_args()
    if given.small:
        fit_within(5, 1_000, 6, given.jobs)
        fit_within(20, 20_000, 24, given.jobs)
    if given.budget:
        fit_within(30, 50_000, 36, given.jobs)
    if given.million:
        fit_within(300, 1_000_000, 330, given.jobs)
    if given.budget or given.million or given.small:
        return
    shared = Path(os.environ.get("ENSEMBLAGE_SHARED", "")) / "data"
    if "ENSEMBLAGE_SHARED" in os.environ and shared.is_dir():
        os.environ.setdefault("ENSEMBLAGE_DATA", str(shared))
    datasets = given.datasets or [*SCIKIT, *(SHARED if "ENSEMBLAGE_DATA" in os.environ else ())]
    warm = np.random.default_rng(0).normal(size=(60, 3))
    EnsemblageClassifier("full", cv=2).fit(warm, np.arange(60) % 2).predict_proba(warm)
    ratios = [compare(name, given.pools) for name in datasets]
    for pool in given.pools:
        fit, predict = np.median([each[pool] for each in ratios], axis=0)
        print(
            f"{pool}, median over datasets: fit {fit:.2f} x, predict {predict:.1f} x tuned boosting"
        )


if __name__ == "__main__":
    main()
