"""The performance of a model in a source that it has never seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from ensemblage._core import (
    PROBABILITY_FLOOR,
    Field,
    Fold,
    Heading,
    TableBlock,
    deal_folds,
    draw_seeds,
    html_table,
    iterate_tasks,
    safe_indexing,
    text_table,
    write_number,
)
from ensemblage.datasets import MISSING_CODE, Column, TableEncoder, read_columns
from ensemblage.sources._calibration import CalibrationPrior, as_log_proba, fit_calibration
from ensemblage.sources._random_effects import (
    Shrunk,
    mean_limits,
    shrink,
    shrink_shares,
    upper_prediction_limit,
)
from ensemblage.sources._source_codes import balanced_folds, encode_sources, source_folds

Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

WEAK_PRIOR = CalibrationPrior(slope=1.0, intercept=2.5)
"""So wide that a source's own rows decide; without any, separable rows would have no estimate."""
WIDE_INTERCEPT_PRIOR = CalibrationPrior(intercept=2.5)
"""So wide that a source in which a class is rarer or more frequent is not called inverted."""
EVIDENCE_RATIO = 20.0
"""One false alarm in so many audits, by evidence that is shared among the sources."""
RECALIBRATION_FOLDS = 5
MAX_LEFT_OUT_FOLDS = 10
"""More sources than these are left out in groups."""
MAX_RECOGNITION_ROWS = 5_000
"""Rows by which the accuracy of predicting the source is estimated."""
RECOGNITION_FOLDS = 3
MAX_SHIFTS = 5
"""Columns listed."""
COVERAGE = 0.9
"""Of prediction sets, and of the upper limit for a new source."""
TABLE_WIDTH = 120
"""Characters."""
LEGEND = (
    "Left out: as if the source were new; likely: bounds of that error with 95 %, small sources "
    "drawn towards the others. Rate: share of the class, observed and as predicted when left out. "
    "Slope and offset: what would calibrate the log odds then. Covered: by prediction sets that "
    "cover 90 % elsewhere."
)


@dataclass(frozen=True)
class ColumnShift:
    """How much a column differs between sources.

    Parameters
    ----------
    column : str
        Its name.
    strength : float
        0 if it is alike everywhere, 1 if it is determined by the source: for a numeric column the
        square root of the share of the ranks' variance that lies between sources, for a
        categorical one Cramér's V, both corrected for chance.
    source : str
        The source that differs most.
    in_source, in_others : str
        What is typical there and in the other sources: the median (or the mean, of equal medians),
        or the category that is most frequent in comparison, with its share.
    """

    column: str
    strength: float
    source: str
    in_source: str
    in_others: str


def column_shift(column: Column, sources: Integers, names: list[str]) -> ColumnShift:
    """Measure one column; a missing value is a category of its own."""
    if column.numbers is not None and np.isfinite(column.numbers).any():
        return _numeric_shift(column.name, column.numbers, sources, names)
    categories = [str(each) for each in column.occurring()]
    codes = column.match(column.occurring())
    codes = np.where(codes == MISSING_CODE, len(categories), codes)
    return _category_shift(column.name, codes, [*categories, "missing"], sources, names)


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
    in_source, in_others = _typical(values[own == far], values[own != far])
    n_groups, omega = int((counts > 0).sum()), 0.0
    if total > 0 and len(values) > n_groups:  # omega squared: less what chance would put there
        noise = (total - between) / (len(values) - n_groups)
        omega = max(0.0, (between - (n_groups - 1) * noise) / (total + noise))
    return ColumnShift(name, float(np.sqrt(omega)), names[far], in_source, in_others)


def _typical(*sides: NDArray[Any]) -> list[str]:
    """Give medians of two groups, or means where those are the same."""
    if any(len(side) == 0 for side in sides):
        return ["no value", "no value"]
    first, second = (np.median(side) for side in sides)
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


def errors(proba: Doubles, labels: Integers) -> NDArray[np.bool_]:
    """Mark rows whose class is not the most probable one."""
    return np.asarray(proba.argmax(axis=1) != labels)


def log_losses(proba: Doubles, labels: Integers) -> Doubles:
    """Minus the log probability of each row's class."""
    true = proba[np.arange(len(labels)), labels]
    return np.asarray(-np.log(np.clip(true, PROBABILITY_FLOOR, 1.0)))


def drop_from_training(
    folds: Sequence[Fold], sources: Integers, dropped: Sequence[int]
) -> list[Fold]:
    """Leave sources out of all training; a fold that has no other keeps its rows."""
    kept = [Fold(fold.train[~np.isin(sources[fold.train], dropped)], fold.test) for fold in folds]
    return [new if len(new.train) else old for new, old in zip(kept, folds, strict=True)]


def cross_predict(
    estimator: Any,
    X: Any,
    labels: Integers,
    folds: Sequence[Fold],
    *,
    n_jobs: int | None = None,
    step: Callable[[], Any] | None = None,
) -> Doubles:
    """Give out-of-fold probabilities, (n_rows, n_classes); ``step`` is called after each fit."""
    n_classes = int(labels.max()) + 1
    tasks = [
        (
            clone(estimator), safe_indexing(X, fold.train), labels[fold.train],
            safe_indexing(X, fold.test), n_classes,
        )
        for fold in folds
    ]  # fmt: skip
    proba = np.zeros((len(labels), n_classes))
    for number, found in iterate_tasks(_fit_and_predict, tasks, n_jobs):
        proba[folds[number].test] = found
        if step is not None:
            step()
    return proba


def _fit_and_predict(estimator: Any, X: Any, labels: Integers, new: Any, n_classes: int) -> Doubles:
    out = np.zeros((len(new), n_classes))
    present = np.unique(labels)
    if len(present) == 1:
        out[:, present[0]] = 1.0
        return out
    fitted = estimator.fit(X, labels)
    out[:, np.asarray(fitted.classes_, dtype=int)] = fitted.predict_proba(new)
    return out


def reference_class(labels: Integers, n_classes: int) -> int:
    """Choose the class whose rates are reported: the second of two, else the most frequent."""
    return 1 if n_classes == 2 else int(np.bincount(labels, minlength=n_classes).argmax())


def calibrate_sources(
    proba: Doubles, labels: Integers, sources: Integers, label: int
) -> tuple[Shrunk, Shrunk]:
    """Give log slopes and offsets of the sources; an offset is of the class against the others."""
    log_proba = as_log_proba(proba)
    n_classes = log_proba.shape[1]
    contrast = np.full(n_classes, -1 / (n_classes - 1))
    contrast[label] = 1.0
    found = [
        fit_calibration(log_proba[own], labels[own], np.ones(int(own.sum())), WEAK_PRIOR)
        for own in (sources == s for s in range(int(sources.max()) + 1))
    ]
    slopes = [(np.log(each.slope), each.covariance[0, 0], WEAK_PRIOR.slope**2) for each in found]
    prior = WEAK_PRIOR.intercept**2 * float(contrast @ contrast)
    offsets = [
        (contrast @ each.intercepts, contrast @ each.covariance[1:, 1:] @ contrast, prior)
        for each in found
    ]
    return _replace_prior(slopes, skewed=True), _replace_prior(offsets)


def _replace_prior(estimates: list[tuple[Any, Any, float]], *, skewed: bool = False) -> Shrunk:
    """Take out the weak prior of each source, and shrink towards the other sources instead.

    Estimates are tuples of a value, its variance and that of the prior.
    """
    values, variances, priors = np.array(estimates).T
    precision = 1 / variances - 1 / priors
    informed = precision > 1e-6 / priors
    own = np.where(informed, 1 / np.where(informed, precision, 1.0), np.inf)
    return shrink(np.where(informed, values / variances * own, 0.0), own, skewed=skewed)


def coverages(proba: Doubles, labels: Integers, sources: Integers, coverage: float) -> Doubles:
    """Share of each source's rows whose class is in a prediction set made for other sources.

    The set has the classes of at least a certain probability: that at which the other sources'
    rows are covered as often as asked for.
    """
    true = proba[np.arange(len(labels)), labels]
    found = []
    for s in range(int(sources.max()) + 1):
        others = true[sources != s]
        quantile = 1 - min(1.0, coverage * (1 + 1 / len(others)))
        found.append((true[sources == s] >= np.quantile(others, quantile, method="lower")).mean())
    return np.array(found)


def recalibrated_loss(proba: Doubles, labels: Integers) -> float:
    """Log loss of a source whose probabilities are recalibrated by its other rows, by folds."""
    log_proba, losses = as_log_proba(proba), np.zeros(len(labels))
    for train, test in deal_folds(labels, RECALIBRATION_FOLDS, np.random.default_rng(0)):
        found = fit_calibration(log_proba[train], labels[train], np.ones(len(train))).shrunken()
        losses[test] = -found.log_proba(log_proba[test])[np.arange(len(test)), labels[test]]
    return float(losses.mean())


def find_inverted(
    proba: Doubles,
    labels: Integers,
    sources: Integers,
    predict: Callable[[Sequence[int]], Doubles],
) -> list[int]:
    """Find sources whose labels or codes seem inverted, the surest first; judge again without it.

    An inverted source misleads the models of the others, so that several may look wrong.
    ``predict`` leaves sources out of all training. Of two sources nobody can tell which it is.
    """
    remaining = list(range(int(sources.max()) + 1))
    threshold = np.log(EVIDENCE_RATIO * len(remaining))
    found: list[int] = []
    while True:
        log_proba = as_log_proba(proba)
        evidence = {s: inversion_evidence(log_proba[sources == s], labels[sources == s])
                    for s in remaining}  # fmt: skip
        inverted = [s for s in remaining if evidence[s] > threshold]
        if len(inverted) < 1 or len(remaining) <= 2:
            return sorted(found + inverted)
        surest = max(inverted, key=lambda s: evidence[s])
        remaining.remove(surest)
        found.append(surest)
        if inverted == [surest]:
            return sorted(found)
        proba = predict(found)


def inversion_evidence(log_proba: Doubles, labels: Integers) -> float:
    """Log evidence that probabilities are inverted for these rows, against as they are.

    Both ways may be shifted and stretched; of two classes, inverted is that of the other class.
    """
    ones = np.ones(len(labels))
    as_is, inverted = (
        fit_calibration(each, labels, ones, WIDE_INTERCEPT_PRIOR).log_evidence
        for each in (log_proba, log_softmax(-log_proba, axis=1))
    )
    return inverted - as_is


@dataclass(frozen=True)
class AuditedSource:
    """Estimates for one source.

    Parameters
    ----------
    name : str
        The source.
    n_rows : int
        Its rows.
    error, log_loss : float
        By cross-validation, with other rows of the source in training.
    left_out_error, left_out_log_loss : float
        With the source left out of training, as if it were new.
    shrunken_error, shrunken_error_low, shrunken_error_high : float
        The error when left out, shrunk towards that of the other sources. Here and below, limits
        hold with a probability of 95 %.
    observed_rate, mean_predicted : float
        Share of the reference class, and its mean probability when left out.
    slope, slope_low, slope_high : float
        Calibration when left out: log probabilities should be multiplied by the slope; below 1
        the model is overconfident there.
    offset, offset_low, offset_high : float
        What should be added to the log odds of the reference class.
    coverage : float
        Share of rows whose class is in prediction sets that cover 90 % elsewhere.
    inverted : bool
        Whether the rule of the other sources holds inverted here: labels or codes may be
        inverted.
    """

    name: str
    n_rows: int
    error: float
    log_loss: float
    left_out_error: float
    left_out_log_loss: float
    shrunken_error: float
    shrunken_error_low: float
    shrunken_error_high: float
    observed_rate: float
    mean_predicted: float
    slope: float
    slope_low: float
    slope_high: float
    offset: float
    offset_low: float
    offset_high: float
    coverage: float
    inverted: bool = False


@dataclass(frozen=True)
class SourceAudit:
    """Expected performance of a model on known sources and on new ones.

    Made by :func:`source_audit`; it prints as sentences and a table.

    Parameters
    ----------
    sources : tuple of AuditedSource
        One each, in the order of their names: ``name``, ``n_rows``, ``error``, ``left_out_error``
        and so on, as in the table.
    reference_class : object
        The class that rates and offsets are of.
    error, log_loss : float
        By cross-validation, averaged over the sources.
    new_error : float
        For a new source: averaged over sources that were left out.
    new_error_low, new_error_high : float
        95 % confidence limits of that error.
    new_log_loss : float
        For a new source.
    error_upper_90 : float
        Upper 90 % prediction limit of a new source's error.
    source_accuracy, source_majority_rate : float
        Share of rows whose source a forest predicts from the columns, and the largest source's
        share.
    column_shifts : tuple of ColumnShift
        The columns that differ most between sources: ``column``, ``strength``, ``source``,
        ``in_source``, ``in_others``.
    worst : str
        The source with the highest log loss when left out.
    recommendation : str
        What would help it most.
    """

    sources: tuple[AuditedSource, ...]
    reference_class: Any
    error: float
    log_loss: float
    new_error: float
    new_error_low: float
    new_error_high: float
    new_log_loss: float
    error_upper_90: float
    source_accuracy: float
    source_majority_rate: float
    column_shifts: tuple[ColumnShift, ...]
    worst: str
    recommendation: str

    @property
    def ratio(self) -> float:  # numpydoc ignore=RT01
        """How many times larger the error is for new sources than by cross-validation."""
        return self.new_error / self.error if self.error > 0 else float("inf")

    @property
    def inverted_sources(self) -> tuple[str, ...]:  # numpydoc ignore=RT01
        """Sources whose labels or codes may be inverted."""
        return tuple(each.name for each in self.sources if each.inverted)

    @property
    def summary(self) -> str:  # numpydoc ignore=RT01
        """What to expect of a new source, in one sentence."""
        expected = (
            f"On a new source expect an error of {self.new_error:.3f} (averaged over many: "
            f"{self.new_error_low:.2f} to {self.new_error_high:.2f}); ordinary folds promise "
            f"{self.error:.3f}."
        )
        if self.error_upper_90 >= 1:
            return f"{expected} {len(self.sources)} sources are too few to tell how bad it can get."
        return f"{expected} Nine in ten new sources should stay below {self.error_upper_90:.3f}."

    @property
    def sentences(self) -> tuple[str, ...]:  # numpydoc ignore=RT01
        """The main findings."""
        found = [self.summary]
        if self.inverted_sources:
            found.append(
                f"Look at {', '.join(self.inverted_sources)} first: what the other sources teach "
                "is wrong way round there. Labels or codes may be inverted."
            )
        found.append(
            f"The columns tell the source of {self.source_accuracy:.0%} of the rows "
            f"(the largest source alone: {self.source_majority_rate:.0%})."
        )
        if self.column_shifts and self.column_shifts[0].strength > 0:
            first = self.column_shifts[0]
            found.append(
                f"{first.column} differs most between sources: {first.in_source} in "
                f"{first.source}, {first.in_others} elsewhere."
            )
        found.append(f"Worst when left out is {self.worst}: {self.recommendation}")
        return tuple(found)

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
                f"{each.shrunken_error_low:.2f}-{each.shrunken_error_high:.2f}",
                f"{each.log_loss:.3f}", f"{each.left_out_log_loss:.3f}",
                f"{each.observed_rate:.0%}", f"{each.mean_predicted:.0%}",
                f"{each.slope:.2f}", f"{each.offset:+.2f}", f"{each.coverage:.0%}",
            )  # fmt: skip
            name = Field(each.name, tag="suspect" if each.inverted else "")
            rows.append((name, *(Field(text) for text in texts)))
        return TableBlock(columns, rows, "Sources", legend=LEGEND)

    def __str__(self) -> str:
        return "\n".join([*self.sentences, "", text_table(self.table(), TABLE_WIDTH)])

    def _repr_html_(self) -> str:
        sentences = "".join(f"<p>{escape(each)}</p>" for each in self.sentences)
        return sentences + html_table(self.table())


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
    r"""Estimate the performance of a classifier on known sources, and on new ones.

    Cross-validation has rows of every source in training, so it estimates the performance on
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
        Folds of the cross-validation, with the shares of sources and classes. Of more than ten
        sources, groups of about a tenth of the rows are left out together.
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
    With errors e of S sources that were left out, the mean over sources such as these has the
    95 % confidence interval mean(e) ± t(.975; S - 1) sd(e) / sqrt(S - 1), and the upper 90 %
    prediction limit of a new source is mean(e) + t(.9; S - 1) sd(e) sqrt(1 + 1 / S). Each was left
    out of a model that had all the others; of few sources, where one more teaches much, these are
    on the cautious side.

    Errors, slopes and offsets of single sources are shrunk towards their mean
    (:math:`N(\mu, \tau^2)`, both unknown), so that small sources do not seem worse than they are.
    A source of one class has these figures too, from what the others say.

    A source counts as inverted if the probabilities of the model that has not seen it fit better
    inverted (of two classes: exchanged) than as they are, with odds of 20 S to 1. Slope and offset
    are free both ways, so that other shares of the classes invert no source. Of several, the surest
    is left out of all training before the others are judged again.

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
    classes, labels, names, codes = _validate(X, y, sources)
    seed = draw_seeds(random_state, 1)[0]
    folds = balanced_folds(labels, codes, cv, seed)
    left_out_folds = source_folds(codes, MAX_LEFT_OUT_FOLDS)
    step = _counter(len(folds) + len(left_out_folds) + RECOGNITION_FOLDS, progress)
    known = cross_predict(estimator, X, labels, folds, n_jobs=n_jobs, step=step)
    new = cross_predict(estimator, X, labels, left_out_folds, n_jobs=n_jobs, step=step)

    def predict_without(dropped: Sequence[int]) -> Doubles:
        kept = drop_from_training(left_out_folds, codes, dropped)
        return cross_predict(estimator, X, labels, kept, n_jobs=n_jobs)

    inverted = find_inverted(new, labels, codes, predict_without)
    audited = audit_sources(known, new, labels, codes, names, inverted)
    worst = max(range(len(audited)), key=lambda s: audited[s].left_out_log_loss)
    recalibrated = recalibrated_loss(new[codes == worst], labels[codes == worst])
    shown = columns if columns is not None else getattr(X, "columns", None)
    shown = [f"x{j}" for j in range(np.shape(X)[1])] if shown is None else list(map(str, shown))
    read = read_columns(X if hasattr(X, "columns") else np.asarray(X), shown)
    shifts = sorted((column_shift(each, codes, names) for each in read), key=lambda s: -s.strength)
    return SourceAudit(
        sources=audited,
        reference_class=classes.tolist()[reference_class(labels, len(classes))],
        **summarise_errors(audited),
        source_accuracy=_source_accuracy(X, codes, seed, n_jobs, step),
        source_majority_rate=float(np.bincount(codes).max() / len(codes)),
        column_shifts=tuple(shifts[:MAX_SHIFTS]),
        worst=audited[worst].name,
        recommendation=_recommendation(audited[worst], recalibrated),
    )


def _validate(X: Any, y: Any, sources: Any) -> tuple[NDArray[Any], Integers, list[str], Integers]:
    """Give classes and labels, names and codes of sources; refuse what cannot be audited."""
    y = column_or_1d(y, warn=True)
    check_consistent_length(X, y)
    check_classification_targets(y)
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y holds one class only, {classes.tolist()[0]!r}: nothing is predicted.")
    names, codes = encode_sources(sources, y)
    if len(names) < 2:
        raise ValueError(f"sources holds {len(names)} source; an audit needs two or more.")
    if len(names) > len(y) / 2:
        raise ValueError(
            f"sources holds {len(names)} sources for {len(y)} rows: most have one row, which "
            "tells nothing about a source. Name a column that tells where rows come from."
        )
    return classes, labels.astype(np.int64), [str(name) for name in names], codes


def _counter(total: int, progress: Callable[[int, int], Any] | None) -> Callable[[], None]:
    """Report that nothing is done yet; give what reports one more."""
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    if progress is not None:
        progress(0, total)
    return step


def audit_sources(
    known: Doubles,
    new: Doubles,
    labels: Integers,
    sources: Integers,
    names: Sequence[str],
    inverted: Sequence[int],
) -> tuple[AuditedSource, ...]:
    """Put the figures of each source together.

    ``known`` are out-of-fold probabilities, ``new`` those with the row's source left out.
    """
    counts = np.bincount(sources).astype(float)

    def means(values: NDArray[Any]) -> Doubles:
        return np.asarray(np.bincount(sources, values.astype(float)) / counts)

    label = reference_class(labels, new.shape[1])
    left_out_error = means(errors(new, labels))
    shrunken = shrink_shares(left_out_error * counts, counts)
    slopes, offsets = calibrate_sources(new, labels, sources, label)
    figures = {
        "error": means(errors(known, labels)),
        "log_loss": means(log_losses(known, labels)),
        "left_out_error": left_out_error,
        "left_out_log_loss": means(log_losses(new, labels)),
        "shrunken_error": shrunken.values,
        "shrunken_error_low": shrunken.low,
        "shrunken_error_high": shrunken.high,
        "observed_rate": means(labels == label),
        "mean_predicted": means(new[:, label]),
        "slope": np.exp(slopes.values),
        "slope_low": np.exp(slopes.low),
        "slope_high": np.exp(slopes.high),
        "offset": offsets.values,
        "offset_low": offsets.low,
        "offset_high": offsets.high,
        "coverage": coverages(new, labels, sources, COVERAGE),
    }
    return tuple(
        AuditedSource(
            name=name, n_rows=int(counts[s]), inverted=s in inverted,
            **{figure: float(values[s]) for figure, values in figures.items()},
        )
        for s, name in enumerate(names)
    )  # fmt: skip


def summarise_errors(audited: Sequence[AuditedSource]) -> dict[str, float]:
    """Give what to expect of known sources and of new ones, each source counting alike."""
    left_out = np.array([each.left_out_error for each in audited])
    low, high = mean_limits(left_out)
    return {
        "error": float(np.mean([each.error for each in audited])),
        "log_loss": float(np.mean([each.log_loss for each in audited])),
        "new_error": float(left_out.mean()),
        "new_error_low": max(0.0, low),
        "new_error_high": min(1.0, high),
        "new_log_loss": float(np.mean([each.left_out_log_loss for each in audited])),
        "error_upper_90": min(1.0, upper_prediction_limit(left_out, COVERAGE)),
    }


def _source_accuracy(
    X: Any, sources: Integers, seed: int, n_jobs: int | None, step: Callable[[], Any]
) -> float:
    """Out-of-fold accuracy of a forest that predicts the source from the columns."""
    rng = np.random.default_rng(seed)
    some = np.sort(rng.permutation(len(sources))[:MAX_RECOGNITION_ROWS])
    codes = np.unique(sources[some], return_inverse=True)[1].astype(np.int64)
    forest = RandomForestClassifier(100, min_samples_leaf=3, random_state=seed)
    model = make_pipeline(TableEncoder(), forest)
    folds = deal_folds(codes, RECOGNITION_FOLDS, rng)
    proba = cross_predict(model, safe_indexing(X, some), codes, folds, n_jobs=n_jobs, step=step)
    return float(1 - errors(proba, codes).mean())


def _recommendation(worst: AuditedSource, recalibrated: float) -> str:
    """Say what would help a source most: other labels, recalibration, or rows of its own."""
    before, after = worst.left_out_log_loss, worst.log_loss
    if worst.inverted:
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
