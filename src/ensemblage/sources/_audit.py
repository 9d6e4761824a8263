"""Internal-external validation: what to expect of a model at a source, or in a period, to come."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_field
from functools import partial
from pickle import PicklingError
from typing import Any, NamedTuple

import joblib
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.stats import t as student
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from ensemblage._core import (
    Fold,
    as_numbers,
    count,
    draw_seeds,
    iterate_tasks,
    listed,
    refuse_missing_targets,
    safe_indexing,
    suggestion,
)
from ensemblage.datasets import Column, ColumnTypes, TableEncoder, fold_labels, read_columns
from ensemblage.evaluation import CLASSIFICATION, REGRESSION, model_predictions
from ensemblage.sources._audit_result import (
    LOSSES,
    AuditedSource,
    ClassSummary,
    Estimate,
    LearningCurve,
    MeasureSummary,
    ReferenceModel,
    SourceAudit,
    TimeValidation,
    further_sentences,
    main_sentences,
)
from ensemblage.sources._meta_analysis import UPPER_975, PooledEstimate
from ensemblage.sources._source_codes import (
    Periods,
    balanced_folds,
    encode_sources,
    expanding_folds,
    read_periods,
    source_folds,
    split_source_column,
)
from ensemblage.sources._source_measures import (
    VALUE_MEASURES,
    AuditMeasure,
    Curves,
    Groups,
    Predicted,
    SourceEstimates,
    class_curves,
    class_measures,
    decision_thresholds,
    measures_of_class,
    next_period,
    risk_edges,
    value_curve,
)
from ensemblage.sources._suspects import (
    Suspect,
    column_shift,
    find_inverted,
    missing_counts,
    other_coding,
    other_missingness,
    other_prevalence,
    signal_z,
    without_signal,
)

Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

INTERVALS = ("profile", "hartung-knapp")
MAX_LEFT_OUT_FOLDS = 30
"""With more sources than these, groups of sources are left out."""
MAX_LEARNING_FOLDS = 10
"""Left-out sources, or groups of them, from which a learning curve is made."""
LEARNING_SIZES = 4
"""Numbers of training sources below all of them."""
LEAST_TRAINING_SOURCES = 3
MIN_LEARNING_SIZES = 3
"""Points of a learning curve, all sources included."""
MAX_SENTENCES = 6
"""Peculiarities of sources in the summary; all are among the suspects."""
MAX_SHIFTS = 5
"""Columns reported."""
COVERAGE = 0.9
"""Of prediction intervals of a numeric target."""


def source_audit(
    estimator: Any,
    X: Any,
    y: Any,
    sources: Any = None,
    *,
    time: Any = None,
    threshold: float | Sequence[float] | None = None,
    event: Any = None,
    interval: str = "profile",
    learning_curve: bool = True,
    columns: Sequence[str] | ColumnTypes | None = None,
    cv: int = 5,
    n_jobs: int | None = None,
    random_state: Any = None,
    cache: Any = None,
    progress: Callable[[int, int], Any] | None = None,
) -> SourceAudit:
    r"""Validate a model at sources, and in periods, that it was not fitted on.

    Cross-validation has rows of every source in training, so it estimates the performance at
    known sources. Leave-one-source-out (internal-external) cross-validation leaves each source
    out of training in turn; a random-effects meta-analysis of its measures says what to expect of
    a source that nobody has seen.

    Parameters
    ----------
    estimator : classifier or regressor
        Unfitted; a classifier with ``predict_proba``. The source is not among its features.
    X : array-like or dataframe of shape (n_samples, n_features)
        Rows, as the estimator takes them.
    y : array-like of shape (n_samples,)
        Classes, or a numeric target.
    sources : array-like of shape (n_samples,) or str, default=None
        Source of each row, or the column of the frame ``X`` that has it, which is then no feature.
        It may be left out if ``time`` is given.
    time : array-like of shape (n_samples,) or str, default=None
        Time of each row, numbers or dates, or the column of ``X``: each period is predicted by a
        model of the earlier ones. Up to ten distinct times, years or months are periods, otherwise
        six parts of about equal size.
    threshold : float or sequence of float, default=None
        Risks from which a row counts as positive, for sensitivity, specificity, predictive values
        and net benefit. By default .5 and the prevalence.
    event : object, default=None
        The class whose risk is reported; by default the second of two classes, else the last.
    interval : {"profile", "hartung-knapp"}, default="profile"
        How confidence and prediction limits over sources are computed; see Notes.
    learning_curve : bool, default=True
        Whether to fit on fewer sources too: up to 40 more fits.
    columns : sequence of str or ColumnTypes, default=None
        Names of the columns, where ``X`` has none of its own; ``Dataset.columns`` also has their
        kinds, so that days since 1970 are shown as dates.
    cv : int, default=5
        Folds of the cross-validation, stratified by source and class. With more than thirty
        sources, groups of sources of about equal size are left out together.
    n_jobs : int, default=None
        Number of processes, as in joblib; results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds.
    cache : dict or other mapping, default=None
        Where the predictions of each fit are stored as soon as it is finished, arrays by a hash of
        the estimator, its rows and the versions of libraries; ``get(key)`` and ``cache[key] =
        array`` are used. The same audit does not repeat stored fits. ``ResultStore.arrays()`` of
        :mod:`ensemblage.studies` stores them in a file. The seed and the estimator's
        ``random_state`` must be integers; the code of your own classes is not part of the hash.
    progress : callable, default=None
        Called as ``progress(done, total)`` at the start and after each fit.

    Returns
    -------
    SourceAudit
        Estimates; ``print`` shows a summary and tables.

    See Also
    --------
    SourceAuditDisplay : Forest plots, calibration curves, decision curves and others.

    Notes
    -----
    Each measure is pooled on a scale where it is about normal: AUC and shares as logits, O:E
    ratio, losses and RMSE as logs, R² as log(1 - R²), calibration intercept and slope as they are.
    With estimates :math:`y_i` and variances :math:`v_i`, :math:`w_i = 1 / (v_i + t)` and
    :math:`\mu(t) = \sum w_i y_i / \sum w_i`, the statistic :math:`Q(t) = \sum w_i (y_i - \mu)^2` is
    chi-squared with k - 1 degrees of freedom at the variance :math:`t = \tau^2` between sources.
    Confidence limits are quantiles of the mixture of :math:`N(\mu(t), 1 / \sum w_i)` over that
    distribution of t, and prediction limits of :math:`N(\mu(t), 1 / \sum w_i + t)`, so that they
    allow for the uncertainty of :math:`\tau^2`. ``interval="hartung-knapp"`` is the convention:
    REML with the limits of Hartung and Knapp, and Student's t with k - 2 degrees of freedom.

    With two sources nothing is pooled. Each model is fitted without one source; with three or four
    the estimates are therefore pessimistic.

    A source is reported as inverted only if inverted probabilities fit its labels better, with
    odds of 20 S to 1, and its AUC is below one half by more than the sampling error of a model
    without signal, at a level of .05 / S.

    References
    ----------
    .. [1] Debray, T.P.A. et al. (2013). A framework for developing, implementing, and evaluating
       clinical prediction models in an individual participant data meta-analysis. Statistics in
       Medicine 32.
    .. [2] Higgins, J.P.T., Thompson, S.G. and Spiegelhalter, D.J. (2009). A re-evaluation of
       random-effects meta-analysis. Journal of the Royal Statistical Society A 172.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from ensemblage.datasets import make_multi_source
    >>> from ensemblage.sources import source_audit
    >>> X, y, sources = make_multi_source(5, n_samples=500, random_state=0, return_sources=True)
    >>> audit = source_audit(LogisticRegression(), X, y, sources, random_state=0)
    >>> audit["auc"].mean < audit["auc"].cross_validation
    True
    """
    if interval not in INTERVALS:
        raise ValueError(f"interval={interval!r} is not one of: {', '.join(INTERVALS)}.")
    rows = _read_rows(estimator, X, y, sources, time, event, columns)
    measures = rows.measures(threshold)
    _check_cache(cache)
    seeds = draw_seeds(random_state, 2)
    fits = _plan_fits(estimator, rows, cv, learning_curve, seeds)
    found = _run_fits(fits, rows, n_jobs, cache, progress)
    summarise = partial(_summarise, measures=measures, rows=rows, interval=interval)
    audit: dict[str, Any] = {
        "task": CLASSIFICATION.name if rows.classes else REGRESSION.name,
        "event": str(rows.classes[rows.label]) if rows.classes else None,
        "n": len(rows.truth), "events": rows.events(np.arange(len(rows.truth))),
        "interval": interval, "references": (),
    }  # fmt: skip
    notes: list[str] = []
    known = rows.predicted(found["model", "known"])
    if rows.groups:
        new = rows.predicted(found["model", "new"])
        audit |= summarise(new, known)
        audit |= _drawn(new, rows, audit["sources"])
        audit["references"] = _references(summarise, rows, found, audit["sources"])
        audit["classes"] = _each_class(new, known, rows, interval)
        audit["learning"] = _learning(fits, found, rows, audit["summary"])
        audit["suspects"] = _suspects(estimator, new, rows, measures, n_jobs, cache)
        if rows.names:
            shifts = [column_shift(each, rows.codes, rows.names) for each in rows.columns]
            shifts.sort(key=lambda each: -each.strength)
            audit["column_shifts"] = tuple(shifts[:MAX_SHIFTS])
        notes += _source_notes(rows)
    if rows.periods is not None:
        audit["time"] = _over_time(fits, found, rows, measures, known)
        notes += rows.periods.notes
        n_windows = len(audit["time"][0].periods)
        if n_windows < 4:
            notes.append(
                f"{count(n_windows, 'period was', 'periods were')} predicted from the past: with "
                "fewer than four nothing is said of the next one."
            )
        if not rows.groups:
            audit |= {"summary": audit["time"][0].summary, "sources": ()}
    made = SourceAudit(sentences=(), **audit)
    peculiar = [each.sentence for each in made.suspects]
    if len(peculiar) > MAX_SENTENCES:
        more = len(peculiar) - MAX_SENTENCES
        peculiar[MAX_SENTENCES:] = [f"{count(more, 'more peculiarity', 'more peculiarities')}."]
    sentences = (*main_sentences(made), *peculiar, *further_sentences(made), *notes)
    return SourceAudit(sentences=sentences, **audit)


@dataclass(frozen=True)
class _Rows:
    """Validated rows of an audit; without sources there are no ``groups``."""

    X: Any
    truth: NDArray[Any]
    classes: list[Any]
    label: int
    names: list[str]
    codes: Integers
    columns: list[Column]
    periods: Periods | None

    @property
    def groups(self) -> Groups:
        """Rows of each source."""
        return [np.flatnonzero(self.codes == s) for s in range(len(self.names))]

    @property
    def fold_labels(self) -> Integers:
        """What folds are stratified by."""
        labels = self.truth if self.classes else fold_labels(self.truth)
        return np.asarray(labels, dtype=np.int64)

    def events(self, own: NDArray[Any]) -> int | None:
        """Count rows of the class; None in regression."""
        return int((self.truth[own] == self.label).sum()) if self.classes else None

    def predicted(self, output: Doubles, rows: NDArray[Any] | None = None) -> Predicted:
        """Give outputs with the truth; a numeric target with prediction intervals."""
        truth = self.truth if rows is None else self.truth[rows]
        output = output if rows is None else output[rows]
        if self.classes or rows is not None or not np.isnan(output).any():
            return Predicted(output, truth)
        groups = self.groups or [np.arange(len(truth))]
        return Predicted(_conformal(output, truth, groups), truth)

    def measures(self, threshold: Any) -> tuple[AuditMeasure, ...]:
        """Give the measures of the task, at thresholds of the risk."""
        if not self.classes:
            if threshold is not None:
                raise ValueError(
                    f"threshold={threshold!r} is for classes, and the target is numeric: leave it "
                    "out."
                )
            return VALUE_MEASURES
        if threshold is None:
            prevalence = float(f"{(self.truth == self.label).mean():.2g}")
            usual = [0.5, *([prevalence] if 0 < prevalence < 1 else [])]
            return class_measures(len(self.classes), self.label, tuple(dict.fromkeys(usual)))
        given = [float(each) for each in np.atleast_1d(np.asarray(threshold, dtype=float))]
        wrong = [each for each in given if not 0 < each < 1]
        if wrong or not given:
            raise ValueError(f"threshold={threshold!r}: expected risks between 0 and 1.")
        return class_measures(len(self.classes), self.label, tuple(dict.fromkeys(given)))


def _conformal(output: Doubles, truth: Doubles, groups: Groups) -> Doubles:
    """Make 90 % prediction intervals of each source by the residuals at the others."""
    sizes = np.abs(truth - output[:, 0])
    made = output.copy()
    for own in groups:
        others = np.delete(sizes, own) if len(groups) > 1 else sizes
        level = min(1.0, COVERAGE * (1 + 1 / len(others)))
        half = float(np.quantile(others, level, method="higher"))
        made[own, 1], made[own, 2] = output[own, 0] - half, output[own, 0] + half
    return made


def _read_rows(
    estimator: Any, X: Any, y: Any, sources: Any, time: Any, event: Any, columns: Any
) -> _Rows:
    """Validate everything before the first fit."""
    if sources is None and time is None:
        raise ValueError(
            "sources and time are both missing: give the source of each row, its time, or both."
        )
    classifier = _is_classifier(estimator)
    refuse_missing_targets(y)
    y = column_or_1d(y, warn=True)
    X, sources = split_source_column(X, sources)
    if isinstance(time, str):
        try:
            X, time = split_source_column(X, time)
        except ValueError as error:
            raise ValueError(str(error).replace("sources=", "time=")) from None
    check_consistent_length(X, y)
    classes, truth = _read_classes(y) if classifier else ([], as_numbers(y))
    if event is not None and not classifier:
        raise ValueError(f"event={event!r} is for classes, and the estimator is a regressor.")
    names, codes = [], np.zeros(len(y), dtype=np.int64)
    if sources is not None:
        given, codes = encode_sources(sources, y)
        names = [str(name) for name in given]
        _check_sources(names, len(y))
    periods = None if time is None else read_periods(time, len(y))
    return _Rows(
        X, truth, classes, _find_event(event, classes), names, codes, _read_table(X, columns),
        periods,
    )  # fmt: skip


def _is_classifier(estimator: Any) -> bool:
    """Tell a classifier from a regressor; refuse what is neither, or gives no probabilities."""
    if not is_classifier(estimator):
        if is_regressor(estimator):
            return False
        raise TypeError(
            f"estimator={type(estimator).__name__} is neither a classifier nor a regressor."
        )
    if not hasattr(estimator, "predict_proba"):
        raise TypeError(
            f"estimator={type(estimator).__name__} gives no probabilities, which an audit needs: "
            "choose a model with predict_proba, or wrap it in CalibratedClassifierCV."
        )
    return True


def _read_classes(y: NDArray[Any]) -> tuple[list[Any], Integers]:
    check_classification_targets(y)
    found, labels = np.unique(y, return_inverse=True)
    classes = found.tolist()
    if len(classes) < 2:
        raise ValueError(f"y holds one class only, {classes[0]!r}; an audit needs two or more.")
    return classes, labels.astype(np.int64)


def _read_table(X: Any, columns: Sequence[str] | ColumnTypes | None) -> list[Column]:
    """Read the columns; none of sparse rows, or of what is not a table."""
    if issparse(X) or np.ndim(X) != 2:
        return []
    names = columns if columns is not None else getattr(X, "columns", None)
    kinds = names.kinds if isinstance(names, ColumnTypes) else ()
    names = names.names if isinstance(names, ColumnTypes) else names
    names = [f"x{j}" for j in range(np.shape(X)[1])] if names is None else names
    found = read_columns(X if hasattr(X, "columns") else np.asarray(X), [*map(str, names)])
    for j, kind in enumerate(kinds):
        if kind == "date":
            found[j] = replace_field(found[j], is_date=True)
    return found


def _find_event(event: Any, classes: list[Any]) -> int:
    if event is None:
        return max(len(classes) - 1, 0)
    texts = [str(each) for each in classes]
    if str(event) not in texts:
        raise ValueError(
            f"event={event!r} is not a class.{suggestion(str(event), texts)} The classes are: "
            f"{listed(texts)}."
        )
    return texts.index(str(event))


def _check_sources(names: list[str], n_rows: int) -> None:
    if len(names) < 2:
        raise ValueError(
            f"sources has 1 source, {names[0]!r}; an audit needs two or more: name a column with "
            "several, or give `time`."
        )
    if len(names) > n_rows / 2:
        raise ValueError(
            f"sources has {len(names)} sources for {n_rows} rows: most have one row, too few to "
            "validate a source. Use a column that groups the rows, such as site or hospital."
        )


def _source_notes(rows: _Rows) -> list[str]:
    """Say what the sources do not allow."""
    notes = []
    if len(rows.names) == 2:
        notes.append(
            "sources has two sources: there are figures per source, but nothing is said of a new "
            "one, which takes three or more."
        )
    elif len(rows.names) < 5:
        notes.append(
            f"{len(rows.names)} sources are few: the intervals for a new one are very wide, and "
            "the estimates are pessimistic, as each model lacks much of the data."
        )
    if rows.classes:
        single = [
            f"{name} ({rows.classes[int(rows.truth[own[0]])]} in all {count(len(own), 'row')})"
            for name, own in zip(rows.names, rows.groups, strict=True)
            if len(np.unique(rows.truth[own])) == 1
        ]
        if single:
            notes.append(f"One class only, so no AUC and no slope: {listed(single)}.")
    if len(rows.names) > MAX_LEFT_OUT_FOLDS:
        notes.append(
            f"With {len(rows.names)} sources, {MAX_LEFT_OUT_FOLDS} groups of sources were left out."
        )
    return notes


class _Fit(NamedTuple):
    """A model to be fitted on one part of the rows and asked about another."""

    model: str
    way: str
    estimator: Any
    fold: Fold


def _plan_fits(
    estimator: Any, rows: _Rows, cv: int, learning_curve: bool, seeds: list[int]
) -> list[_Fit]:
    """List all fits: ways are "known", "new", "past", "past and new", and "learning"."""
    models = {"model": estimator}
    if rows.columns:
        linear = LogisticRegression(max_iter=1000) if rows.classes else Ridge()
        models["regression"] = make_pipeline(TableEncoder(), linear)
    known = balanced_folds(rows.fold_labels, rows.codes, cv, seeds[0])
    new = source_folds(rows.codes, MAX_LEFT_OUT_FOLDS) if rows.names else []
    plan = [
        _Fit(name, way, each, fold)
        for name, each in models.items()
        for way, folds in (("known", known), ("new", new))
        for fold in folds
    ]
    if learning_curve and rows.names:
        plan += [
            _Fit("model", f"learning {size}", estimator, fold)
            for size, fold in _learning_folds(rows.codes, new, seeds[1])
        ]
    if rows.periods is not None:
        past = _learnable(expanding_folds(rows.periods.codes), rows)
        if not past:
            raise ValueError(
                "time has no period whose past holds two classes: give times that cover more, or "
                "leave `time` out."
            )
        plan += [_Fit("model", "past", estimator, fold) for fold in past]
        few = source_folds(rows.codes, MAX_LEARNING_FOLDS) if rows.names else []
        for fold in _learnable(expanding_folds(rows.periods.codes, few), rows) if few else []:
            plan.append(_Fit("model", "past and new", estimator, fold))
    return plan


def _learnable(folds: list[Fold], rows: _Rows) -> list[Fold]:
    """Keep folds whose training rows have two classes, or two values."""
    return [each for each in folds if len(np.unique(rows.truth[each.train])) > 1]


def _learning_folds(codes: Integers, new: Sequence[Fold], seed: int) -> Iterable[tuple[int, Fold]]:
    """Draw numbers of sources for training, for some of the sources that are left out."""
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.permutation(len(new))[:MAX_LEARNING_FOLDS])
    largest = min(len(np.unique(codes[new[f].train])) for f in chosen)
    if largest < LEAST_TRAINING_SOURCES + MIN_LEARNING_SIZES - 1:
        return
    spaced = np.geomspace(LEAST_TRAINING_SOURCES, largest, LEARNING_SIZES + 1)[:-1]
    for size in np.unique(np.round(spaced).astype(int)):
        for f in chosen:
            others = np.unique(codes[new[f].train])
            drawn = rng.permutation(others)[:size]
            train = new[f].train[np.isin(codes[new[f].train], drawn)]
            yield int(size), Fold(train, new[f].test)


def _run_fits(
    fits: list[_Fit],
    rows: _Rows,
    n_jobs: int | None,
    cache: Any,
    progress: Callable[[int, int], Any] | None,
) -> dict[tuple[str, str], Doubles]:
    """Give the output for all rows by model and way; NaN where a way predicts nothing."""
    n_outputs = len(rows.classes) or 3
    out: dict[tuple[str, str], Doubles] = {}
    for each in fits:
        out.setdefault((each.model, each.way), np.full((len(rows.truth), n_outputs), np.nan))
    predictions = _iterate_predictions(
        [(each.estimator, each.fold) for each in fits], rows.X, rows.truth,
        len(rows.classes) or None, n_jobs, cache, progress,
    )  # fmt: skip
    for number, found in predictions:
        each = fits[number]
        out[each.model, each.way][each.fold.test] = found
    return out | _without_information(fits, rows)


def _without_information(fits: list[_Fit], rows: _Rows) -> dict[tuple[str, str], Doubles]:
    """Predict the prevalence, or the mean, of the training rows.

    By cross-validation it is that of all rows, as those of folds rank their rows in reverse.
    """
    n_outputs = len(rows.classes) or 3
    out: dict[tuple[str, str], Doubles] = {}
    for each in fits:
        if each.model != "model" or each.way not in {"known", "new"}:
            continue
        made = out.setdefault(("none", each.way), np.full((len(rows.truth), n_outputs), np.nan))
        own = rows.truth[each.fold.train] if each.way == "new" else rows.truth
        if rows.classes:
            made[each.fold.test] = np.bincount(own, minlength=n_outputs) / len(own)
        else:
            made[each.fold.test, 0] = own.mean()
    return out


def cross_predict(
    estimator: Any,
    X: Any,
    labels: Integers,
    folds: Sequence[Fold],
    *,
    n_jobs: int | None = None,
    cache: Any = None,
) -> Doubles:
    """Give out-of-fold probabilities, (n_rows, n_classes)."""
    n_classes = int(labels.max()) + 1
    fits = [(estimator, fold) for fold in folds]
    proba = np.zeros((len(labels), n_classes))
    for number, found in _iterate_predictions(fits, X, labels, n_classes, n_jobs, cache):
        proba[folds[number].test] = found
    return proba


def _iterate_predictions(
    fits: Sequence[tuple[Any, Fold]],
    X: Any,
    truth: NDArray[Any],
    n_classes: int | None,
    n_jobs: int | None,
    cache: Any = None,
    progress: Callable[[int, int], Any] | None = None,
) -> Iterator[tuple[int, Doubles]]:
    """Yield each fit's number and predictions, stored ones first."""
    keys = [] if cache is None else _fit_keys(fits, X, truth, n_classes)
    known = {
        number: stored
        for number, key in enumerate(keys)
        if _is_valid(stored := cache.get(key), len(fits[number][1].test), n_classes)
    }
    if progress is not None:
        progress(len(known), len(fits))
    yield from known.items()
    waiting = [number for number in range(len(fits)) if number not in known]
    tasks = [
        (
            clone(estimator), safe_indexing(X, fold.train), truth[fold.train],
            safe_indexing(X, fold.test), n_classes,
        )
        for estimator, fold in (fits[number] for number in waiting)
    ]  # fmt: skip
    finished = iterate_tasks(_fit_and_predict, tasks, n_jobs)
    for done, (place, found) in enumerate(finished, len(known) + 1):
        number = waiting[place]
        if cache is not None and _is_valid(found, len(fits[number][1].test), n_classes):
            cache[keys[number]] = found
        yield number, found
        if progress is not None:
            progress(done, len(fits))


def _check_cache(cache: Any) -> None:
    if cache is not None and not (hasattr(cache, "get") and hasattr(cache, "__setitem__")):
        raise TypeError(
            f"cache={cache!r} is not a mapping: give a dict, or `ResultStore(path).arrays()` to "
            "store predictions in a file."
        )


def _fit_keys(
    fits: Sequence[tuple[Any, Fold]], X: Any, truth: NDArray[Any], n_classes: int | None
) -> list[str]:
    """Hash all that the predictions of each fit depend on."""
    rows = joblib.hash((X, truth, n_classes), hash_name="sha1")
    keys = []
    for estimator, fold in fits:
        parts = [estimator, *estimator.get_params().values()]
        modules = {type(each).__module__.partition(".")[0] for each in parts}
        modules |= {"ensemblage", "sklearn", "numpy", "scipy"}
        versions = [
            (each, str(getattr(sys.modules.get(each), "__version__", "")))
            for each in sorted(modules)
        ]
        facts = (rows, clone(estimator), versions, fold.train, fold.test)
        try:
            keys.append(str(joblib.hash(facts, hash_name="sha1")))
        except (PicklingError, TypeError, AttributeError) as error:
            raise TypeError(
                f"estimator={type(estimator).__name__} cannot be hashed, which a cache needs: use "
                "functions and classes of modules in its parameters, or leave `cache` out."
            ) from error
    return keys


def _is_valid(found: Any, n_rows: int, n_classes: int | None) -> bool:
    """Whether these are probabilities, or values with ends of intervals or NaN, for the rows."""
    if not isinstance(found, np.ndarray) or found.dtype != np.float64:
        return False
    if found.shape != (n_rows, n_classes or 3):
        return False
    if n_classes is None:
        return bool(np.isfinite(found[:, 0]).all() and not np.isinf(found).any())
    return bool(((found >= 0) & (found <= 1)).all() and np.allclose(found.sum(axis=1), 1))


def errors(proba: Doubles, labels: Integers) -> NDArray[np.bool_]:
    """Mark misclassified rows."""
    return np.asarray(proba.argmax(axis=1) != labels)


def _fit_and_predict(
    estimator: Any, X: Any, y: NDArray[Any], new: Any, n_classes: int | None
) -> Doubles:
    """Give probabilities, or values with the model's own prediction intervals or NaN."""
    n_new = new.shape[0] if hasattr(new, "shape") else len(new)
    if n_classes is None:
        found = model_predictions(estimator.fit(X, y), new)
        ends = found.intervals if found.intervals is not None else np.full((n_new, 2), np.nan)
        return np.column_stack([found.y_pred, ends])
    out = np.zeros((n_new, n_classes))
    present = np.unique(y)
    if len(present) == 1:
        out[:, present[0]] = 1.0
        return out
    fitted = estimator.fit(X, y)
    out[:, np.asarray(fitted.classes_, dtype=int)] = fitted.predict_proba(new)
    return out


def _summarise(
    new: Predicted,
    known: Predicted,
    *,
    measures: Sequence[AuditMeasure],
    rows: _Rows,
    interval: str,
) -> dict[str, Any]:
    """Measure each source, by left-out predictions and by cross-validation, and pool."""
    groups, everything = rows.groups, [np.arange(len(rows.truth))]
    summary = []
    by_source: list[dict[str, Estimate]] = [{} for _ in groups]
    inside: list[dict[str, float | None]] = [{} for _ in groups]
    for measure in measures:
        found = measure.function(new, groups)
        pooled = found.pooled(interval)
        whole = measure.function(known, everything).values[0]
        summary.append(summary_of(measure, found, pooled, whole))
        own = measure.function(known, groups).values
        for s, each in enumerate(_estimates(found, pooled)):
            by_source[s][measure.name] = each
            inside[s][measure.name] = _plain(own[s])
    counts = missing_counts(rows.columns, groups)
    sources = tuple(
        AuditedSource(
            source=name, n=len(own), events=rows.events(own), measures=by_source[s],
            cross_validation=inside[s],
            missing={column: int(gone[s]) for column, gone in counts if gone[s]},
        )
        for s, (name, own) in enumerate(zip(rows.names, groups, strict=True))
    )  # fmt: skip
    return {"summary": tuple(summary), "sources": sources}


def summary_of(
    measure: AuditMeasure, found: SourceEstimates, pooled: PooledEstimate | None, inside: float
) -> MeasureSummary:
    """Summarise a measure; ``inside`` is its value by cross-validation, NaN if unknown."""
    name, whole = measure.name, _plain(inside)
    if pooled is None:
        n_sources = int(found.known.sum())
        return MeasureSummary(name, whole, None, None, None, None, None, None, None, n_sources)
    mean, low, high, new_low, new_high = (_plain(min(each, measure.upper)) for each in pooled[:5])
    return MeasureSummary(
        name, whole, mean, low, high, new_low, new_high, pooled.tau, pooled.i2, pooled.n_sources
    )


def _estimates(found: SourceEstimates, pooled: PooledEstimate | None) -> list[Estimate]:
    """Give the measure of each source; the weights are those of the random-effects mean."""
    known = found.known
    low, high = found.limits()
    errors = found.standard_errors
    tau2 = 0.0 if pooled is None else pooled.tau**2
    weights = np.where(known, 1 / (np.where(known, found.variances, 1.0) + tau2), 0.0)
    shares = weights / weights.sum() if known.any() else weights
    return [
        Estimate(*map(_plain, (value, *parts)))
        if known[s]
        else Estimate(_plain(value), None, None, None)
        for s, (value, *parts) in enumerate(
            zip(found.values, errors, low, high, shares, strict=True)
        )
    ]


def _plain(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def _drawn(new: Predicted, rows: _Rows, sources: Sequence[AuditedSource]) -> dict[str, Any]:
    """Compute what is drawn, for all rows and for each source."""
    parts = [np.arange(len(rows.truth)), *rows.groups]
    grid: dict[str, Any] = {}
    if rows.classes:
        risk, events = new.of_class(rows.label)
        thresholds, edges = decision_thresholds(risk), risk_edges(risk)
        made = [class_curves(risk[own], events[own], thresholds, edges) for own in parts]
        grid = {"thresholds": tuple(thresholds.tolist()), "risk_edges": tuple(edges.tolist())}
    else:
        made = [Curves(value_curve(new.output[own, 0], new.truth[own])) for own in parts]
    drawn = tuple(
        replace(source, curves=each) for source, each in zip(sources, made[1:], strict=True)
    )
    return grid | {"curves": made[0], "sources": drawn}


def _references(
    summarise: Callable[[Predicted, Predicted], dict[str, Any]],
    rows: _Rows,
    found: dict[tuple[str, str], Doubles],
    sources: Sequence[AuditedSource],
) -> tuple[ReferenceModel, ...]:
    """Summarise the references, and compare them with the model by the loss of each source."""
    labels = {
        "none": "prevalence" if rows.classes else "mean",
        "regression": "logistic regression" if rows.classes else "ridge regression",
    }
    loss = LOSSES[CLASSIFICATION.name if rows.classes else REGRESSION.name]
    made = []
    for name, label in labels.items():
        if (name, "new") not in found:
            continue
        parts = summarise(*(rows.predicted(found[name, way]) for way in ("new", "known")))
        ours, theirs = (
            np.array([each.measures[loss].value for each in some], dtype=float)
            for some in (sources, parts["sources"])
        )
        differences = ours - theirs
        limits: tuple[float | None, float | None] = (None, None)
        if len(differences) > 2:
            se = differences.std(ddof=1) / np.sqrt(len(differences))
            half = float(student.ppf(UPPER_975, len(differences) - 1) * se)
            limits = float(differences.mean()) - half, float(differences.mean()) + half
        made.append(
            ReferenceModel(
                reference={"none": "no-information"}.get(name, label.replace(" ", "-")),
                label=label,
                measures={
                    each.measure: Estimate(each.mean, None, each.low, each.high)
                    for each in parts["summary"]
                },
                cross_validation={
                    each.measure: each.cross_validation for each in parts["summary"]
                },
                difference=float(differences.mean()), low=limits[0], high=limits[1],
            )
        )  # fmt: skip
    return tuple(made)


def _each_class(
    new: Predicted, known: Predicted, rows: _Rows, interval: str
) -> tuple[ClassSummary, ...]:
    """Summarise each class against the rest, where there are several."""
    if len(rows.classes) < 3:
        return ()
    everything, made = [np.arange(len(rows.truth))], []
    for label, name in enumerate(rows.classes):
        parts = []
        for measure in measures_of_class(label):
            found = measure.function(new, rows.groups)
            whole = measure.function(known, everything).values[0]
            parts.append(summary_of(measure, found, found.pooled(interval), whole))
        made.append(ClassSummary(str(name), tuple(parts)))
    return tuple(made)


def _learning(
    fits: list[_Fit],
    found: dict[tuple[str, str], Doubles],
    rows: _Rows,
    summary: Sequence[MeasureSummary],
) -> LearningCurve | None:
    """Average the loss at left-out sources by the number of sources in training.

    Where only some are left out, the differences are theirs, and the last point is that of all.
    """
    sizes = sorted({int(each.way.split()[1]) for each in fits if each.way.startswith("learning")})
    if not sizes:
        return None
    measures = VALUE_MEASURES if not rows.classes else class_measures(len(rows.classes), 0, ())
    loss = LOSSES[CLASSIFICATION.name if rows.classes else REGRESSION.name]
    [measure] = [each for each in measures if each.name == loss]
    predicted = np.flatnonzero(~np.isnan(found["model", f"learning {sizes[0]}"][:, 0]))
    groups = [np.flatnonzero(rows.codes[predicted] == s) for s in np.unique(rows.codes[predicted])]
    largest = int(
        np.median(
            [
                len(np.unique(rows.codes[each.fold.train]))
                for each in fits if each.way == "new" and each.model == "model"
            ]
        )
    )  # fmt: skip
    ways = {size: f"learning {size}" for size in sizes if size < largest} | {largest: "new"}
    values = np.array(
        [
            measure.function(rows.predicted(found["model", way], predicted), groups).values
            for way in ways.values()
        ]
    )
    [whole] = [each.mean for each in summary if each.measure == loss]
    values += (values[-1].mean() if whole is None else whole) - values[-1].mean()
    inverse = 1 / np.array([*ways], dtype=float)
    inverse -= inverse.mean()
    slopes = inverse @ values / (inverse @ inverse)  # of each source
    last, slope = float(values[-1].mean()), float(slopes.mean())
    half = float(student.ppf(UPPER_975, len(slopes) - 1) * slopes.std(ddof=1))
    half *= 0.5 / largest / np.sqrt(len(slopes))
    one_more, twice = (
        last + slope * (1 / more - 1 / largest) for more in (largest + 1, 2 * largest)
    )
    return LearningCurve(
        loss, tuple(ways), tuple(values.mean(axis=1).tolist()), one_more, twice,
        float(twice - half), float(twice + half),
    )  # fmt: skip


def _suspects(
    estimator: Any,
    new: Predicted,
    rows: _Rows,
    measures: Sequence[AuditMeasure],
    n_jobs: int | None,
    cache: Any,
) -> tuple[Suspect, ...]:
    """Find what is peculiar in sources."""
    groups, names, found = rows.groups, rows.names, []
    if rows.classes:
        left_out = source_folds(rows.codes, MAX_LEFT_OUT_FOLDS)

        def predict_without(dropped: Sequence[int]) -> Doubles:
            kept = drop_from_training(left_out, rows.codes, dropped)
            return cross_predict(estimator, rows.X, rows.truth, kept, n_jobs=n_jobs, cache=cache)

        z = signal_z(new, groups)
        for s in find_inverted(new, rows.codes, predict_without):
            text = (
                f"Check {names[s]} first: the labels fit inverted predictions better "
                f"(AUC {-z[s]:.1f} standard errors below one half). Labels or codes may be "
                "inverted."
            )
            found.append(Suspect(names[s], "inverted", None, text))
        inverted = {each.source for each in found}
        areas = next(each for each in measures if each.name == "auc").function(new, groups)
        found += [
            each for each in without_signal(areas, areas.pooled(), names)
            if each.source not in inverted
        ]  # fmt: skip
        if len(rows.classes) == 2:
            found += other_prevalence(rows.truth == rows.label, groups, names)
    else:
        found += _inverted_values(new, groups, names, measures)
    found += other_coding(rows.columns, groups, names)
    found += other_missingness(missing_counts(rows.columns, groups), groups, names)
    return tuple(found)


def _inverted_values(
    new: Predicted, groups: Groups, names: Sequence[str], measures: Sequence[AuditMeasure]
) -> list[Suspect]:
    """Name sources where a numeric target falls as its prediction rises, significantly."""
    slopes = next(each for each in measures if each.name == "slope").function(new, groups)
    z = slopes.estimates / np.sqrt(slopes.variances)
    limit = student.ppf(1 - 0.05 / len(names), 30)
    return [
        Suspect(
            names[s], "inverted", None,
            f"Check {names[s]} first: the target falls as its prediction rises (slope "
            f"{slopes.values[s]:.2f}). The target or codes may be inverted.",
        )
        for s in np.flatnonzero(np.nan_to_num(z) < -limit).tolist()
    ]  # fmt: skip


def drop_from_training(
    folds: Sequence[Fold], sources: Integers, dropped: Sequence[int]
) -> list[Fold]:
    """Leave sources out of all training; a fold without other sources keeps its rows."""
    kept = [Fold(fold.train[~np.isin(sources[fold.train], dropped)], fold.test) for fold in folds]
    return [new if len(new.train) else old for new, old in zip(kept, folds, strict=True)]


def _over_time(
    fits: list[_Fit],
    found: dict[tuple[str, str], Doubles],
    rows: _Rows,
    measures: Sequence[AuditMeasure],
    known: Predicted,
) -> tuple[TimeValidation, ...]:
    """Measure each period by models of the past, at all sources and at left-out ones."""
    periods = rows.periods
    assert periods is not None  # noqa: S101  by the caller
    # conformal intervals would need residuals of the future
    chosen = [each for each in measures if each.name not in {"coverage", "width"}]
    everything, made = [np.arange(len(rows.truth))], []
    for way in ("past", "past and new"):
        if ("model", way) not in found:
            continue
        output = found["model", way]
        predicted = np.flatnonzero(~np.isnan(output[:, 0]))
        codes = periods.codes[predicted]
        shown = np.unique(codes)
        groups = [np.flatnonzero(codes == each) for each in shown]
        new = rows.predicted(output, predicted)
        by_period: list[dict[str, Estimate]] = [{} for _ in shown]
        summary = []
        for measure in chosen:
            estimates = measure.function(new, groups)
            whole = measure.function(known, everything).values[0]
            summary.append(summary_of(measure, estimates, next_period(estimates), whole))
            for place, each in zip(by_period, _estimates(estimates, None), strict=True):
                place[measure.name] = each
        trained = {
            int(periods.codes[each.fold.test[0]]): len(each.fold.train)
            for each in fits if each.way == way
        }  # fmt: skip
        validated = tuple(
            AuditedSource(
                source=periods.names[period], n=len(own), events=rows.events(predicted[own]),
                measures=place, n_train=trained[int(period)],
            )
            for period, own, place in zip(shown, groups, by_period, strict=True)
        )  # fmt: skip
        made.append(TimeValidation(way == "past and new", validated, tuple(summary)))
    return tuple(made)
