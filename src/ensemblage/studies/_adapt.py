"""Adaptation of a saved model to a file of a new source."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import count, listing, suggestion
from ensemblage.datasets import ReadOptions
from ensemblage.persistence import SavedModel, SourceColumn
from ensemblage.sources import RecalibratedClassifier, adapt, recalibrate
from ensemblage.studies._documents import AdaptationDocument
from ensemblage.studies._new_rows import NewRows, read_rows
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
    levels = () if column is None else column.names
    beside = [
        each for each in (*levels, saved.target) if each not in {None, target or saved.target}
    ]
    ignored = tuple(dict.fromkeys([*saved.ignored, *map(str, beside)]))
    asked = replace(saved, target=target or saved.target, source=None, ignored=ignored)
    if asked.target is None:
        raise ValueError("The model file names no target: name the column by `target`.")
    if asked.target in saved.columns:
        raise ValueError(f"target={asked.target!r} is one of the model's columns: name another.")
    site = read_rows(asked, data, options=options)
    given: dict[str, Any] = {}
    notes = list(site.notes)
    labelled = asked.target in site.table.names
    if not labelled and (train is None or target is not None):
        raise ValueError(
            f"{data} has no column {asked.target!r}, the target."
            f"{suggestion(asked.target, site.table.names)} Name it by `target`, or give the "
            "training rows too to adapt the model without labels."
        )
    if train is not None:
        rows = read_rows(replace(asked, source=column), train, options=options)
        absent = [each for each in levels if each not in rows.table.names]
        if absent:
            raise ValueError(f"{train} has no column {absent[0]!r} with the sources of its rows.")
        y_train = _target(asked, rows, train)
        given = {"X_train": rows.X, "y_train": y_train, "sources": rows.sources}
    several = _source_note(site, levels[0] if levels else None, data)
    notes += [several] if several else []
    y = _target(asked, site, data) if labelled else None
    with recorded_warnings() as warned:
        if only_recalibrate and saved.classes:
            model = recalibrate(saved.model, site.X, y)
        else:
            model = adapt(saved.model, site.X, y, **given)
    notes += dict.fromkeys(warned)
    found = _document(model, len(site.X), y, (*notes,))
    details = {
        "file": Path(data).name, "rows": len(site.X), "summary": found.summary,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }  # fmt: skip
    noted = {**saved.details, "adapted": details}
    return replace(asked, model=model, details=noted), found


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
    if saved.classes:
        return values.astype(str)
    if values.dtype.kind != "f":
        raise ValueError(f"{name} holds {values.tolist()[0]!r} in {saved.target!r}, no number.")
    return values


def _source_note(site: NewRows, source: str | None, name: Any) -> str | None:
    """Say that several sources count as one."""
    if source is None or source not in site.table.names:
        return None
    found = list(dict.fromkeys(map(str, site.table.column(source).tolist())))
    if len(found) == 1:
        return None
    return f"{name} has rows of {count(len(found), 'source')} ({listing(found)}), counted as one."


def _document(
    model: Any, n_rows: int, y: NDArray[Any] | None, notes: tuple[str, ...]
) -> AdaptationDocument:
    classes: dict[str, int] = {}
    intercepts = None
    if hasattr(model, "classes_"):
        names = [str(each) for each in model.classes_.tolist()]
        classes = {each: 0 if y is None else int(np.sum(y == each)) for each in names}
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
    shown = listing(f"{name} {value:+.2f}" for name, value in named)
    verdict = "The change is significant." if model.significant_ else "No change is significant."
    rows = count(n_rows, "labelled row")
    return f"{rows}: calibration slope {model.slope_:.2f}, intercepts {shown}. {verdict}"
