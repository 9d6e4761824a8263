"""Adaptation of a saved model to a file of a new source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import MINUS, count, listing, suggestion
from ensemblage.datasets import ReadOptions, parse_number
from ensemblage.persistence import SavedModel, SourceColumn
from ensemblage.sources import RecalibratedClassifier, adapt, recalibrate
from ensemblage.studies._documents import AdaptationDocument
from ensemblage.studies._new_rows import AdaptedSource, NewRows, read_rows
from ensemblage.studies._runner import recorded_warnings


def adapt_saved(
    saved: SavedModel,
    data: str | PathLike[str],
    *,
    target: str | None = None,
    train: str | PathLike[str] | None = None,
    source: str | None = None,
    options: ReadOptions | None = None,
    only_recalibrate: bool = False,
) -> tuple[SavedModel, AdaptationDocument]:
    """Adapt a saved model to the rows of a file; give it with what the rows tell.

    ``train`` is the file that the model was fitted on, and ``source`` its column of sources, by
    default that of the model. Without the target in the file, columns are normalised by source if
    that helps.
    """
    column = saved.source
    if source is not None and (column is None or source != column.name):
        column = SourceColumn(source, ())
    asked = _asked(saved, target, refit=train is not None)
    beside = _source_columns(saved, column)
    site = read_rows(asked, data, options=options, beside=beside)
    labelled = asked.target in site.table.names
    if not labelled:
        _check_unlabelled(
            f"{data} has no column {asked.target!r}, the target",
            suggestion(str(asked.target), site.table.names),
            enough=train is not None and target is None, column=column,
        )  # fmt: skip
    found_sources = _sources_of(site, beside[0] if beside else None)
    known = () if saved.source is None else saved.source.known
    notes = [*site.notes, *_source_notes(found_sources, known, data)]
    given: dict[str, Any] = {}
    if train is not None:
        rows = read_rows(replace(asked, source=column), train, options=options, beside=beside)
        _check_sources(rows, column, train)
        n_rows = saved.details.get("n_rows", len(rows.X))
        if len(rows.X) != n_rows:
            notes.append(f"{train} has {len(rows.X)} rows, but the model was fitted on {n_rows}.")
        given = {"X_train": rows.X, "y_train": _target(asked, rows, train), "sources": rows.sources}
    y = _target(asked, site, data) if labelled else None
    with recorded_warnings() as warned:
        if only_recalibrate and saved.classes:
            model = recalibrate(saved.model, site.X, y)
        else:
            model = adapt(saved.model, site.X, y, **given)
    notes += dict.fromkeys(warned)
    if not saved.classes:
        notes.append("An adapted model gives no prediction intervals.")
    found = _document(model, len(site.X), y, (*notes,))
    details = {
        "file": Path(data).name, "rows": len(site.X), "summary": found.summary,
        "source_columns": beside, "sources": found_sources,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }  # fmt: skip
    noted = {**saved.details, "adapted": details}
    ignored = tuple(dict.fromkeys([*asked.ignored, *beside]))
    return replace(asked, model=model, ignored=ignored, details=noted), found


def _asked(saved: SavedModel, target: str | None, *, refit: bool) -> SavedModel:
    """Give the model with the target asked for, and without sources, as an adapted one has none."""
    if refit and "adapted" in saved.details:
        raise ValueError(
            "The model is adapted to a source already, so that it is not fitted again: give the "
            "model before that with all rows of the new source, or recalibrate this one by leaving "
            "`train` out."
        )
    name = target or saved.target
    if name is None:
        raise ValueError("The model file names no target: name the column by `target`.")
    if name in saved.columns:
        raise ValueError(f"target={name!r} is one of the model's columns: name another.")
    ignored = saved.ignored
    if saved.target not in {None, name}:
        ignored = (*ignored, str(saved.target))
    return replace(saved, target=name, source=None, ignored=tuple(dict.fromkeys(ignored)))


def _source_columns(saved: SavedModel, column: SourceColumn | None) -> list[str]:
    """Columns of sources that a file may have: those given, and those of the model."""
    earlier = AdaptedSource.of(saved)
    names = [name for each in (column, saved.source) if each is not None for name in each.names]
    return [*dict.fromkeys([*names, *(() if earlier is None else earlier.columns)])]


def _check_sources(rows: NewRows, column: SourceColumn | None, name: Any) -> None:
    for each in () if column is None else column.names:
        if each not in rows.table.names:
            raise ValueError(f"{name} has no column {each!r} with the sources of its rows.")


def _check_unlabelled(
    lacking: str, meant: str, *, enough: bool, column: SourceColumn | None
) -> None:
    """Refuse to adapt without labels, unless there are training rows with their sources."""
    if not enough:
        raise ValueError(
            f"{lacking}.{meant} Name it by `target`, or give the training rows too to adapt the "
            "model without labels."
        )
    if column is None:
        raise ValueError(
            f"{lacking}, and without it the sources of the training rows are needed: name their "
            "column by `source`."
        )


def _target(saved: SavedModel, rows: NewRows, name: Any) -> NDArray[Any]:
    """Target of a file; classes as text."""
    if saved.target not in rows.table.names:
        raise ValueError(f"{name} has no column {saved.target!r}, the target.")
    values = rows.table.column(saved.target)
    missing = [value is None or value != value for value in values.tolist()]  # noqa: PLR0124  NaN
    if any(missing):
        raise ValueError(
            f"{name} has no value of {saved.target!r} in {sum(missing)} of {len(values)} rows: "
            "remove these rows, or fill them in."
        )
    if not saved.classes:
        if values.dtype.kind != "f":
            given = list(map(str, values.tolist()))
            wrong = next((each for each in given if np.isnan(parse_number(each))), given[0])
            raise ValueError(f"{name} holds {wrong!r} in {saved.target!r}, which is no number.")
        return values
    texts = values.astype(str)
    new = list(dict.fromkeys(texts[~np.isin(texts, saved.classes)].tolist()))
    if new:
        raise ValueError(
            f"{name} holds {listing(map(repr, new))} in {saved.target!r}, and the model knows only "
            f"the classes {listing(map(repr, saved.classes))}: correct or remove these rows."
        )
    return np.asarray(saved.model.classes_)[[saved.classes.index(each) for each in texts]]


def _sources_of(site: NewRows, source: str | None) -> list[str]:
    """List the sources of a site's file, if it has their column."""
    if source is None or source not in site.table.names:
        return []
    found = site.table.column(source).tolist()
    return list(dict.fromkeys(str(each) for each in found if each is not None))


def _source_notes(found: list[str], known: Sequence[str], name: Any) -> Iterator[str]:
    """Say that several sources count as one, and that a known source counts as new."""
    if len(found) > 1:
        several = count(len(found), "source")
        yield f"{name} has rows of {several} ({listing(found)}), counted as one."
    old = [each for each in found if each in known]
    if old:
        yield (
            f"The model knows {listing(map(repr, old))} from training, but these rows count as of "
            "a new source."
        )


def _document(
    model: Any, n_rows: int, y: NDArray[Any] | None, notes: tuple[str, ...]
) -> AdaptationDocument:
    classes: dict[str, int] = {}
    intercepts = None
    if hasattr(model, "classes_"):
        known = model.classes_.tolist()
        names = list(map(str, known))
        counts = [0 if y is None else y.tolist().count(each) for each in known]
        classes = dict(zip(names, counts, strict=True))
        intercepts = dict(zip(names, model.intercepts_.tolist(), strict=True))
    share = getattr(model, "share_", None)
    ways: list[Literal["recalibration", "refit", "normalisation"]] = []
    if y is not None:
        ways.append("recalibration")
    if getattr(model, "refitted", None) is not None:
        ways.append("refit")
    if y is None and "normalise" in dict(getattr(model.estimator_, "steps", ())):
        ways.append("normalisation")
    return AdaptationDocument(
        rows=n_rows, classes=classes, ways=tuple(ways), slope=float(model.slope_),
        intercepts=intercepts, shift=getattr(model, "shift_", None),
        significant=model.significant_, share=share,
        summary=getattr(model, "summary_", None) or _recalibrated(model, n_rows), notes=notes,
    )  # fmt: skip


def _recalibrated(model: RecalibratedClassifier, n_rows: int) -> str:
    """Say how a model was recalibrated."""
    named = zip(model.classes_.tolist(), model.intercepts_.tolist(), strict=True)
    shown = listing(f"{name} " + f"{value:+.2f}".replace("-", MINUS) for name, value in named)
    verdict = "The change is significant." if model.significant_ else "No change is significant."
    rows = count(n_rows, "labelled row")
    return f"{rows}: calibration slope {model.slope_:.2f}, intercepts {shown}. {verdict}"
