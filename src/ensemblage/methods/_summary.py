"""A comparison as rows of a table and as plain data for JSON."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from ensemblage.methods._compare import Comparison


def summary_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """Give one row per method, the best rank first.

    Parameters
    ----------
    comparison : Comparison
        The scores.

    Returns
    -------
    list of dict
        Method, means, standard error of the accuracy, mean rank, seconds, failed folds; None
        where there is no number.
    """
    return [
        {
            "method": each.name,
            "label": each.label,
            "ours": each.ours,
            "accuracy": _number(each.mean("accuracy")),
            "accuracy_se": _number(comparison.standard_error(each.accuracy)),
            "balanced_accuracy": _number(each.mean("balanced_accuracy")),
            "log_loss": _number(each.mean("log_loss")),
            "mean_rank": _number(each.mean("ranks")),
            "seconds": _number(each.mean("seconds")),
            "failed_folds": len(each.failures),
        }
        for each in comparison.ranking()
    ]


def as_plain(comparison: Comparison) -> dict[str, Any]:
    """Turn a comparison into what JSON can hold.

    Parameters
    ----------
    comparison : Comparison
        The scores.

    Returns
    -------
    dict
        The settings, the summary, the verdict, the choice, and the scores of each fold.
    """
    facts = asdict(comparison)
    folds = facts.pop("methods")
    choice = comparison.choice()
    return _plain(
        facts
        | {
            "summary": summary_rows(comparison),
            "verdict": comparison.verdict(),
            "choice": None if choice is None else asdict(choice),
            "methods": folds,
        }
    )


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return _number(value) if isinstance(value, float) else value


def _number(value: float) -> float | None:
    # JSON has no NaN.
    return value if math.isfinite(value) else None
