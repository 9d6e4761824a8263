"""The crowd tree beside scikit-learn's own tree and bagging: time, growth in rows, memory.

python benchmarks/bench_tree.py [--rows 100000] [--leaves 64] [--rounds 3] [--growth]

One core. Times are CPU seconds, the best of several rounds; ratios are of one run.
"""

import argparse
import os
import resource
import subprocess
import sys
import time

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import BaggingClassifier
from sklearn.tree import DecisionTreeClassifier

from ensemblage.inner import InnerTreeClassifier, TreeRecipe, TreeRows
from ensemblage.inner._tree_structure import GrowthRule
from ensemblage.kernels import RowTargets

COLUMNS, VIEWS = 20, 30
PLACE, FIT, PREDICT = 0.3, 8.0, 15.0
"""At most so many times scikit-learn's tree takes."""


def rows_of(n_rows):
    X, y = make_classification(
        n_rows, COLUMNS, n_informative=8, n_clusters_per_class=4, flip_y=0.1, random_state=0
    )
    return np.ascontiguousarray(X, dtype=np.float32), y


def seconds(work, rounds):
    """CPU time of the best round, and what it gave."""
    best, result = np.inf, None
    for _ in range(rounds):
        start = time.process_time()
        result = work()
        best = min(best, time.process_time() - start)
    return best, result


def parts(X, y, leaves):
    targets = RowTargets(np.ones(len(y)), y.astype(np.int32), np.zeros(len(y)), 2)
    recipe = TreeRecipe(GrowthRule("gini", leaves, 1), VIEWS, 0.25, crisp=False)
    return TreeRows(X, targets), recipe


def line(what, ours, theirs, bound, whose):
    ratio = ours / theirs
    verdict = "met" if ratio <= bound else "MISSED"
    print(
        f"{what:34} {ours:8.3f} s   {whose} {theirs:8.3f} s   {ratio:6.3f} (<= {bound:g}) {verdict}"
    )


def compare(n_rows, leaves, rounds):
    X, y = rows_of(n_rows)
    small, labels = rows_of(2000)
    InnerTreeClassifier(max_leaves=leaves, random_state=0).fit(small, labels).predict_proba(small)
    cart = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0)
    grown, _ = seconds(lambda: cart.fit(X, y), rounds)
    rows, recipe = parts(X, y, leaves)
    structure = recipe.grow(rows, 0)
    placed, _ = seconds(lambda: recipe.soften(structure.tree, rows, 0), rounds)
    print(f"{n_rows:,} rows, {COLUMNS} columns, {leaves} leaves, {VIEWS} views; best of {rounds}")
    line("thresholds of the crowd", placed, grown, PLACE, "CART")
    ours = InnerTreeClassifier(max_leaves=leaves, random_state=0)
    whole, _ = seconds(lambda: ours.fit(X, y), 1)
    line("whole fit, five folds", whole, grown, FIT, "CART")
    bag = BaggingClassifier(DecisionTreeClassifier(), VIEWS, random_state=0)
    bagged, _ = seconds(lambda: bag.fit(X, y), 1)
    line("whole fit, five folds", whole, bagged, 0.1, "bagging")
    told, _ = seconds(lambda: cart.predict_proba(X), rounds)
    asked, _ = seconds(lambda: ours.predict_proba(X), rounds)
    line("prediction", asked, told, PREDICT, "CART")
    voted, _ = seconds(lambda: bag.predict_proba(X), 1)
    line("prediction", asked, voted, 0.2, "bagging")


def growth(leaves, rounds):
    """Time per row of the crowd's thresholds and memberships, with sixteen leaves."""
    found = {}
    for n_rows in (10_000, 100_000, 1_000_000):
        X, y = rows_of(n_rows)
        rows, recipe = parts(X, y, leaves)
        structure = recipe.grow(rows, 0)

        def work(rows=rows, recipe=recipe, structure=structure):
            tree = recipe.soften(structure.tree, rows, 0)
            return recipe.means(tree, rows)

        found[n_rows] = seconds(work, rounds if n_rows < 10**6 else 1)[0] / n_rows
        print(f"{n_rows:>9,} rows: {1e6 * found[n_rows]:.2f} microseconds per row")
    values = list(found.values())
    print(f"largest against smallest, per row: {max(values) / min(values):.2f}")


def memory(n_rows, leaves):
    """Tell what the crowd adds to the peak of a process that holds rows and structure."""
    X, y = rows_of(n_rows)
    rows, recipe = parts(X, y, leaves)
    structure = recipe.grow(rows, 0)
    small = parts(X[:2000].copy(), y[:2000], leaves)[0]
    recipe.soften(recipe.grow(small, 0).tree, small, 0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    recipe.soften(structure.tree, rows, 0)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    bins = n_rows * COLUMNS
    print(f"memory above the peak before: {(after - before) / 1024:.0f} MiB; "
          f"three times X in bytes {3 * bins / 2**20:.0f} MiB, draws (rows x views) "
          f"{n_rows * VIEWS / 2**20:.0f} MiB")  # fmt: skip


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
        growth(16, options.rounds)
        return
    compare(options.rows, options.leaves, options.rounds)
    own = [sys.executable, __file__, "--memory", "--rows", str(options.rows)]
    subprocess.run(own, check=True)


if __name__ == "__main__":
    main()
