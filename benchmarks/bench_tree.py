"""The inner tree compared with scikit-learn's tree and bagging: time, scaling in rows, memory.

python benchmarks/bench_tree.py [--rows 100000] [--leaves 64] [--rounds 3] [--growth] [--memory]

One core. Times are CPU seconds, the best of several rounds; ratios are within one run. The
time of a fit is divided into scikit-learn's builder, which sorts every column in every node, and
our code.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import BaggingClassifier
from sklearn.tree import DecisionTreeClassifier

from all_benchmarks import row
from ensemblage.inner import InnerTreeClassifier, RowTargets, TreeRows, TreeSettings

COLUMNS, VIEWS = 20, 30
PLACE, FIT, PREDICT = 0.3, 8.0, 15.0
"""Limits relative to scikit-learn's tree."""
BAGGED = 0.1
"""Limit of a fit relative to bagging."""


def rows_of(n_rows):
    X, y = make_classification(
        n_rows, COLUMNS, n_informative=8, n_clusters_per_class=4, flip_y=0.1, random_state=0
    )
    return np.ascontiguousarray(X, dtype=np.float32), y


def seconds(work, rounds):
    """CPU time of the best round, and its result."""
    best, result = np.inf, None
    for _ in range(rounds):
        start = time.process_time()
        result = work()
        best = min(best, time.process_time() - start)
    return best, result


def parts(X, y, leaves):
    targets = RowTargets(np.ones(len(y)), y.astype(np.int32), np.zeros(len(y)), 2)
    settings = TreeSettings("gini", leaves, 1, VIEWS, 0.25)
    return TreeRows(X, targets), settings


def line(what, ours, theirs, bound, whose):
    ratio = ours / theirs
    verdict = "met" if ratio <= bound else "MISSED"
    row(f"tree: {what.strip()}", ours, theirs, bar=bound, against=whose)
    print(
        f"{what:34} {ours:8.3f} s   {whose} {theirs:8.3f} s   {ratio:6.3f} (<= {bound:g}) {verdict}"
    )


def fitted(estimator, X, y):
    """CPU time of a fit, and of scikit-learn's builder in it."""
    builder, grow = [], TreeSettings.grow

    def timed(*args):
        start = time.process_time()
        found = grow(*args)
        builder.append(time.process_time() - start)
        return found

    with mock.patch.object(TreeSettings, "grow", timed):
        whole, _ = seconds(lambda: estimator.fit(X, y), 1)
    return whole, sum(builder)


def compare(n_rows, leaves, rounds):
    X, y = rows_of(n_rows)
    small, labels = rows_of(2000)
    InnerTreeClassifier(max_leaf_nodes=leaves, random_state=0).fit(small, labels).predict_proba(
        small
    )
    cart = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0)
    grown, _ = seconds(lambda: cart.fit(X, y), rounds)
    rows, settings = parts(X, y, leaves)
    tree, _ = settings.grow(rows, 0)
    placed, _ = seconds(lambda: settings.place_thresholds(tree, rows, 0), rounds)
    print(f"{n_rows:,} rows, {COLUMNS} columns, {leaves} leaves, {VIEWS} views; best of {rounds}")
    line("thresholds of the views", placed, grown, PLACE, "CART")
    ours = InnerTreeClassifier(max_leaf_nodes=leaves, random_state=0)
    whole, builder = fitted(ours, X, y)
    line("whole fit, five folds", whole, grown, FIT, "CART")
    print(f"  of which scikit-learn's builder  {builder:8.3f} s   ours {whole - builder:8.3f} s")
    bag = BaggingClassifier(DecisionTreeClassifier(), VIEWS, random_state=0)
    bagged, _ = seconds(lambda: bag.fit(X, y), 1)
    line("whole fit, five folds", whole, bagged, BAGGED, "bagging")
    line("  six trees only", builder, bagged, BAGGED, "bagging")
    line("  without the trees", whole - builder, bagged, BAGGED, "bagging")
    theirs, _ = seconds(lambda: cart.predict_proba(X), rounds)
    predicted, _ = seconds(lambda: ours.predict_proba(X), rounds)
    line("prediction", predicted, theirs, PREDICT, "CART")
    voted, _ = seconds(lambda: bag.predict_proba(X), 1)
    line("prediction", predicted, voted, 0.2, "bagging")


def growth(leaves, rounds):
    """Time per row of the views' thresholds and memberships, with one structure for all sizes."""
    X, y = rows_of(1_000_000)
    rows, settings = parts(X[:100_000], y[:100_000], leaves)
    grown, _ = settings.grow(rows, 0)
    found = []
    for n_rows in (10_000, 100_000, 1_000_000):
        rows, _ = parts(X[:n_rows], y[:n_rows], leaves)

        def work(rows=rows):
            tree = settings.place_thresholds(grown, rows, 0)
            return settings.means(tree, rows)

        found.append(seconds(work, max(rounds, 1_000_000 // n_rows // 10))[0] / n_rows)
        cart, _ = seconds(lambda rows=rows: settings.grow(rows, 0), 1)
        print(f"{n_rows:>9,} rows: ours {1e6 * found[-1]:6.2f} microseconds per row   "
              f"scikit-learn's builder {1e6 * cart / n_rows:6.2f}")  # fmt: skip
    print(f"ours, largest against smallest, per row: {max(found) / min(found):.2f}")


def peak(work):
    """Peak memory of some work above the process's memory before it, in MiB."""
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = status("VmRSS")
    work()
    return (status("VmHWM") - before) / 1024


def status(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def memory(n_rows, leaves):
    """Print the memory of the bootstrap views and of a fit in addition to the rows."""
    X, y = rows_of(n_rows)
    rows, settings = parts(X, y, leaves)
    ours = InnerTreeClassifier(max_leaf_nodes=leaves, random_state=0)
    ours.fit(X[:2000], y[:2000])
    alone = peak(lambda: DecisionTreeClassifier(max_leaf_nodes=leaves).fit(X, y))
    grown, _ = settings.grow(rows, 0)
    placed = peak(lambda: settings.place_thresholds(grown, rows, 0))
    whole = peak(lambda: ours.fit(X, y))
    million = n_rows / 2**20
    X_bytes, draws = COLUMNS * million, VIEWS * million
    print(f"MiB: X in float32 {4 * X_bytes:.0f}, in bytes {X_bytes:.0f}, draws {draws:.0f}")
    print(f"in addition to X: CART {alone:.0f}, thresholds {placed:.0f}, whole fit {whole:.0f} "
          f"(three times X in bytes: {3 * X_bytes:.0f})")  # fmt: skip
    print(f"bytes per row: thresholds {placed / million:.0f}, whole fit {whole / million:.0f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--leaves", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--memory", action="store_true")
    options = parser.parse_args()
    if options.memory:
        memory(options.rows, options.leaves)
        return
    if options.growth:
        growth(options.leaves, options.rounds)
        return
    compare(options.rows, options.leaves, options.rounds)
    own = [sys.executable, __file__, "--memory", "--rows", str(options.rows)]
    subprocess.run(own, check=True)


if __name__ == "__main__":
    main()
