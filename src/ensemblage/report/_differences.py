"""How the compared methods differ from the chosen one, by the test behind the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from ensemblage.messages import count
from ensemblage.methods import Choice, Comparison, MethodScores, corrected_error
from ensemblage.pages import MINUS, Bar, BarsBlock, Block, TextBlock

ALPHA = 0.05
APART, ALIKE = "told apart from the choice", "not told apart"


class Difference(NamedTuple):
    """Mean lead over the chosen method, half the length of its interval, and the verdict on it."""

    label: str
    mean: float
    reach: float
    apart: bool


def difference_blocks(document: Comparison) -> list[Block]:
    """Draw the differences to the choice; nothing where there is none."""
    choice = document.choice
    if choice is None:
        return []
    whole = [each for each in document.methods if None not in each.accuracy]
    bars = [
        Bar(
            each.label, each.mean, f"{each.mean:+.4f}".replace("-", MINUS), error=each.reach,
            reference=0.0, strong=each.apart, group=APART if each.apart else ALIKE,
        )
        for each in differences(whole, choice, 1 / document.n_splits)
    ]  # fmt: skip
    figure = BarsBlock(
        bars,
        f"Mean accuracy of each method less that of {choice.label}, with an interval (±). Where "
        "that leaves out zero, the upright line, the paired test behind the verdict tells the two "
        "apart at the level of 5 %: the corrected resampled t-test over the folds, with "
        "Holm's correction for the number of methods.",
        signed=True,
    )
    left = len(document.methods) - len(whole)
    if not left:
        return [figure]
    are = "is" if left == 1 else "are"
    said = f"{count(left, 'method')} failed on some fold and {are} left out here."
    return [figure, TextBlock([said])]


def differences(methods: Sequence[MethodScores], choice: Choice, share: float) -> list[Difference]:
    """Compare each method with the chosen one, those told apart last, by their means.

    Holm's procedure tests the i-th most certain of m differences at the level alpha / (m - i + 1)
    and stops at the first that it does not tell apart; each interval is drawn at the level of its
    own test, or of the one that ended them. ``share`` is that of the rows tested in each fold.
    """
    scores = {each.name: np.array(each.accuracy, dtype=float) for each in methods}
    others = [each for each in methods if each.name != choice.method]
    gaps = {each.name: scores[each.name] - scores[choice.method] for each in others}
    errors = {name: corrected_error(gap, share) or 0.0 for name, gap in gaps.items()}
    n_apart = len(others) - len(choice.not_told_apart)
    # with no error, any difference is certain
    certainty = {
        name: abs(gap.mean()) / errors[name] if errors[name] else np.inf * bool(gap.any())
        for name, gap in gaps.items()
    }
    order = sorted(gaps, key=lambda name: -certainty[name])
    found = []
    for each in others:
        level = ALPHA / (len(others) - min(order.index(each.name), n_apart))
        quantile = float(student.ppf(1 - level / 2, len(each.accuracy) - 1))
        mean, reach = float(gaps[each.name].mean()), quantile * errors[each.name]
        apart = each.name not in choice.not_told_apart
        found.append(Difference(each.label, mean, reach, apart))
    return sorted(found, key=lambda each: (each.apart, -each.mean))
