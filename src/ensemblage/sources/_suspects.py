"""What is peculiar in a source: inverted labels, other codes, units, prevalence, missing values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.special import log_softmax, logit
from scipy.stats import norm, rankdata

from ensemblage._core import listed, write_number
from ensemblage.datasets import MISSING_CODE, Column
from ensemblage.sources._calibration import CalibrationPrior, as_log_proba, fit_calibration
from ensemblage.sources._meta_analysis import PooledEstimate
from ensemblage.sources._source_codes import written_time
from ensemblage.sources._source_measures import Flags, Groups, Predicted, SourceEstimates, auc_z

Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

WIDE_INTERCEPT_PRIOR = CalibrationPrior(intercept=2.5)
"""So wide that a source with another class frequency is not taken for inverted."""
EVIDENCE_RATIO = 20.0
"""One false positive in so many audits, divided among the sources (Bonferroni)."""
ALARM = 0.05
"""Level of the tests of all sources together, divided among them (Bonferroni)."""
FAR_ODDS = 3.0
"""Ratio of the odds of the event that is another prevalence."""
FAR_SHARE = 0.3
"""Difference of shares of missing values, or share of new codes, that is named."""
MIN_ROWS = 20
"""Known values of a column at a source, below which nothing is said of them."""
MAX_LEVELS = 10
"""Distinct values up to which a column is taken for codes."""
SEPARATION = 0.95
"""Area under the ROC curve by which a column in another unit tells a source from the others."""
FULL_SEPARATION = 0.99
"""The same of a column whose location or scale differs."""
FAR_FACTOR = 1.5
"""Ratio of medians that may be another unit."""
SAME_FACTOR = 0.3
"""Difference of the logs of two factors that count as the same."""


@dataclass(frozen=True)
class ColumnShift:
    """How much a column differs between sources.

    Parameters
    ----------
    column : str
        Its name.
    strength : float
        Association with the source, between 0 and 1: for a numeric column the square root of
        omega squared of the ranks, for a categorical one Cramér's V, both corrected for chance.
    source : str
        The source that differs most.
    in_source, in_others : str
        Typical value there and in the other sources: the median (the mean, if medians are equal),
        or the share of the most overrepresented category.
    """

    column: str
    strength: float
    source: str
    in_source: str
    in_others: str


def column_shift(column: Column, sources: Integers, names: list[str]) -> ColumnShift:
    """Compare one column between sources; a missing value is a category of its own."""
    if column.numbers is not None and np.isfinite(column.numbers).any():
        return _numeric_shift(column.name, column.numbers, sources, names, column.is_date)
    categories = [str(each) for each in column.occurring()]
    codes = column.match(column.occurring())
    codes = np.where(codes == MISSING_CODE, len(categories), codes)
    return _category_shift(column.name, codes, [*categories, "missing"], sources, names)


def _numeric_shift(
    name: str, column: NDArray[np.float64], sources: Integers, names: list[str], is_date: bool
) -> ColumnShift:
    known = np.isfinite(column)
    values, own = column[known], sources[known]
    ranks = rankdata(values)
    counts = np.bincount(own, minlength=len(names))
    means = np.bincount(own, ranks, minlength=len(names)) / np.maximum(counts, 1)
    total = float(((ranks - ranks.mean()) ** 2).sum())
    between = float(counts @ (means - ranks.mean()) ** 2)
    far = np.where(counts > 0, np.abs(means - ranks.mean()) * np.sqrt(counts), -1.0).argmax()
    in_source, in_others = _typical(values[own == far], values[own != far], is_date=is_date)
    n_groups, omega = int((counts > 0).sum()), 0.0
    if total > 0 and len(values) > n_groups:  # omega squared, corrected for chance
        noise = (total - between) / (len(values) - n_groups)
        omega = max(0.0, (between - (n_groups - 1) * noise) / (total + noise))
    return ColumnShift(name, float(np.sqrt(omega)), names[far], in_source, in_others)


def _typical(*sides: NDArray[Any], is_date: bool = False) -> list[str]:
    """Give the medians of two groups, or the means if the medians are equal; dates as such."""
    if any(len(side) == 0 for side in sides):
        return ["no value", "no value"]
    first, second = (np.median(side) for side in sides)
    if is_date:
        return [written_time(each, True) for each in (first, second)]
    if first != second:
        return [write_number(first), write_number(second)]
    return [f"mean {write_number(side.mean(), 3)}" for side in sides]


def _category_shift(
    name: str, codes: NDArray[np.int32], labels: list[str], sources: Integers, names: list[str]
) -> ColumnShift:
    """Cramér's V, corrected for chance (Bergsma, 2013)."""
    table = np.zeros((len(names), len(labels)))
    np.add.at(table, (sources, codes), 1)
    n_rows, own, per_label = table.sum(), table.sum(axis=1), table.sum(axis=0)
    expected = np.outer(own, per_label) / n_rows
    chi2 = float((((table - expected) ** 2) / np.where(expected > 0, expected, 1)).sum())
    shares = table / np.maximum(own, 1)[:, None]
    others = (per_label - table) / np.maximum(n_rows - own, 1)[:, None]
    far, best = np.unravel_index(((shares - others) * np.sqrt(own)[:, None]).argmax(), table.shape)
    in_source, in_others = (
        f"{labels[int(best)]} {each[far, best]:.0%}" for each in (shares, others)
    )
    n_sources, n_labels = int((own > 0).sum()), int((per_label > 0).sum())
    chance = (n_sources - 1) * (n_labels - 1) / max(n_rows - 1, 1)
    corrected = (n - (n - 1) ** 2 / max(n_rows - 1, 1) for n in (n_sources, n_labels))
    least = min(corrected) - 1
    strength = float(np.sqrt(max(0.0, chi2 / n_rows - chance) / least)) if least > 0 else 0.0
    return ColumnShift(name, strength, names[int(far)], in_source, in_others)


class Suspect(Struct, frozen=True):
    """A source to be checked.

    Parameters
    ----------
    source : str
        Its name.
    kind : str
        "inverted", "no signal", "coding", "unit", "scale", "prevalence" or "missing".
    column : str or None
        The column, for "coding", "unit", "scale" and "missing".
    sentence : str
        What was found.
    """

    source: str
    kind: str
    column: str | None
    sentence: str


def find_inverted(
    found: Predicted, sources: Integers, predict: Callable[[Sequence[int]], Doubles]
) -> list[int]:
    """Find sources whose labels or codes seem inverted, one at a time.

    Inverted probabilities fit better, and the area under the ROC curve is significantly below one
    half: a model without signal is not inverted. An inverted source distorts the models for the
    others. So the one with the strongest evidence is left out of all training by ``predict``, and
    the others are tested again. With two sources it cannot be determined which of them is inverted.
    """
    remaining = list(range(int(sources.max()) + 1))
    threshold = np.log(EVIDENCE_RATIO * len(remaining))
    least = norm.ppf(1 - ALARM / len(remaining))
    groups = [np.flatnonzero(sources == s) for s in remaining]
    dropped: list[int] = []
    while True:
        log_proba, labels = as_log_proba(found.output), found.truth
        below = -signal_z(found, groups) > least
        evidence = {
            s: inversion_evidence(log_proba[groups[s]], labels[groups[s]])
            for s in remaining if below[s]
        }  # fmt: skip
        inverted = [s for s, each in evidence.items() if each > threshold]
        if len(inverted) < 1 or len(remaining) <= 2:
            return sorted(dropped + inverted)
        strongest = max(inverted, key=lambda s: evidence[s])
        remaining.remove(strongest)
        dropped.append(strongest)
        if inverted == [strongest]:
            return sorted(dropped)
        found = found._replace(output=predict(dropped))


def signal_z(found: Predicted, groups: Groups) -> Doubles:
    """Distance of each source's area from one half in standard errors, over the classes."""
    n_classes = found.output.shape[1]
    each = [
        auc_z(*found.of_class(label), groups)
        for label in ((1,) if n_classes == 2 else range(n_classes))
    ]
    found_z: Doubles = np.ma.masked_invalid(each).mean(axis=0).filled(0.0)
    return found_z


def inversion_evidence(log_proba: Doubles, labels: Integers) -> float:
    """Log Bayes factor of inverted probabilities against those given, for these rows.

    Both are recalibrated; for two classes, inverted means exchanged.
    """
    ones = np.ones(len(labels))
    as_is, inverted = (
        fit_calibration(each, labels, ones, WIDE_INTERCEPT_PRIOR).log_evidence
        for each in (log_proba, log_softmax(-log_proba, axis=1))
    )
    return inverted - as_is


def without_signal(
    areas: SourceEstimates, pooled: PooledEstimate | None, names: Sequence[str]
) -> list[Suspect]:
    """Name sources whose area does not differ from one half, but from that of the others."""
    if pooled is None or pooled.low <= 0.5:
        return []
    reach = norm.ppf(1 - ALARM / len(names)) * np.sqrt(areas.variances)
    low, high = areas.limits()
    none = (areas.estimates + reach < logit(pooled.mean)) & (low <= 0.5) & (high >= 0.5)
    return [
        Suspect(
            names[s], "no signal", None,
            f"{names[s]}: the model has no signal there (AUC {areas.values[s]:.2f}, 95% CI "
            f"{low[s]:.2f} to {high[s]:.2f}; all sources {pooled.mean:.2f}).",
        )
        for s in np.flatnonzero(none).tolist()
    ]  # fmt: skip


def other_prevalence(events: Flags, groups: Groups, names: Sequence[str]) -> list[Suspect]:
    """Name sources whose odds of the event differ by a factor of three or more, significantly."""
    level = norm.ppf(1 - ALARM / (2 * len(names)))

    def distance(counts: Doubles, n_rows: Doubles, rest: Doubles, rest_rows: Doubles) -> Doubles:
        log_ratio = logit((counts + 0.5) / (n_rows + 1)) - logit((rest + 0.5) / (rest_rows + 1))
        parts = (counts, n_rows - counts, rest, rest_rows - rest)
        reach = level * np.sqrt(sum(1 / (each + 0.5) for each in parts))
        return np.abs(log_ratio) - np.maximum(reach, np.log(FAR_ODDS))

    hits = np.array([events[own].sum() for own in groups], dtype=float)
    n_rows = np.array([len(own) for own in groups], dtype=float)
    return [
        Suspect(
            names[s], "prevalence", None,
            f"{names[s]}: other prevalence, {hits[s] / n_rows[s]:.0%} of rows are events, "
            f"elsewhere {elsewhere:.0%}.",
        )
        for s, elsewhere in _one_by_one(hits, n_rows, distance)
    ]  # fmt: skip


def _one_by_one(
    hits: Doubles,
    n_rows: Doubles,
    distance: Callable[[Doubles, Doubles, Doubles, Doubles], Doubles],
) -> list[tuple[int, float]]:
    """Find sources whose share differs, with the share elsewhere: the furthest first.

    Each is left out before the others are compared again, as it would make these seem different.
    """
    remaining, found = list(range(len(hits))), []
    while len(remaining) > 2:
        some, rows = hits[remaining], n_rows[remaining]
        rest, rest_rows = some.sum() - some, rows.sum() - rows
        far = distance(some, rows, rest, rest_rows)
        s = int(far.argmax())
        if far[s] <= 0:
            break
        found.append((remaining[s], float(rest[s] / rest_rows[s])))
        del remaining[s]
    return sorted(found)


def missing_counts(columns: Iterable[Column], groups: Groups) -> list[tuple[str, Integers]]:
    """Count the missing values of each column in each source."""
    found = []
    for column in columns:
        gone = _is_missing(column)
        found.append((column.name, np.array([gone[own].sum() for own in groups])))
    return found


def other_missingness(
    counts: Sequence[tuple[str, Integers]], groups: Groups, names: Sequence[str]
) -> list[Suspect]:
    """Name columns that are missing far more, or far less, often at a source than elsewhere."""
    n_rows = np.array([len(own) for own in groups], dtype=float)

    def distance(gone: Doubles, rows: Doubles, rest: Doubles, rest_rows: Doubles) -> Doubles:
        return np.where(rows < MIN_ROWS, 0.0, np.abs(gone / rows - rest / rest_rows) - FAR_SHARE)

    return [
        Suspect(
            names[s], "missing", name,
            f"{names[s]}: {name} is missing in {gone[s] / n_rows[s]:.0%} of rows, elsewhere in "
            f"{elsewhere:.0%}.",
        )
        for name, gone in counts
        for s, elsewhere in _one_by_one(gone.astype(float), n_rows, distance)
    ]  # fmt: skip


def other_coding(columns: Iterable[Column], groups: Groups, names: Sequence[str]) -> list[Suspect]:
    """Name columns with other codes, or another unit or scale, at one source than elsewhere."""
    found = []
    for column in columns:
        known = np.flatnonzero(~_is_missing(column))
        own = np.zeros(column.n_rows, dtype=np.intp)
        for s, rows in enumerate(groups):
            own[rows] = s
        own, counts = own[known], np.bincount(own[known], minlength=len(groups))
        enough = np.minimum(counts, len(known) - counts) >= MIN_ROWS
        levels = column.occurring()
        if len(levels) <= 2 * MAX_LEVELS:
            table = np.zeros((len(groups), len(levels)))
            np.add.at(table, (own, column.match(levels)[known]), 1)
            found += _other_codes(column, levels, table, names, enough)
        elif column.numbers is not None and not column.is_date:
            values = column.numbers[known]
            ranks = np.bincount(own, rankdata(values), minlength=len(groups))
            wins = ranks - counts * (counts + 1) / 2
            area = wins / np.maximum(counts * (len(known) - counts), 1)
            for s in np.flatnonzero(enough & (np.maximum(area, 1 - area) >= SEPARATION)).tolist():
                one = _other_unit(column.name, names[s], values[own == s], values[own != s])
                if one.kind == "unit" or max(area[s], 1 - area[s]) >= FULL_SEPARATION:
                    found.append(one)
    return found


def _other_codes(
    column: Column, levels: list[Any], table: Doubles, names: Sequence[str], enough: Flags
) -> list[Suspect]:
    """Compare the codes of sources, by a table of sources and codes."""
    texts = [write_number(x) if isinstance(x, float) else str(x) for x in levels]
    found = []
    for s in np.flatnonzero(enough).tolist():
        here, elsewhere = table[s] > 0, np.delete(table, s, axis=0).sum(axis=0) > 0
        new = here & ~elsewhere
        if table[s, new].sum() >= FAR_SHARE * table[s].sum():
            shown, others = (
                listed([texts[j] for j in np.flatnonzero(each)][:MAX_LEVELS])
                for each in (new, elsewhere)
            )
            text = (
                f"{names[s]}: {column.name} has {shown}, which no other source has (elsewhere "
                f"{others}): another population, or another coding."
            )
            found.append(Suspect(names[s], "coding", column.name, text))
    return found


def _other_unit(name: str, source: str, here: Doubles, others: Doubles) -> Suspect:
    """Say how a column differs that separates a source from the others nearly completely.

    If location and scale differ by the same factor it is another unit.
    """
    (low, median, high), (other_low, other_median, other_high) = (
        np.quantile(each, [0.25, 0.5, 0.75]) for each in (here, others)
    )
    where = f"median {write_number(median)}; elsewhere {write_number(other_median)}"
    widths = high - low, other_high - other_low
    if median * other_median > 0 and min(widths) > 0:
        factor, of_widths = median / other_median, widths[0] / widths[1]
        if max(factor, 1 / factor) > FAR_FACTOR and abs(np.log(of_widths / factor)) < SAME_FACTOR:
            larger = write_number(max(factor, 1 / factor), 2)
            text = (
                f"{source}: {name} seems to be in another unit (values about {larger} times as "
                f"{'large' if factor > 1 else 'small'}: {where})."
            )
            return Suspect(source, "unit", name, text)
    text = f"{source}: {name} has another location or scale ({where})."
    return Suspect(source, "scale", name, text)


def _is_missing(column: Column) -> Flags:
    if column.numbers is not None:
        return np.isnan(column.numbers)
    return np.asarray(column.match(column.occurring()) == MISSING_CODE)
