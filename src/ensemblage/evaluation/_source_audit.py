"""What to expect of a model on the sources that it knows, and on new ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils import _safe_indexing, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from ensemblage.evaluation._audited_sources import AuditedSource, SourceAudit
from ensemblage.evaluation._column_shift import ColumnShift, column_shift
from ensemblage.evaluation._random_effects import mean_bounds, new_bound, shrink_shares
from ensemblage.evaluation._site_facts import (
    compared_class,
    coverages,
    recalibrated_loss,
    site_calibrations,
)
from ensemblage.evaluation._source_predictions import (
    Codes,
    HeldOut,
    held_out,
    ordinary_folds,
    source_folds,
    without_sources,
)
from ensemblage.evaluation._suspect_sources import suspect_sources
from ensemblage.parallel import deal_folds, draw_seeds
from ensemblage.strata import number_sources
from ensemblage.tables import TableEncoder, read_columns

MOST_LEFT_OUT = 10
"""More sources than these are left out in groups."""
RECOGNISED_ROWS = 5_000
RECOGNISING_FOLDS = 3
MOST_SHIFTS = 5
NINE_IN_TEN = 0.9


class Rows(NamedTuple):
    """What is audited: rows, numbers of classes and sources, names of both."""

    X: Any
    labels: Codes
    sources: Codes
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
    >>> from ensemblage.evaluation import source_audit
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
