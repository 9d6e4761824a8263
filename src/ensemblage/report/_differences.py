"""How the compared methods differ from the best, by the test behind the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from scipy.stats import t as student

from ensemblage.messages import MEASURES, count
from ensemblage.methods import (
    ALPHA,
    Choice,
    Comparison,
    Design,
    MethodScores,
    gap_between,
    values_of,
)
from ensemblage.pages import Bar, BarsBlock, Block, TextBlock, signed_field

APART, ALIKE = "told apart from the best", "not told apart"


class Difference(NamedTuple):
    """Mean lead over the best method, half the length of its interval, and the verdict on it."""

    label: str
    mean: float
    reach: float
    apart: bool
    ours: bool


def difference_blocks(document: Comparison) -> list[Block]:
    """Draw the differences to the best; nothing where there is no choice."""
    choice = document.choice
    if choice is None:
        return []
    whole = [each for each in document.methods if None not in values_of(each, document.measure)]
    design = Design(document.measure, 1 / document.n_splits, document.n_rows)
    measure = MEASURES[document.measure]
    places = measure.places(choice.score, 4)
    bars = [
        Bar(
            each.label, each.mean, signed_field(each.mean, places).text, error=each.reach,
            reference=0.0, ours=each.ours, group=APART if each.apart else ALIKE,
        )
        for each in differences(whole, choice, design)
    ]  # fmt: skip
    best = next(each.label for each in whole if each.name == choice.leader)
    figure = BarsBlock(
        bars,
        f"Mean {measure.label} of each method less that of {best}, the best, with an "
        "interval (±). Where that leaves out zero, the upright line, the paired test behind the "
        f"verdict tells the two apart at the level of {ALPHA:.1%}: the corrected resampled t-test "
        "over the folds, with Holm's correction for the number of methods.",
        signed=True,
    )
    left = len(document.methods) - len(whole)
    if not left:
        return [figure]
    are = "is" if left == 1 else "are"
    said = f"{count(left, 'method')} without a score on every fold {are} left out here."
    return [figure, TextBlock([said])]


def differences(
    methods: Sequence[MethodScores], choice: Choice, design: Design
) -> list[Difference]:
    """Compare each method with the best one, those told apart last, by their means.

    Holm's procedure tests the i-th most certain of m differences at the level alpha / (m - i + 1)
    and stops at the first that it does not tell apart; each interval is drawn at the level of its
    own test, or of the one that ended them.
    """
    scores = {
        each.name: [value for value in values_of(each, design.measure) if value is not None]
        for each in methods
    }
    others = [each for each in methods if each.name != choice.leader]
    gaps = {each.name: gap_between(scores[each.name], scores[choice.leader], design)
            for each in others}  # fmt: skip
    n_apart = len(others) - len(choice.not_told_apart)
    order = sorted(gaps, key=lambda name: gaps[name].pvalue)
    found = []
    for each in others:
        level = ALPHA / (len(others) - min(order.index(each.name), n_apart))
        quantile = float(student.ppf(1 - level / 2, len(each.usual) - 1))
        gap = gaps[each.name]
        apart = each.name not in choice.not_told_apart
        found.append(Difference(each.label, gap.mean, quantile * gap.error, apart, each.ours))
    sign = -1 if design.measure == "log_loss" else 1
    return sorted(found, key=lambda each: (each.apart, -sign * each.mean))
