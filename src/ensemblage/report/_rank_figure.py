"""Mean ranks over independent rows, and which of them could be chance."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ensemblage.evaluation import compare_methods
from ensemblage.pages import Ranked, RanksBlock


def critical_difference_figure(
    scores: Any, names: Sequence[str], library: Collection[str], *, greater: bool, over: str
) -> RanksBlock:
    """Rank methods, with Nemenyi's critical difference.

    Scores are of shape (n_rows, n_methods), the greater the better if ``greater``; ``library`` are
    the methods of this library; ``over`` says what the rows are: "5 datasets".
    """
    table = np.asarray(scores, dtype=float)
    found = compare_methods(table, names=names, greater_is_better=greater)
    order = found.ranking()
    ties = [tie for tie in found.cliques() if len(tie) > 1]
    methods = [
        Ranked(name, found.mean_ranks[name], name in library, tuple(name in tie for tie in ties))
        for name in order
    ]
    ranks = ", ".join(f"{each.name} {each.rank:.2f}" for each in methods)
    apart = f"{found.critical_difference:.2f}"
    return RanksBlock(
        methods,
        found.critical_difference,
        f"Critical-difference diagram. Mean ranks over {over}: {ranks}. Ranks less than {apart} "
        "apart may differ by chance.",
        f"Mean rank over {over}, 1 for the best. Methods along one bar at the side are less than "
        f"the critical difference of {apart} apart, so that Nemenyi's test does not tell them "
        "apart at the level of 5 %.",
    )
