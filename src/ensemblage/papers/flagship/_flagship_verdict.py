"""What the tables of the study show, in sentences: ranks, tests, and who is ahead of whom."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import wilcoxon

from ensemblage.evaluation import MethodComparison, compare_methods
from ensemblage.papers._paper_rows import complete_scores
from ensemblage.papers.flagship._flagship_methods import CALIBRATED, FUSIONS, PLACES, SINGLES, TREES
from ensemblage.runs import ResultRow

TUNED = "boosting, 30 settings"
FUSED = ("full", "lean", "anchors", "generic control", *FUSIONS)
ENOUGH = 6
"""No fewer sets can give a significant difference."""

Rows = Sequence[ResultRow]


def loss_verdict(rows: Rows) -> list[str]:
    """Rank full and the singles; compare both pools with tuned boosting."""
    return [
        *_ranked(rows, ("full", *SINGLES), greater_is_better=False),
        *loss_gap(rows, "full", TUNED),
        *loss_gap(rows, "lean", TUNED),
        *loss_gap(rows, "lean", "full"),
    ]


def accuracy_verdict(rows: Rows) -> list[str]:
    """Rank full and the singles; compare with tuned boosting and with the best of each set."""
    return [
        *_ranked(rows, ("full", *SINGLES), greater_is_better=True),
        *_accuracy_gap(rows, "full", TUNED),
        *_accuracy_gap(rows, "lean", TUNED),
        *_near_best(rows, "full"),
        *_near_best(rows, "lean"),
    ]


def calibration_verdict(rows: Rows) -> list[str]:
    """Compare the mean calibration errors."""
    names, scores = complete_scores(rows, ("full", *CALIBRATED.values()))
    if not names:
        return []
    own, *others = scores.mean(axis=0)
    lower = [name for name, each in zip(CALIBRATED.values(), others, strict=True) if each < own]
    said = f"Below it are: {', '.join(lower)}" if lower else "No calibrated single is below it"
    return [f"Mean calibration error of full over {len(names)} sets: {own:.4f}. {said}."]


def fusion_verdict(rows: Rows) -> list[str]:
    """Compare what is in the pool, and how it is fused."""
    pairs = [
        ("full", "anchors"), ("lean", "anchors"), ("full", "generic control"),
        ("lean", "generic control"), ("full", "lean"), ("full", "full without columns"),
        ("full", "full without decisions"),
        *(("ours", f"ours without {place}") for place in PLACES),
        *(("anchors", fusion) for fusion in FUSIONS),
        *(("full", fusion) for fusion in FUSIONS),
    ]  # fmt: skip
    ranks = _ranked(rows, FUSED, greater_is_better=False)
    return [*ranks, *(sentence for pair in pairs for sentence in loss_gap(rows, *pair))]


def fusion_accuracy_verdict(rows: Rows) -> list[str]:
    """Rank pools and fusions by accuracy; compare full with each."""
    gaps = [sentence for each in FUSED[1:] for sentence in _accuracy_gap(rows, "full", each)]
    return [*_ranked(rows, FUSED, greater_is_better=True), *gaps]


def tree_verdict(rows: Rows) -> list[str]:
    """Compare the tree that learns from the pool with that of the classes."""
    return loss_gap(rows, *TREES)


def cost_verdict(rows: Rows) -> list[str]:
    """Tell the cost of both pools in units of tuned boosting."""
    names, scores = complete_scores(rows, ("full", "lean", TUNED))
    if not names:
        return []
    # of each set, so that a first call that compiles a kernel does not count for all of them
    full, lean = np.median(scores[:, :2] / np.maximum(scores[:, 2:], 1e-9), axis=0)
    return [f"Against {TUNED}, in the median: full {full:.2f} times, lean {lean:.2f} times."]


def loss_gap(rows: Rows, one: str, other: str) -> list[str]:
    """Say how far the log loss of one method is from that of another."""
    names, scores = complete_scores(rows, (one, other))
    if not names:
        return []
    gaps, shares = scores[:, 0] - scores[:, 1], scores[:, 0] / scores[:, 1] - 1
    said = (
        f"{one} against {other}: log loss {gaps.mean():+.4f} in the mean, {np.median(shares):+.1%} "
        f"in the median; lower on {int((gaps < 0).sum())} of {len(names)} sets{_chance(gaps)}."
    )
    return [said]


def _accuracy_gap(rows: Rows, one: str, other: str) -> list[str]:
    names, scores = complete_scores(rows, (one, other))
    if not names:
        return []
    gaps = scores[:, 0] - scores[:, 1]
    higher, lower = int((gaps > 0).sum()), int((gaps < 0).sum())
    said = (
        f"{one} against {other}: accuracy {gaps.mean():+.2f} points in the mean; higher on "
        f"{higher}, lower on {lower} of {len(names)} sets{_chance(gaps)}."
    )
    return [said]


def _chance(gaps: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    if len(gaps) < ENOUGH or np.allclose(gaps, 0):
        return ""
    return f", Wilcoxon p = {wilcoxon(gaps).pvalue:.2g}"


def _near_best(rows: Rows, pool: str) -> list[str]:
    """Say on how many sets a pool is within a point of the best single, chosen afterwards."""
    names, scores = complete_scores(rows, (pool, *SINGLES))
    if not names:
        return []
    behind = scores[:, 1:].max(axis=1) - scores[:, 0]
    near = behind <= 1 + 1e-9
    far = [f"{names[k]} ({behind[k]:.1f})" for k in np.flatnonzero(~near)]
    others = f"; further behind on {', '.join(far)}" if far else ""
    said = (
        f"{pool} is within 1 point of the best single chosen on test on {int(near.sum())} of "
        f"{len(names)} sets ({near.mean():.0%}){others}."
    )
    return [said]


def _ranked(rows: Rows, columns: Sequence[str], *, greater_is_better: bool) -> list[str]:
    """Mean ranks, Friedman's test, and the first of some methods against each other one."""
    names, scores = complete_scores(rows, columns)
    if len(names) < ENOUGH:
        return []
    found = compare_methods(scores, names=list(columns), greater_is_better=greater_is_better)
    ranks = ", ".join(f"{name} {found.mean_ranks[name]:.2f}" for name in found.ranking())
    return [f"Mean ranks: {ranks}.", found.sentence(), _against_full(found)]


def _against_full(found: MethodComparison) -> str:
    parts = [
        f"{pair.second} {pair.nemenyi_pvalue:.2g} / {pair.holm_pvalue:.2g}"
        for pair in found.pairwise
        if pair.first == "full"
    ]
    return f"Nemenyi's p / Wilcoxon's p after Holm, full against: {'; '.join(parts)}."
