"""What clusters are like, as a table of colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ensemblage.methods import Prototype
from ensemblage.pages import MINUS, Shade, ShadesBlock

MOST_COLUMNS = 24
FULL = 2.0
"""Standard deviations from the mean at which a colour has its full strength."""

Columns = Mapping[str, NDArray[np.float64]]


def prototype_figure(prototypes: Sequence[Prototype], rows: Columns) -> ShadesBlock | None:
    """Colour the clusters' means in the columns that hold numbers; None if there is no such column.

    The rows, NaN for a missing number, tell how much a column varies.
    """
    known = {name: column[~np.isnan(column)] for name, column in rows.items()}
    names = [
        name for name, column in known.items()
        if len(column) and all(each.typical[name] is not None for each in prototypes)
    ]  # fmt: skip
    if not names:
        return None
    shown = _most_telling(prototypes, known, names)
    left = len(names) - len(shown)
    most = f" The {left} columns in which the clusters differ least are left out." if left else ""
    return ShadesBlock(
        "cluster",
        [str(each.cluster) for each in prototypes],
        [(name, _shades(name, prototypes, known[name])) for name in shown],
        "Mean of each column in each cluster, in the units of the data. The warmer the colour, the "
        "further above the mean of all rows, the colder, the further below; at full strength by "
        f"{FULL:g} standard deviations.{most}",
        signed=True,
    )


def _shades(name: str, prototypes: Sequence[Prototype], column: NDArray[np.float64]) -> list[Shade]:
    values = np.array([each.typical[name] for each in prototypes], dtype=float)
    levels = np.clip((values - column.mean()) / (column.std() or 1.0) / FULL, -1, 1)
    return [
        Shade(f"{value:.4g}".replace("-", MINUS), float(level))
        for value, level in zip(values, levels, strict=True)
    ]


def _most_telling(prototypes: Sequence[Prototype], known: Columns, names: list[str]) -> list[str]:
    """Choose the columns in which the clusters differ most, in the order of the file."""
    means = np.array([[each.typical[name] for name in names] for each in prototypes], dtype=float)
    scale = np.array([known[name].std() or 1.0 for name in names])
    spread = dict(zip(names, (means.std(axis=0) / scale).tolist(), strict=True))
    best = set(sorted(names, key=lambda name: -spread[name])[:MOST_COLUMNS])
    return [name for name in names if name in best]
