"""Validation of a classifier at known sources and at new ones."""

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
    refuse_missing_targets,
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
"""So wide that it hardly matters; without a prior, separable rows would have no estimate."""
WIDE_INTERCEPT_PRIOR = CalibrationPrior(intercept=2.5)
"""So wide that a source with another class frequency is not taken for inverted."""
EVIDENCE_RATIO = 20.0
"""One false positive in so many audits, divided among the sources (Bonferroni)."""
RECALIBRATION_FOLDS = 5
MAX_LEFT_OUT_FOLDS = 10
"""With more sources than these, groups of sources are left out."""
MAX_IDENTIFICATION_ROWS = 5_000
"""Rows used to estimate how well the source is predicted from the features."""
IDENTIFICATION_FOLDS = 3
MAX_SHIFTS = 5
"""Columns reported."""
COVERAGE = 0.9
"""Of prediction sets, and probability of the prediction limit for a new source."""
TABLE_WIDTH = 120
"""Characters."""
LEGEND = (
    "CV: cross-validation, rows of every source in training. LSO: leave-source-out validation. "
    "95% CI: of the LSO error, by partial pooling over sources. Observed rate and mean predicted "
    "risk (LSO): of class {reference_class!r}. Calibration slope and intercept: of the LSO "
    "log-odds, ideally 1 and 0. Coverage: of prediction sets with 90% coverage at other sources."
)


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
        return _numeric_shift(column.name, column.numbers, sources, names)
    categories = [str(each) for each in column.occurring()]
    codes = column.match(column.occurring())
    codes = np.where(codes == MISSING_CODE, len(categories), codes)
    return _category_shift(column.name, codes, [*categories, "missing"], sources, names)


def _numeric_shift(
    name: str, column: NDArray[np.float64], sources: Integers, names: list[str]
) -> ColumnShift:
    known = np.isfinite(column)
    values, own = column[known], sources[known]
    ranks = rankdata(values)
    counts = np.bincount(own, minlength=len(names))
    means = np.bincount(own, ranks, minlength=len(names)) / np.maximum(counts, 1)
    total = float(((ranks - ranks.mean()) ** 2).sum())
    between = float(counts @ (means - ranks.mean()) ** 2)
    far = np.where(counts > 0, np.abs(means - ranks.mean()) * np.sqrt(counts), -1.0).argmax()
    in_source, in_others = _typical(values[own == far], values[own != far])
    n_groups, omega = int((counts > 0).sum()), 0.0
    if total > 0 and len(values) > n_groups:  # omega squared, corrected for chance
        noise = (total - between) / (len(values) - n_groups)
        omega = max(0.0, (between - (n_groups - 1) * noise) / (total + noise))
    return ColumnShift(name, float(np.sqrt(omega)), names[far], in_source, in_others)


def _typical(*sides: NDArray[Any]) -> list[str]:
    """Give the medians of two groups, or the means if the medians are equal."""
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
    """Mark misclassified rows."""
    return np.asarray(proba.argmax(axis=1) != labels)


def log_losses(proba: Doubles, labels: Integers) -> Doubles:
    """Minus the log probability of each row's class."""
    true = proba[np.arange(len(labels)), labels]
    return np.asarray(-np.log(np.clip(true, PROBABILITY_FLOOR, 1.0)))


def drop_from_training(
    folds: Sequence[Fold], sources: Integers, dropped: Sequence[int]
) -> list[Fold]:
    """Leave sources out of all training; a fold without other sources keeps its rows."""
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
    """Give calibration of each source: log slopes, and intercepts of the class against the rest."""
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
    intercepts = [
        (contrast @ each.intercepts, contrast @ each.covariance[1:, 1:] @ contrast, prior)
        for each in found
    ]
    return _replace_prior(slopes, skewed=True), _replace_prior(intercepts)


def _replace_prior(estimates: list[tuple[Any, Any, float]], *, skewed: bool = False) -> Shrunk:
    """Remove the weak prior of each source, and shrink towards the mean over sources instead.

    Estimates are tuples of a value, its variance and the variance of the prior.
    """
    values, variances, priors = np.array(estimates).T
    precision = 1 / variances - 1 / priors
    informed = precision > 1e-6 / priors
    own = np.where(informed, 1 / np.where(informed, precision, 1.0), np.inf)
    return shrink(np.where(informed, values / variances * own, 0.0), own, skewed=skewed)


def coverages(proba: Doubles, labels: Integers, sources: Integers, coverage: float) -> Doubles:
    """Coverage of prediction sets at each source, calibrated on the other sources.

    A set has the classes whose probability is above the threshold that gives the other sources'
    rows the nominal coverage.
    """
    true = proba[np.arange(len(labels)), labels]
    found = []
    for s in range(int(sources.max()) + 1):
        others = true[sources != s]
        quantile = 1 - min(1.0, coverage * (1 + 1 / len(others)))
        found.append((true[sources == s] >= np.quantile(others, quantile, method="lower")).mean())
    return np.array(found)


def recalibrated_loss(proba: Doubles, labels: Integers) -> float:
    """Log loss of a source after recalibration on its own rows, by cross-validation."""
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
    """Find sources whose labels or codes seem inverted, one at a time.

    An inverted source distorts the models for the others. So the one with the strongest evidence is
    left out of all training by ``predict``, and the others are tested again. With two sources it
    cannot be determined which of them is inverted.
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
        strongest = max(inverted, key=lambda s: evidence[s])
        remaining.remove(strongest)
        found.append(strongest)
        if inverted == [strongest]:
            return sorted(found)
        proba = predict(found)


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


@dataclass(frozen=True)
class AuditedSource:
    """Estimates for one source.

    Parameters
    ----------
    name : str
        The source.
    n_rows : int
        Its rows.
    cv_error, cv_log_loss : float
        By cross-validation, with other rows of the source in training.
    leave_source_out_error, leave_source_out_log_loss : float
        With the source left out of training.
    shrunken_error : float
        Leave-source-out error, shrunk towards the mean over sources.
    shrunken_error_ci_low, shrunken_error_ci_high : float
        95 % confidence interval of the shrunken error.
    observed_rate : float
        Share of the reference class.
    mean_predicted_risk : float
        Mean leave-source-out probability of the reference class.
    calibration_slope : float
        Of the leave-source-out log-odds; below 1 the model is overconfident at this source.
    calibration_slope_ci_low, calibration_slope_ci_high : float
        95 % confidence interval of the calibration slope.
    calibration_intercept : float
        Of the log-odds of the reference class; above 0 its probabilities are too low.
    calibration_intercept_ci_low, calibration_intercept_ci_high : float
        95 % confidence interval of the calibration intercept.
    coverage : float
        Coverage of prediction sets that have 90 % coverage at the other sources.
    inverted : bool
        Whether the labels fit inverted leave-source-out predictions better: labels or codes may
        be inverted.
    """

    name: str
    n_rows: int
    cv_error: float
    cv_log_loss: float
    leave_source_out_error: float
    leave_source_out_log_loss: float
    shrunken_error: float
    shrunken_error_ci_low: float
    shrunken_error_ci_high: float
    observed_rate: float
    mean_predicted_risk: float
    calibration_slope: float
    calibration_slope_ci_low: float
    calibration_slope_ci_high: float
    calibration_intercept: float
    calibration_intercept_ci_low: float
    calibration_intercept_ci_high: float
    coverage: float
    inverted: bool = False


@dataclass(frozen=True)
class SourceAudit:
    """Validation of a classifier at known sources and at new ones.

    Returned by :func:`source_audit`; prints a summary and a table.

    Parameters
    ----------
    sources : tuple of AuditedSource
        Validation of each source, in the order of their names: ``name``, ``n_rows``, ``cv_error``,
        ``leave_source_out_error`` and so on, as in the table.
    reference_class : object
        The class whose rates and calibration are reported.
    cv_error, cv_log_loss : float
        By cross-validation, averaged over the sources.
    leave_source_out_error : float
        Expected error at a new source: leave-source-out error, averaged over the sources.
    leave_source_out_error_ci_low, leave_source_out_error_ci_high : float
        95 % confidence interval of the expected error at a new source.
    leave_source_out_log_loss : float
        Expected log loss at a new source.
    prediction_limit : float
        Upper 90 % prediction limit of the error at one new source; 1 if the sources are too few.
    source_accuracy : float
        Accuracy of a random forest that predicts the source from the features.
    source_majority_rate : float
        Share of the largest source, the accuracy by chance.
    column_shifts : tuple of ColumnShift
        Columns that differ most between sources (covariate shift): ``column``, ``strength``,
        ``source``, ``in_source``, ``in_others``.
    worst_source : str
        The source with the highest leave-source-out log loss.
    recommendation : str
        How to improve the predictions at that source.
    """

    sources: tuple[AuditedSource, ...]
    reference_class: Any
    cv_error: float
    cv_log_loss: float
    leave_source_out_error: float
    leave_source_out_error_ci_low: float
    leave_source_out_error_ci_high: float
    leave_source_out_log_loss: float
    prediction_limit: float
    source_accuracy: float
    source_majority_rate: float
    column_shifts: tuple[ColumnShift, ...]
    worst_source: str
    recommendation: str

    @property
    def error_ratio(self) -> float:  # numpydoc ignore=RT01
        """Leave-source-out error divided by the cross-validation error."""
        return self.leave_source_out_error / self.cv_error if self.cv_error > 0 else float("inf")

    @property
    def inverted_sources(self) -> tuple[str, ...]:  # numpydoc ignore=RT01
        """Sources whose labels or codes may be inverted."""
        return tuple(each.name for each in self.sources if each.inverted)

    @property
    def summary(self) -> str:  # numpydoc ignore=RT01
        """Expected error at a new source, with its confidence interval and prediction limit."""
        low, high = self.leave_source_out_error_ci_low, self.leave_source_out_error_ci_high
        expected = (
            f"Expected error at a new source: {self.leave_source_out_error:.3f} (95% CI {low:.2f} "
            f"to {high:.2f}); cross-validation: {self.cv_error:.3f}."
        )
        if self.prediction_limit >= 1:
            return f"{expected} {len(self.sources)} sources are too few for a 90% prediction limit."
        return f"{expected} 90% prediction limit for one new source: {self.prediction_limit:.3f}."

    @property
    def sentences(self) -> tuple[str, ...]:  # numpydoc ignore=RT01
        """The main results."""
        found = [self.summary]
        if self.inverted_sources:
            found.append(
                f"Check {', '.join(self.inverted_sources)} first: the labels fit inverted "
                "leave-source-out predictions better. Labels or codes may be inverted."
            )
        found.append(
            f"Source identifiable from the features: {self.source_accuracy:.0%} of rows "
            f"(chance, the largest source: {self.source_majority_rate:.0%})."
        )
        if self.column_shifts and self.column_shifts[0].strength > 0:
            first = self.column_shifts[0]
            found.append(
                f"Largest covariate shift: {first.column} ({first.in_source} in {first.source}, "
                f"{first.in_others} in the other sources)."
            )
        found.append(
            f"Highest leave-source-out log loss: {self.worst_source}. {self.recommendation}"
        )
        return tuple(found)

    def table(self) -> TableBlock:
        """Give the validation of each source as a table.

        Returns
        -------
        TableBlock
            One row per source.
        """
        heads = ("rows", "CV error", "LSO error", "95% CI", "CV log loss", "LSO log loss",
                 "observed rate", "mean predicted risk", "calibration slope",
                 "calibration intercept", "coverage")  # fmt: skip
        columns = (Heading("source"), *(Heading(head, numeric=True) for head in heads))
        rows = []
        for each in self.sources:
            texts = (
                str(each.n_rows), f"{each.cv_error:.3f}", f"{each.leave_source_out_error:.3f}",
                f"{each.shrunken_error_ci_low:.2f}-{each.shrunken_error_ci_high:.2f}",
                f"{each.cv_log_loss:.3f}", f"{each.leave_source_out_log_loss:.3f}",
                f"{each.observed_rate:.0%}", f"{each.mean_predicted_risk:.0%}",
                f"{each.calibration_slope:.2f}", f"{each.calibration_intercept:+.2f}",
                f"{each.coverage:.0%}",
            )  # fmt: skip
            name = Field(each.name, tag="inverted?" if each.inverted else "")
            rows.append((name, *(Field(text) for text in texts)))
        legend = LEGEND.format(reference_class=str(self.reference_class))
        return TableBlock(columns, rows, "Validation of each source", legend=legend)

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
    r"""Validate a classifier at known sources and at new ones.

    Cross-validation has rows of every source in training, so it estimates the performance at
    known sources. Leave-one-source-out (internal-external) cross-validation leaves each source
    out of training in turn, and estimates the performance at a new source.

    Parameters
    ----------
    estimator : classifier
        Unfitted, with ``predict_proba``. It is source-blind: the source is not among its features.
    X : array-like or dataframe of shape (n_samples, n_features)
        Rows, as the estimator takes them.
    y : array-like of shape (n_samples,)
        Classes.
    sources : array-like of shape (n_samples,)
        Source of each row.
    columns : sequence of str, default=None
        Names of the columns, where ``X`` has none of its own.
    cv : int, default=5
        Folds of the cross-validation, stratified by source and class. With more than ten sources,
        groups of sources with about a tenth of the rows are left out together.
    n_jobs : int, default=None
        Number of processes, as in joblib; results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds.
    progress : callable, default=None
        Called as ``progress(done, total)`` at the start and after each fit.

    Returns
    -------
    SourceAudit
        Estimates; ``print`` shows a summary and a table.

    Notes
    -----
    With leave-source-out errors e of S sources, the 95 % confidence interval of the mean is
    mean(e) ± t(.975; S - 1) sd(e) / sqrt(S - 1), and the upper 90 % prediction limit for one new
    source is mean(e) + t(.9; S - 1) sd(e) sqrt(1 + 1 / S). Each model is fitted without one
    source; with few sources the estimates are therefore conservative.

    Errors, calibration slopes and calibration intercepts of single sources are shrunk towards
    their mean by random effects, :math:`N(\mu, \tau^2)` with both unknown. A source of one class
    also has these estimates, from the other sources.

    A source is reported as inverted if the leave-source-out probabilities fit its labels better
    inverted (for two classes: exchanged) than as they are, with odds of 20 S to 1. Slope and
    intercept are free in both fits, so that another class frequency does not count as inversion.
    If there are several, the one with the strongest evidence is left out of all training before
    the others are tested again.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from ensemblage.datasets import make_multi_source
    >>> from ensemblage.sources import source_audit
    >>> X, y, sources = make_multi_source(5, n_samples=500, random_state=0, return_sources=True)
    >>> audit = source_audit(LogisticRegression(), X, y, sources, random_state=0)
    >>> audit.leave_source_out_error > audit.cv_error
    True
    """
    classes, labels, names, codes = _validate(X, y, sources)
    seed = draw_seeds(random_state, 1)[0]
    folds = balanced_folds(labels, codes, cv, seed)
    left_out_folds = source_folds(codes, MAX_LEFT_OUT_FOLDS)
    step = _counter(len(folds) + len(left_out_folds) + IDENTIFICATION_FOLDS, progress)
    known = cross_predict(estimator, X, labels, folds, n_jobs=n_jobs, step=step)
    new = cross_predict(estimator, X, labels, left_out_folds, n_jobs=n_jobs, step=step)

    def predict_without(dropped: Sequence[int]) -> Doubles:
        kept = drop_from_training(left_out_folds, codes, dropped)
        return cross_predict(estimator, X, labels, kept, n_jobs=n_jobs)

    inverted = find_inverted(new, labels, codes, predict_without)
    audited = audit_sources(known, new, labels, codes, names, inverted)
    worst = max(range(len(audited)), key=lambda s: audited[s].leave_source_out_log_loss)
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
        worst_source=audited[worst].name,
        recommendation=_recommendation(audited[worst], recalibrated),
    )


def _validate(X: Any, y: Any, sources: Any) -> tuple[NDArray[Any], Integers, list[str], Integers]:
    """Give classes and labels, names and codes of sources."""
    refuse_missing_targets(y)
    y = column_or_1d(y, warn=True)
    check_consistent_length(X, y)
    check_classification_targets(y)
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y holds one class only, {classes.tolist()[0]!r}; an audit needs two or more."
        )
    names, codes = encode_sources(sources, y)
    if len(names) < 2:
        raise ValueError(f"sources has {len(names)} source; an audit needs two or more.")
    if len(names) > len(y) / 2:
        raise ValueError(
            f"sources has {len(names)} sources for {len(y)} rows: most have one row, too few to "
            "validate a source. Use a column that groups the rows, such as site or hospital."
        )
    return classes, labels.astype(np.int64), [str(name) for name in names], codes


def _counter(total: int, progress: Callable[[int, int], Any] | None) -> Callable[[], None]:
    """Report the start; return a function that reports one more fit."""
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
    """Collect the estimates of each source.

    ``known`` are out-of-fold probabilities of the cross-validation, ``new`` those of
    leave-source-out validation.
    """
    counts = np.bincount(sources).astype(float)

    def means(values: NDArray[Any]) -> Doubles:
        return np.asarray(np.bincount(sources, values.astype(float)) / counts)

    label = reference_class(labels, new.shape[1])
    leave_source_out_error = means(errors(new, labels))
    shrunken = shrink_shares(leave_source_out_error * counts, counts)
    slopes, intercepts = calibrate_sources(new, labels, sources, label)
    estimates = {
        "cv_error": means(errors(known, labels)),
        "cv_log_loss": means(log_losses(known, labels)),
        "leave_source_out_error": leave_source_out_error,
        "leave_source_out_log_loss": means(log_losses(new, labels)),
        "shrunken_error": shrunken.values,
        "shrunken_error_ci_low": shrunken.low,
        "shrunken_error_ci_high": shrunken.high,
        "observed_rate": means(labels == label),
        "mean_predicted_risk": means(new[:, label]),
        "calibration_slope": np.exp(slopes.values),
        "calibration_slope_ci_low": np.exp(slopes.low),
        "calibration_slope_ci_high": np.exp(slopes.high),
        "calibration_intercept": intercepts.values,
        "calibration_intercept_ci_low": intercepts.low,
        "calibration_intercept_ci_high": intercepts.high,
        "coverage": coverages(new, labels, sources, COVERAGE),
    }
    return tuple(
        AuditedSource(
            name=name, n_rows=int(counts[s]), inverted=s in inverted,
            **{estimate: float(values[s]) for estimate, values in estimates.items()},
        )
        for s, name in enumerate(names)
    )  # fmt: skip


def summarise_errors(audited: Sequence[AuditedSource]) -> dict[str, float]:
    """Average over the sources, each with equal weight."""
    left_out = np.array([each.leave_source_out_error for each in audited])
    low, high = mean_limits(left_out)
    return {
        "cv_error": float(np.mean([each.cv_error for each in audited])),
        "cv_log_loss": float(np.mean([each.cv_log_loss for each in audited])),
        "leave_source_out_error": float(left_out.mean()),
        "leave_source_out_error_ci_low": max(0.0, low),
        "leave_source_out_error_ci_high": min(1.0, high),
        "leave_source_out_log_loss": float(
            np.mean([each.leave_source_out_log_loss for each in audited])
        ),
        "prediction_limit": min(1.0, upper_prediction_limit(left_out, COVERAGE)),
    }


def _source_accuracy(
    X: Any, sources: Integers, seed: int, n_jobs: int | None, step: Callable[[], Any]
) -> float:
    """Out-of-fold accuracy of a random forest that predicts the source from the features."""
    rng = np.random.default_rng(seed)
    some = np.sort(rng.permutation(len(sources))[:MAX_IDENTIFICATION_ROWS])
    codes = np.unique(sources[some], return_inverse=True)[1].astype(np.int64)
    forest = RandomForestClassifier(100, min_samples_leaf=3, random_state=seed)
    model = make_pipeline(TableEncoder(), forest)
    folds = deal_folds(codes, IDENTIFICATION_FOLDS, rng)
    proba = cross_predict(model, safe_indexing(X, some), codes, folds, n_jobs=n_jobs, step=step)
    return float(1 - errors(proba, codes).mean())


def _recommendation(worst: AuditedSource, recalibrated: float) -> str:
    """Recommend a check of the labels, recalibration, or training on the source's own rows."""
    before, after = worst.leave_source_out_log_loss, worst.cv_log_loss
    if worst.inverted:
        return "Check its labels and codes first."
    if recalibrated < before - 0.5 * max(before - after, 0.05 * before):
        return (
            "Recalibration on labelled rows of this source lowers its log loss from "
            f"{before:.3f} to {recalibrated:.3f}."
        )
    if after < 0.95 * before:
        return (
            "The relation between features and classes differs here; training on rows of this "
            f"source lowers its log loss from {before:.3f} to {after:.3f}."
        )
    return (
        "Training on rows of this source hardly changes its log loss "
        f"({before:.3f} without, {after:.3f} with)."
    )
