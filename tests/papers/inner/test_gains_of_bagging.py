"""Does the inner ensemble gain where bagging does? Computed from the committed results."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm, spearmanr

PAGES = Path(__file__).parents[3] / "docs" / "reproduction"
TREES, NETWORKS = "CART, by errors", "plain network"
COMPARED = [
    ("network, inner, all settings", "inner-table1", "inner-table1", NETWORKS,
     "inner, all settings", "bagging, all sizes", 1),
    ("network, inner, nested choice", "inner-table1", "inner-table1", NETWORKS,
     "inner, nested choice", "bagging, all sizes", 1),
    ("tree, thresholds + shrinkage", "inner-tree", "inner-tree-accuracy", TREES,
     "thresholds + shrinkage", "bagging of 30", 1),
    ("tree, thresholds + shrinkage", "inner-tree", "inner-tree-log-loss", "CART, by log loss",
     "thresholds + shrinkage", "bagging of 30", -1),
    ("shrunk CART, no ensemble", "inner-tree", "inner-tree-accuracy", TREES,
     "shrunk CART", "bagging of 30", 1),
    ("shrunk CART, no ensemble", "inner-tree", "inner-tree-log-loss", "CART, by log loss",
     "shrunk CART", "bagging of 30", -1),
    ("regression tree, thresholds + shrinkage", "inner-tree", "inner-tree-r2", "CART",
     "thresholds + shrinkage", "bagging of 30", 1),
    ("shrunk regression CART, no ensemble", "inner-tree", "inner-tree-r2", "CART",
     "shrunk CART", "bagging of 30", 1),
]  # fmt: skip


def gains(run, table, columns, sign):
    """Gains of bagging and of the inner ensemble over the plain learner: (n_tables, 2)."""
    results = json.loads((PAGES / "results" / f"{run}.json").read_text("utf-8"))
    (found,) = [each for each in results["tables"] if each["name"] == table]
    values = {(row["row"], row["column"]): row["ours"]
              for row in found["rows"] if not row["is_mean"]}  # fmt: skip
    names = list(dict.fromkeys(name for name, _ in values))
    rows = [[values.get((name, column)) for column in columns] for name in names]
    plain, inner, bagging = np.array([row for row in rows if None not in row], dtype=float).T
    return found["measure"], sign * (bagging - plain), sign * (inner - plain)


def table_row(title, run, table, *columns):
    *names, sign = columns
    measure, bagging, inner = gains(run, table, names, sign)
    n, found = len(bagging), spearmanr(bagging, inner)
    # Fisher's z with the standard error of Bonett and Wright (2000)
    half = norm.ppf(0.975) * np.sqrt((1 + found.statistic**2 / 2) / (n - 3))
    low, high = np.tanh(np.arctanh(found.statistic) + np.array([-half, half]))
    better = bagging > 0
    p = "< .001" if found.pvalue < 0.001 else f"{found.pvalue:.2g}"
    return (
        f"| {title} | {measure.removesuffix(' (%)')} | {n} | {better.sum()} | "
        f"{(better & (inner > 0)).sum()} | {found.statistic:.2f} ({low:.2f} to {high:.2f}) | {p} |"
    )


@pytest.mark.parametrize("compared", COMPARED, ids=lambda each: f"{each[2]}: {each[0]}")
def test_the_page_has_the_correlation_of_the_gains(compared):
    row = table_row(*compared)
    assert row in (PAGES / "inner-significance.md").read_text("utf-8").splitlines(), row
