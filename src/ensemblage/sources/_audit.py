"""How a model will do in a source that it has never seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils import _safe_indexing, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from ensemblage._core import (
    Field,
    Fold,
    Heading,
    TableBlock,
    deal_folds,
    draw_seeds,
    html_table,
    iterate_tasks,
    text_table,
    write_number,
)
from ensemblage.datasets import MISSING_CODE, Column, TableEncoder, read_columns
from ensemblage.sources._calibration import CalibrationPrior, as_log_proba, calibrate_site
from ensemblage.sources._random_effects import Shrunk, mean_bounds, new_bound, shrink, shrink_shares
from ensemblage.sources._source_codes import number_sources

Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class ColumnShift:
    """How much of a column the source tells.

    Parameters
    ----------
    column : str
        Its name.
    strength : float
        0 if it is alike everywhere, 1 if the source tells it: for numbers the square root of the
        share of the ranks' variance that lies between sources, for words Cramér's V, both
        corrected for chance.
    source : str
        The source that differs most.
    there, elsewhere : str
        What is typical there and elsewhere: the median (or the mean, of equal medians), or the
        category that is most frequent in comparison, with its share.
    """

    column: str
    strength: float
    source: str
    there: str
    elsewhere: str


def column_shift(column: Column, sources: Integers, names: list[str]) -> ColumnShift:
    """Measure one column; a gap counts as a value of its own among words."""
    if column.numbers is not None and np.isfinite(column.numbers).any():
        return _numeric_shift(column.name, column.numbers, sources, names)
    words = [str(each) for each in column.occurring()]
    codes = column.match(column.occurring())
    codes = np.where(codes == MISSING_CODE, len(words), codes)
    return _word_shift(column.name, codes, [*words, "missing"], sources, names)


def _numeric_shift(
    name: str, numbers: NDArray[np.float64], sources: Integers, names: list[str]
) -> ColumnShift:
    known = np.isfinite(numbers)
    values, own = numbers[known], sources[known]
    ranks = rankdata(values)
    counts = np.bincount(own, minlength=len(names))
    means = np.bincount(own, ranks, minlength=len(names)) / np.maximum(counts, 1)
    total = float(((ranks - ranks.mean()) ** 2).sum())
    between = float(counts @ (means - ranks.mean()) ** 2)
    far = np.where(counts > 0, np.abs(means - ranks.mean()) * np.sqrt(counts), -1.0).argmax()
    there, elsewhere = _typical(values[own == far], values[own != far])
    share = _above_chance(between, total, int((counts > 0).sum()), len(values))
    return ColumnShift(name, float(np.sqrt(share)), names[far], there, elsewhere)


def _above_chance(between: float, total: float, n_groups: int, n_rows: int) -> float:
    """Share of a variance between groups, less what chance would put there (omega squared)."""
    if total <= 0 or n_rows <= n_groups:
        return 0.0
    noise = (total - between) / (n_rows - n_groups)
    return max(0.0, (between - (n_groups - 1) * noise) / (total + noise))


def _typical(there: NDArray[Any], elsewhere: NDArray[Any]) -> tuple[str, str]:
    """Give medians, or means where those are the same."""
    if len(there) == 0 or len(elsewhere) == 0:
        return "no value", "no value"
    middle = np.median(there), np.median(elsewhere)
    if middle[0] != middle[1]:
        return write_number(middle[0]), write_number(middle[1])
    return f"mean {write_number(there.mean(), 3)}", f"mean {write_number(elsewhere.mean(), 3)}"


def _word_shift(
    name: str, codes: NDArray[np.int32], words: list[str], sources: Integers, names: list[str]
) -> ColumnShift:
    table = np.zeros((len(names), len(words)))
    np.add.at(table, (sources, codes), 1)
    n_rows, own, per_word = table.sum(), table.sum(axis=1), table.sum(axis=0)
    expected = np.outer(own, per_word) / n_rows
    chi2 = float((((table - expected) ** 2) / np.where(expected > 0, expected, 1)).sum())
    n_sources, n_words = int((own > 0).sum()), int((per_word > 0).sum())
    shares = table / np.maximum(own, 1)[:, None]
    others = (per_word - table) / np.maximum(n_rows - own, 1)[:, None]
    far, word = np.unravel_index(((shares - others) * np.sqrt(own)[:, None]).argmax(), table.shape)
    there, elsewhere = (f"{words[int(word)]} {each[far, word]:.0%}" for each in (shares, others))
    strength = _cramer(chi2 / n_rows, n_sources, n_words, n_rows)
    return ColumnShift(name, strength, names[int(far)], there, elsewhere)


def _cramer(phi2: float, n_sources: int, n_words: int, n_rows: float) -> float:
    """Give Cramér's V, corrected for chance (Bergsma, 2013)."""
    chance = (n_sources - 1) * (n_words - 1) / max(n_rows - 1, 1)
    rows = n_sources - (n_sources - 1) ** 2 / max(n_rows - 1, 1)
    columns = n_words - (n_words - 1) ** 2 / max(n_rows - 1, 1)
    least = min(rows, columns) - 1
    return float(np.sqrt(max(0.0, phi2 - chance) / least)) if least > 0 else 0.0


SMALLEST = 1e-12


class HeldOut(NamedTuple):
    """Probabilities (n_rows, n_classes), from models that had not seen the row."""

    shares: Doubles

    def errors(self, labels: Integers) -> NDArray[np.bool_]:
        """Mark rows whose class is not the most probable one."""
        return np.asarray(self.shares.argmax(axis=1) != labels)

    def losses(self, labels: Integers) -> Doubles:
        """Minus the log probability of each row's class."""
        true = self.shares[np.arange(len(labels)), labels]
        return np.asarray(-np.log(np.clip(true, SMALLEST, 1.0)))


def ordinary_folds(labels: Integers, sources: Integers, n_folds: int, seed: int) -> list[Fold]:
    """Deal rows so that every fold has all sources and classes."""
    pairs = np.unique(sources * (labels.max() + 1) + labels, return_inverse=True)[1]
    return deal_folds(pairs, n_folds, np.random.default_rng(seed))


def source_folds(sources: Integers, most: int) -> list[Fold]:
    """Leave each source out, or groups of them of about equal size if there are many."""
    counts = np.bincount(sources)
    group = np.zeros(len(counts), dtype=int)
    sizes = np.zeros(min(most, len(counts)))
    for source in np.argsort(-counts, kind="stable"):
        group[source] = sizes.argmin()
        sizes[group[source]] += counts[source]
    groups = group[sources]
    return [
        Fold(np.flatnonzero(groups != g), np.flatnonzero(groups == g)) for g in range(len(sizes))
    ]


def without_sources(folds: Sequence[Fold], sources: Integers, dropped: Sequence[int]) -> list[Fold]:
    """Leave sources out of all training; a fold that has no other keeps its rows."""
    kept = [Fold(fold.train[~np.isin(sources[fold.train], dropped)], fold.test) for fold in folds]
    return [new if len(new.train) else old for new, old in zip(kept, folds, strict=True)]


def held_out(
    estimator: Any,
    X: Any,
    labels: Integers,
    folds: Sequence[Fold],
    *,
    n_jobs: int | None = None,
    step: Callable[[], Any] | None = None,
) -> HeldOut:
    """Predict every fold's test rows by a model of its training rows; ``step`` after each fit."""
    n_classes = int(labels.max()) + 1
    tasks = [
        (
            clone(estimator), _safe_indexing(X, fold.train), labels[fold.train],
            _safe_indexing(X, fold.test), n_classes,
        )
        for fold in folds
    ]  # fmt: skip
    shares = np.zeros((len(labels), n_classes))
    for number, found in iterate_tasks(_fit_and_predict, tasks, n_jobs):
        shares[folds[number].test] = found
        if step is not None:
            step()
    return HeldOut(shares)


def _fit_and_predict(estimator: Any, X: Any, labels: Integers, new: Any, n_classes: int) -> Doubles:
    out = np.zeros((len(new), n_classes))
    present = np.unique(labels)
    if len(present) == 1:  # a model of one class says so
        out[:, present[0]] = 1.0
        return out
    fitted = estimator.fit(X, labels)
    out[:, np.asarray(fitted.classes_, dtype=int)] = fitted.predict_proba(new)
    return out


# so wide that a source's own rows decide; without any, separable rows would have no estimate
WEAK = CalibrationPrior(slope=1.0, offset=2.5)
FOLDS = 5


class SiteCalibrations(NamedTuple):
    """Log slopes and offsets of all sources, drawn towards each other."""

    log_slopes: Shrunk
    offsets: Shrunk


def compared_class(held: HeldOut, labels: Integers) -> int:
    """Choose the class whose rates are told: the second of two, else the most frequent one."""
    n_classes = held.shares.shape[1]
    return 1 if n_classes == 2 else int(np.bincount(labels, minlength=n_classes).argmax())


def site_calibrations(
    held: HeldOut, labels: Integers, sources: Integers, label: int
) -> SiteCalibrations:
    """Calibrate each source; an offset is that of the class against the mean of the others."""
    log_proba = as_log_proba(held.shares)
    n_classes = log_proba.shape[1]
    contrast = np.full(n_classes, -1 / (n_classes - 1))
    contrast[label] = 1.0
    found = [
        calibrate_site(log_proba[own], labels[own], np.ones(int(own.sum())), WEAK)
        for own in (sources == s for s in range(int(sources.max()) + 1))
    ]
    slopes = [(np.log(each.slope), each.covariance[0, 0], WEAK.slope**2) for each in found]
    prior = WEAK.offset**2 * float(contrast @ contrast)
    offsets = [
        (contrast @ each.offsets, contrast @ each.covariance[1:, 1:] @ contrast, prior)
        for each in found
    ]
    return SiteCalibrations(_without_prior(slopes, skewed=True), _without_prior(offsets))


def _without_prior(estimates: list[tuple[Any, Any, float]], *, skewed: bool = False) -> Shrunk:
    """Take out the weak prior of each source, and put in what the other sources say."""
    values, variances, priors = np.array(estimates).T
    precision = 1 / variances - 1 / priors
    telling = precision > 1e-6 / priors
    own = np.where(telling, 1 / np.where(telling, precision, 1.0), np.inf)
    return shrink(np.where(telling, values / variances * own, 0.0), own, skewed=skewed)


def coverages(held: HeldOut, labels: Integers, sources: Integers, coverage: float) -> Doubles:
    """Share of each source's rows whose class is in a prediction set made for other sources.

    The set has the classes of at least a certain probability: that at which the other sources'
    rows are covered as often as asked for.
    """
    true = held.shares[np.arange(len(labels)), labels]
    found = []
    for s in range(int(sources.max()) + 1):
        others = true[sources != s]
        place = min(1.0, coverage * (1 + 1 / len(others)))
        found.append((true[sources == s] >= np.quantile(others, 1 - place, method="lower")).mean())
    return np.array(found)


def recalibrated_loss(held: HeldOut, labels: Integers, rows: NDArray[np.intp]) -> float:
    """Log loss of a source whose probabilities are adapted by its other rows, fold by fold."""
    log_proba, own = as_log_proba(held.shares[rows]), labels[rows]
    losses = np.zeros(len(rows))
    for train, test in deal_folds(own, FOLDS, np.random.default_rng(0)):
        change = calibrate_site(log_proba[train], own[train], np.ones(len(train))).cautious()
        losses[test] = -change.log_proba(log_proba[test])[np.arange(len(test)), own[test]]
    return float(losses.mean())


# offsets so free that a source in which a class is rarer or more frequent is not suspect for it
ANY_RATE = CalibrationPrior(offset=2.5)
SURE = 20.0
"""One false alarm in so many audits, by evidence that is shared among the sources."""


def suspect_sources(
    held: HeldOut,
    labels: Integers,
    sources: Integers,
    predict: Callable[[Sequence[int]], HeldOut],
) -> list[int]:
    """Name the source that runs most surely against the others; look again without it.

    One that was turned round spoils what others are told by it, so that several may look wrong.
    ``predict`` leaves sources out of all training. Of two sources nobody can tell which it is.
    """
    remaining = list(range(int(sources.max()) + 1))
    sure = np.log(SURE * len(remaining))
    found: list[int] = []
    while True:
        log_proba = as_log_proba(held.shares)
        against = {s: turned_evidence(log_proba[sources == s], labels[sources == s])
                   for s in remaining}  # fmt: skip
        accused = [s for s in remaining if against[s] > sure]
        if len(accused) < 1 or len(remaining) <= 2:
            return sorted(found + accused)
        worst = max(accused, key=lambda s: against[s])
        remaining.remove(worst)
        found.append(worst)
        if accused == [worst]:
            return sorted(found)
        held = predict(found)


def turned_evidence(log_proba: Doubles, labels: Integers) -> float:
    """Log evidence that probabilities are wrong way round for these rows, against right way.

    Both ways may be shifted and stretched; of two classes the wrong way is that of the other class.
    """
    ones = np.ones(len(labels))
    right, wrong = (
        calibrate_site(each, labels, ones, ANY_RATE).log_evidence
        for each in (log_proba, log_softmax(-log_proba, axis=1))
    )
    return wrong - right


WIDTH = 120
LEGEND = (
    "Left out: as if the source were new; likely: bounds of that error with 95 %, small sources "
    "drawn towards the others. Rate: share of the class, observed and as predicted when left out. "
    "Slope and offset: what would calibrate the log odds then. Covered: by prediction sets that "
    "cover 90 % elsewhere."
)


@dataclass(frozen=True)
class AuditedSource:
    """What held-out rows say about one source.

    Parameters
    ----------
    name : str
        The source.
    n_rows : int
        Its rows.
    error, log_loss : float
        By ordinary folds, with other rows of the source in training.
    left_out_error, left_out_log_loss : float
        With the source left out of training, as if it were new.
    expected, expected_low, expected_high : float
        The error to expect when left out: small sources are drawn towards the others. Here and
        below, bounds hold with a probability of 95 %.
    observed, predicted : float
        Share of the class that rates are told of, and its mean probability when left out.
    slope, slope_low, slope_high : float
        Calibration when left out: log probabilities should be multiplied by the slope; below 1
        the model is too sure there.
    offset, offset_low, offset_high : float
        What should be added to the log odds of the class that rates are told of.
    coverage : float
        Share of rows whose class is in prediction sets that cover 90 % elsewhere.
    suspect : bool
        Whether the rule of the other sources is wrong way round here: labels or codes may be
        inverted.
    """

    name: str
    n_rows: int
    error: float
    log_loss: float
    left_out_error: float
    left_out_log_loss: float
    expected: float
    expected_low: float
    expected_high: float
    observed: float
    predicted: float
    slope: float
    slope_low: float
    slope_high: float
    offset: float
    offset_low: float
    offset_high: float
    coverage: float
    suspect: bool = False


@dataclass(frozen=True)
class SourceAudit:
    """What to expect of a model on known sources and on new ones.

    Made by :func:`source_audit`; it prints as sentences and a table.

    Parameters
    ----------
    sources : tuple of AuditedSource
        One each, in the order of their names.
    label : object
        The class that rates and offsets are of.
    error, log_loss : float
        By ordinary folds, averaged over the sources.
    new_error : float
        For a new source: averaged over sources that were left out.
    new_error_low, new_error_high : float
        Bounds of that error that hold with a probability of 95 %.
    new_log_loss : float
        For a new source.
    error_bound : float
        Nine in ten new sources should have a smaller error.
    recognised, recognised_by_chance : float
        Share of rows whose source a forest tells from the columns, and the largest source's share.
    shifts : tuple of ColumnShift
        The columns that differ most between sources.
    worst : str
        The source with the highest log loss when left out.
    remedy : str
        What would mend it.
    """

    sources: tuple[AuditedSource, ...]
    label: Any
    error: float
    log_loss: float
    new_error: float
    new_error_low: float
    new_error_high: float
    new_log_loss: float
    error_bound: float
    recognised: float
    recognised_by_chance: float
    shifts: tuple[ColumnShift, ...]
    worst: str
    remedy: str

    @property
    def ratio(self) -> float:  # numpydoc ignore=RT01
        """How many times larger the error is for new sources than ordinary folds promise."""
        return self.new_error / self.error if self.error > 0 else float("inf")

    @property
    def suspects(self) -> tuple[str, ...]:  # numpydoc ignore=RT01
        """Sources whose labels or codes may be inverted."""
        return tuple(each.name for each in self.sources if each.suspect)

    @property
    def promise(self) -> str:  # numpydoc ignore=RT01
        """What to expect of a new source, in one sentence."""
        expected = (
            f"On a new source expect an error of {self.new_error:.3f} (averaged over many: "
            f"{self.new_error_low:.2f} to {self.new_error_high:.2f}); ordinary folds promise "
            f"{self.error:.3f}."
        )
        if self.error_bound >= 1:
            return f"{expected} {len(self.sources)} sources are too few to tell how bad it can get."
        return f"{expected} Nine in ten new sources should stay below {self.error_bound:.3f}."

    @property
    def sentences(self) -> tuple[str, ...]:  # numpydoc ignore=RT01
        """What matters, in plain words."""
        said = [self.promise]
        if self.suspects:
            said.append(
                f"Look at {', '.join(self.suspects)} first: what the other sources teach is wrong "
                "way round there. Labels or codes may be inverted."
            )
        said.append(
            f"The columns tell the source of {self.recognised:.0%} of the rows "
            f"(the largest source alone: {self.recognised_by_chance:.0%})."
        )
        if self.shifts and self.shifts[0].strength > 0:
            first = self.shifts[0]
            said.append(
                f"{first.column} differs most between sources: {first.there} in {first.source}, "
                f"{first.elsewhere} elsewhere."
            )
        said.append(f"Worst when left out is {self.worst}: {self.remedy}")
        return tuple(said)

    def table(self) -> TableBlock:
        """Give the sources as a table.

        Returns
        -------
        TableBlock
            A row each.
        """
        heads = ("rows", "error", "left out", "likely", "log loss", "left out", "rate", "said",
                 "slope", "offset", "covered")  # fmt: skip
        columns = (Heading("source"), *(Heading(head, numeric=True) for head in heads))
        rows = []
        for each in self.sources:
            texts = (
                str(each.n_rows), f"{each.error:.3f}", f"{each.left_out_error:.3f}",
                f"{each.expected_low:.2f}-{each.expected_high:.2f}", f"{each.log_loss:.3f}",
                f"{each.left_out_log_loss:.3f}", f"{each.observed:.0%}", f"{each.predicted:.0%}",
                f"{each.slope:.2f}", f"{each.offset:+.2f}", f"{each.coverage:.0%}",
            )  # fmt: skip
            name = Field(each.name, tag="suspect" if each.suspect else "")
            rows.append((name, *(Field(text) for text in texts)))
        return TableBlock(columns, rows, "Sources", legend=LEGEND)

    def __str__(self) -> str:
        return "\n".join([*self.sentences, "", text_table(self.table(), WIDTH)])

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{escape(each)}</p>" for each in self.sentences)
        return said + html_table(self.table())


MOST_LEFT_OUT = 10
"""More sources than these are left out in groups."""
RECOGNISED_ROWS = 5_000
RECOGNISING_FOLDS = 3
MOST_SHIFTS = 5
NINE_IN_TEN = 0.9


class Rows(NamedTuple):
    """What is audited: rows, numbers of classes and sources, names of both."""

    X: Any
    labels: Integers
    sources: Integers
    classes: NDArray[Any]
    names: list[str]
    columns: list[str]

    def of(self, source: int) -> NDArray[np.intp]:
        """Numbers of a source's rows."""
        return np.flatnonzero(self.sources == source)

    def means(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Average over each source's rows."""
        counts = np.bincount(self.sources)
        return np.asarray(np.bincount(self.sources, values.astype(float)) / counts)


class Held(NamedTuple):
    """Probabilities of rows that a model has not seen, with and without other rows of theirs."""

    inside: HeldOut
    outside: HeldOut


def source_audit(
    estimator: Any,
    X: Any,
    y: Any,
    sources: Any,
    *,
    columns: Sequence[str] | None = None,
    cv: int = 5,
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: Callable[[int, int], Any] | None = None,
) -> SourceAudit:
    r"""Find out what a model is worth on known sources, and on new ones.

    Ordinary cross-validation has rows of every source in training, so it tells what to expect of
    known sources only. Here each source is left out as well.

    Parameters
    ----------
    estimator : classifier
        Any, with ``predict_proba``; not fitted. It does not see the source.
    X : array-like or dataframe of shape (n_samples, n_features)
        Rows, as the estimator takes them.
    y : array-like of shape (n_samples,)
        Classes.
    sources : array-like of shape (n_samples,)
        Where each row comes from.
    columns : sequence of str, default=None
        Names of the columns, where ``X`` has none of its own.
    cv : int, default=5
        Ordinary folds, with the shares of sources and classes. Of more than ten sources, groups
        of about a tenth of the rows are left out together.
    n_jobs : int, default=None
        Processes, as in joblib; the figures are the same for any number.
    random_state : int, RandomState instance or None, default=None
        Draws the folds.
    progress : callable, default=None
        Called as ``progress(done, total)`` at the start and after each fit.

    Returns
    -------
    SourceAudit
        Figures and sentences; ``print`` shows both.

    Notes
    -----
    With errors e of S sources that were left out, the mean over sources such as these lies in
    mean(e) ± t(.975; S - 1) sd(e) / sqrt(S - 1), and nine in ten new sources should stay below
    mean(e) + t(.9; S - 1) sd(e) sqrt(1 + 1 / S). Each was left out of a model that had all the
    others; of few sources, where one more teaches much, the promise is on the cautious side.

    Errors, slopes and offsets of single sources are drawn towards each other
    (:math:`N(\mu, \tau^2)`, both unknown), so that small sources do not seem worse than they are.
    A source of one class has these figures too, from what the others say.

    A source is suspect if the probabilities of the model that has not seen it fit better the
    wrong way round (of two classes: exchanged) than as they are, with the odds of 20 S to 1. Slope
    and offset are free both ways, so that other shares of the classes make nobody suspect. Of
    several, the most suspect is left out of all training before the others are looked at again.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from ensemblage.datasets import make_multi_source
    >>> from ensemblage.sources import source_audit
    >>> X, y, sources = make_multi_source(5, n_samples=500, random_state=0, return_sources=True)
    >>> audit = source_audit(LogisticRegression(), X, y, sources, random_state=0)
    >>> audit.new_error > audit.error
    True
    """
    rows = _checked(X, y, sources, columns)
    seed = draw_seeds(random_state, 1)[0]
    ordinary = ordinary_folds(rows.labels, rows.sources, cv, seed)
    without = source_folds(rows.sources, MOST_LEFT_OUT)
    step = _counter(len(ordinary) + len(without) + RECOGNISING_FOLDS, progress)
    held = Held(
        held_out(estimator, X, rows.labels, ordinary, n_jobs=n_jobs, step=step),
        held_out(estimator, X, rows.labels, without, n_jobs=n_jobs, step=step),
    )

    def predict(dropped: Sequence[int]) -> HeldOut:
        folds = without_sources(without, rows.sources, dropped)
        return held_out(estimator, X, rows.labels, folds, n_jobs=n_jobs)

    suspects = suspect_sources(held.outside, rows.labels, rows.sources, predict)
    audited = audited_sources(rows, held, suspects)
    worst = max(range(len(audited)), key=lambda s: audited[s].left_out_log_loss)
    recalibrated = recalibrated_loss(held.outside, rows.labels, rows.of(worst))
    return SourceAudit(
        sources=audited,
        label=rows.classes.tolist()[compared_class(held.outside, rows.labels)],
        **promised(audited),
        recognised=_recognised(rows, seed, n_jobs, step),
        recognised_by_chance=float(np.bincount(rows.sources).max() / len(rows.sources)),
        shifts=_shifts(rows),
        worst=audited[worst].name,
        remedy=_remedy(audited[worst], recalibrated),
    )


def _checked(X: Any, y: Any, sources: Any, columns: Sequence[str] | None) -> Rows:
    """Refuse what cannot be audited, before any fit."""
    labels = column_or_1d(y, warn=True)
    check_consistent_length(X, labels)
    check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y holds one class only, {classes.tolist()[0]!r}: nothing is predicted.")
    names, numbers = number_sources(sources, labels)
    if len(names) < 2:
        raise ValueError(f"sources holds {len(names)} source; an audit needs two or more.")
    if len(names) > len(labels) / 2:
        raise ValueError(
            f"sources holds {len(names)} sources for {len(labels)} rows: most have one row, which "
            "tells nothing about a source. Name a column that tells where rows come from."
        )
    named = columns if columns is not None else getattr(X, "columns", None)
    shown = [f"x{j}" for j in range(np.shape(X)[1])] if named is None else list(map(str, named))
    sources_shown = [str(name) for name in names]
    return Rows(X, codes.astype(np.int64), numbers, classes, sources_shown, shown)


def _counter(total: int, progress: Callable[[int, int], Any] | None) -> Callable[[], None]:
    """Tell that nothing is done yet; give what tells of one more."""
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    if progress is not None:
        progress(0, total)
    return step


def audited_sources(rows: Rows, held: Held, suspects: Sequence[int]) -> tuple[AuditedSource, ...]:
    """Put together what is known of each source."""
    inside, outside = held
    label = compared_class(outside, rows.labels)
    counts = np.bincount(rows.sources).astype(float)
    wrong = rows.means(outside.errors(rows.labels))
    expected = shrink_shares(wrong * counts, counts)
    slopes, offsets = site_calibrations(outside, rows.labels, rows.sources, label)
    found = {
        "error": rows.means(inside.errors(rows.labels)),
        "log_loss": rows.means(inside.losses(rows.labels)),
        "left_out_error": wrong,
        "left_out_log_loss": rows.means(outside.losses(rows.labels)),
        "expected": expected.values, "expected_low": expected.low, "expected_high": expected.high,
        "observed": rows.means(rows.labels == label),
        "predicted": rows.means(outside.shares[:, label]),
        "slope": np.exp(slopes.values), "slope_low": np.exp(slopes.low),
        "slope_high": np.exp(slopes.high),
        "offset": offsets.values, "offset_low": offsets.low, "offset_high": offsets.high,
        "coverage": coverages(outside, rows.labels, rows.sources, NINE_IN_TEN),
    }  # fmt: skip
    return tuple(
        AuditedSource(
            name=name, n_rows=int(counts[s]), suspect=s in suspects,
            **{figure: float(values[s]) for figure, values in found.items()},
        )
        for s, name in enumerate(rows.names)
    )  # fmt: skip


def promised(audited: Sequence[AuditedSource]) -> dict[str, float]:
    """Tell what to expect of known sources and of new ones, each source counting alike."""
    errors = np.array([each.left_out_error for each in audited])
    low, high = mean_bounds(errors)
    return {
        "error": float(np.mean([each.error for each in audited])),
        "log_loss": float(np.mean([each.log_loss for each in audited])),
        "new_error": float(errors.mean()),
        "new_error_low": max(0.0, low),
        "new_error_high": min(1.0, high),
        "new_log_loss": float(np.mean([each.left_out_log_loss for each in audited])),
        "error_bound": min(1.0, new_bound(errors, NINE_IN_TEN)),
    }


def _recognised(rows: Rows, seed: int, n_jobs: int | None, step: Callable[[], Any]) -> float:
    """Share of the rows whose source a forest tells from the columns, fold by fold."""
    rng = np.random.default_rng(seed)
    some = np.sort(rng.permutation(len(rows.sources))[:RECOGNISED_ROWS])
    codes = np.unique(rows.sources[some], return_inverse=True)[1].astype(np.int64)
    forest = RandomForestClassifier(100, min_samples_leaf=3, random_state=seed)
    model = make_pipeline(TableEncoder(), forest)
    folds = deal_folds(codes, RECOGNISING_FOLDS, rng)
    X = _safe_indexing(rows.X, some)
    found = held_out(model, X, codes, folds, n_jobs=n_jobs, step=step)
    return float(1 - found.errors(codes).mean())


def _shifts(rows: Rows) -> tuple[ColumnShift, ...]:
    X = rows.X if hasattr(rows.X, "columns") else np.asarray(rows.X)
    found = [column_shift(each, rows.sources, rows.names) for each in read_columns(X, rows.columns)]
    return tuple(sorted(found, key=lambda each: -each.strength)[:MOST_SHIFTS])


def _remedy(worst: AuditedSource, recalibrated: float) -> str:
    """Say what would help a source most: other labels, a shift, or rows of its own."""
    before, after = worst.left_out_log_loss, worst.log_loss
    if worst.suspect:
        return "check its labels and codes before anything else."
    if recalibrated < before - 0.5 * max(before - after, 0.05 * before):
        return (
            f"labels of some of its rows, to recalibrate by, lower its log loss from {before:.3f} "
            f"to {recalibrated:.3f}."
        )
    if after < 0.95 * before:
        return (
            f"its rule differs; with rows of its own in training its log loss falls from "
            f"{before:.3f} to {after:.3f}."
        )
    return f"rows of its own hardly help (log loss {before:.3f}, then {after:.3f}): it is hard."
