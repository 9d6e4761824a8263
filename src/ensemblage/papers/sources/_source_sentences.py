"""Sentences below the tables of the study of sources."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ensemblage.papers._paper_rows import complete_scores
from ensemblage.runs import ResultRow


def loss_sentences(rows: Sequence[ResultRow], measure: str, other: str) -> list[str]:
    """Compare each of the library's own columns with another, over the datasets."""
    said = []
    for own in ("pool with sources", "partial pooling", "source strata, source not told"):
        names, scores = complete_scores(rows, (own, other))
        if names and (scores[:, 1] > 0).all():
            ratios = scores[:, 0] / scores[:, 1] - 1
            lower = int((ratios < 0).sum())
            said.append(
                f"{own} against {other}: {measure} {ratios.mean():+.1%} on average (median "
                f"{np.median(ratios):+.1%}), lower on {lower} of {len(names)} datasets."
            )
    return said


def promise_sentences(rows: Sequence[ResultRow]) -> list[str]:
    """Say how far promises are from the truth, each dataset and model counting once."""
    said = []
    for promise in ("ordinary folds promise", "leave-sources-out promises"):
        names, scores = complete_scores(rows, (promise, "truth"))
        if names:
            gap = float(np.abs(scores[:, 0] - scores[:, 1]).mean())
            said.append(
                f"What {promise} is {gap:.3f} from the truth on average ({len(names)} rows)."
            )
    return said


def held_sentence(rows: Sequence[ResultRow]) -> list[str]:
    """Say of how many sources the bound held."""
    found = [row for row in rows if row.column == "share below the bound" and row.ours is not None]
    n_sources = sum(row.repeats for row in found)
    if not n_sources:
        return []
    held = sum((row.ours or 0.0) * row.repeats for row in found) / n_sources
    return [f"The bound for nine in ten held for {held:.0%} of {n_sources} new sources."]


def recalibration_sentences(rows: Sequence[ResultRow], columns: Sequence[str]) -> list[str]:
    """Say what recalibration changes on average, and where it is worst."""
    said = []
    for column in columns:
        found = [row for row in rows if row.column == column and row.ours is not None]
        if found:
            changes = [row.ours or 0.0 for row in found]
            worst = found[int(np.argmax(changes))]
            said.append(
                f"{column} of the new source change its log loss by {np.mean(changes):+.1f} % on "
                f"average; least to its good: {max(changes):+.1f} % ({worst.row})."
            )
    return said
