"""The page that a command writes with ``--report``."""
# ruff: noqa: PLC0415  scikit-learn is imported inside the command, so that --help answers at once

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ensemblage.cli._console import say

if TYPE_CHECKING:
    import numpy as np

    from ensemblage.persistence import SavedModel

Rows: TypeAlias = "tuple[np.ndarray, Any]"
"""Rows, and their classes or None."""


def check_page(path: Path | None) -> None:
    """Refuse a page that could not be written in the end, before any work is done for it.

    Parameters
    ----------
    path : Path or None
        Where it is to be written; None if none was asked for.
    """
    if path is None:
        return
    from ensemblage.persistence import check_writable
    from ensemblage.report import check_installed

    check_writable(path)
    check_installed()


def write_page(path: Path, builder: str, document: Any, **more: Any) -> None:
    """Make a page of a result and write it.

    Parameters
    ----------
    path : Path
        Where.
    builder : str
        Name of a function of ``ensemblage.report`` that makes the page.
    document : object
        The result, as ``--json`` prints it.
    **more : object
        What else the builder takes.
    """
    from ensemblage import report
    from ensemblage.persistence import write_atomically

    write_atomically(path, report.render(getattr(report, builder)(document, **more)))
    say(f"Report written to {path}.", stderr=True)


def data_name(data: str) -> str:
    """Name data after their file.

    Parameters
    ----------
    data : str
        What the user named: a path, or ``-``.

    Returns
    -------
    str
        The file's name without its folder.
    """
    return "standard input" if data == "-" else Path(data).name


def explanation(saved: SavedModel, name: str, rows: Rows | None, row: int | None) -> dict[str, Any]:
    """Gather what the page of a model shows.

    Parameters
    ----------
    saved : SavedModel
        The model.
    name : str
        Of its file.
    rows : tuple of (ndarray, array-like or None) or None
        Rows to look at, with their classes.
    row : int or None
        A row to explain.

    Returns
    -------
    dict
        Arguments of :func:`ensemblage.report.explanation_page`.
    """
    from ensemblage import explain as of
    from ensemblage.report import strata_figure

    shared = {"name": name, "details": saved.details}
    kind = of.model_kind(saved.model)
    if kind == "network":
        parents = of.named_parents(saved.model, saved.columns)
        document = {
            "parents": parents,
            "target": next(iter(parents)),
            "tables": of.named_tables(saved.model, saved.columns),
        }
        return {"document": document, **shared}
    if kind == "subspace":
        names, matrix = of.named_co_selection(saved.model, saved.columns)
        return {"document": {"features": names, "co_selection": matrix.tolist()}, **shared}
    X, y = rows or (None, None)
    return {
        "document": of.plain_explanation(of.explain_model(saved.model, X)),
        "strata_map": None if X is None else strata_figure(saved.model, X, y),
        "story": None if row is None else of.explain_row(saved.model, X, row),
        **shared,
    }
