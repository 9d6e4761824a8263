"""Networks and co-selected features of a saved model, in the names of the user's columns."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

from sklearn.pipeline import Pipeline

from ensemblage.explain._co_selected import CoSelection, co_selected

# "numbers__x3", "words__x8_f", "x3": what preprocessing makes of column 3 or 8
ENCODED = re.compile(r"^(?:[a-z]+__)?(missingindicator_)?x(\d+)(?:_(.*))?$")


def model_kind(model: Any) -> str:
    """Tell what there is to read in a model.

    Parameters
    ----------
    model : estimator or Pipeline
        Fitted.

    Returns
    -------
    {"network", "subspace", "strata"}
        Strata also where there is nothing else to read; what explains strata then says so.
    """
    last = model[-1] if isinstance(model, Pipeline) else model
    if hasattr(last, "parents_"):
        return "network"
    return "subspace" if hasattr(last, "co_selection_") else "strata"


def column_name(encoded: str, columns: Sequence[str]) -> str:
    """Name an encoded feature after the column it comes from.

    Parameters
    ----------
    encoded : str
        As preprocessing or a network calls it.
    columns : sequence of str
        The columns of the file.

    Returns
    -------
    str
        The column, with the category where it is one of several.
    """
    found = ENCODED.match(encoded)
    if found is None or int(found[2]) >= len(columns):
        return encoded
    column = columns[int(found[2])]
    if found[1] is not None:
        return f"{column} missing"
    return column if found[3] is None else f"{column} = {found[3]}"


def named_parents(model: Any, columns: Sequence[str]) -> dict[str, list[str]]:
    """Give a network's parents in the names of the columns.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted network classifier.
    columns : sequence of str
        The columns of the file.

    Returns
    -------
    dict of str to list of str
        Parents of each node, the class first.
    """
    parents = (model[-1] if isinstance(model, Pipeline) else model).parents_
    return {
        column_name(node, columns): [column_name(each, columns) for each in above]
        for node, above in parents.items()
    }


def named_tables(model: Any, columns: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Give a network's tables in the names of the columns.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted network classifier.
    columns : sequence of str
        The columns of the file.

    Returns
    -------
    dict of str to dict
        Per node its ``states``, the ``cuts`` between them if they are ranges of a number, else
        None, its ``parents``, and ``rows``: which state of each parent is ``given``, by position,
        and the ``probabilities`` of the states.
    """
    last = model[-1] if isinstance(model, Pipeline) else model
    network = last.graph()
    tables = {}
    for node in network.nodes:
        table, cuts = network.tables[node], last.cut_points_.get(node)
        given, chances = table["configurations"].tolist(), table["probabilities"].tolist()
        tables[column_name(node, columns)] = {
            "states": network.states[node],
            "cuts": None if cuts is None else cuts.tolist(),
            "parents": [column_name(parent, columns) for parent in table["parents"]],
            "rows": [
                {"given": codes, "probabilities": shares}
                for codes, shares in zip(given, chances, strict=True)
            ],
        }
    return tables


def named_co_selection(model: Any, columns: Sequence[str], top: int = 12) -> CoSelection:
    """Give the co-selection matrix in the names of the columns.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted estimator of ``ensemblage.subspace``.
    columns : sequence of str
        The columns of the file.
    top : int, default=12
        So many features at most, the most used first.

    Returns
    -------
    CoSelection
        Names and shares.
    """
    found = co_selected(model, top)
    return CoSelection([column_name(name, columns) for name in found.feature_names], found.matrix)


def draw_readable(model: Any, columns: Sequence[str], *, kind: str = "png") -> bytes:
    """Draw a network, or the features that are chosen together.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted network classifier, or an estimator of ``ensemblage.subspace``.
    columns : sequence of str
        The columns of the file.
    kind : {"png", "svg", "pdf"}, default="png"
        Format of the picture.

    Returns
    -------
    bytes
        The file.
    """
    from ensemblage.evaluation import (  # noqa: PLC0415  needs matplotlib
        CoSelectionDisplay,
        NetworkDisplay,
    )

    if model_kind(model) == "network":
        last = model[-1] if isinstance(model, Pipeline) else model
        display: Any = NetworkDisplay(named_parents(model, columns), last.target_name_)
    else:
        names, matrix = named_co_selection(model, columns)
        display = CoSelectionDisplay(matrix, feature_names=names)
    buffer = io.BytesIO()
    display.plot().figure_.savefig(buffer, format=kind, dpi=150, bbox_inches="tight")
    return buffer.getvalue()
