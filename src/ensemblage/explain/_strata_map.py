"""A map of the strata that matter, one small picture each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor

from ensemblage.evaluation import StrataDisplay
from ensemblage.explain._explanation import Subject
from ensemblage.messages import count
from ensemblage.pages import Block, MapBlock, MapPanel, Outline, TextBlock
from ensemblage.parallel import final_step

MOST_PANELS = 6
MOST_MAP_ROWS = 20_000
MOST_DRAWN = 250
"""Rows that stand out in a picture; more cover each other."""
WITHIN = 0.5
"""Membership from which a row is one of the stratum's."""
N_STD = 1.5


def strata_map(
    subject: Subject, names: Sequence[str], shares: Sequence[float] | None = None
) -> Block:
    """Map the strata that matter with the rows given, or say why there is no map.

    ``shares`` are the strata's in the decision about the row that is explained.
    """
    kept = _kept_rows(len(subject.X), subject.row)
    try:
        display = StrataDisplay.of_model(subject.model, subject.X[kept])
    except ValueError as error:
        return TextBlock([str(error)])
    mark = None if subject.row is None else int(np.searchsorted(kept, subject.row))
    own = None if mark is None else display.memberships[mark] + 2 * np.asarray(shares or 0.0)
    chosen = _that_matter(display, own)
    panels = [_panel(display, stratum, names[stratum], mark) for stratum in chosen]
    of_classes = subject.y is not None and not is_regressor(final_step(subject.model))
    groups = [str(label) for label in np.asarray(subject.y)[kept]] if of_classes else []
    n_strata = len(display.sizes)
    which = "each stratum" if len(panels) == n_strata else _which(len(panels), n_strata, mark)
    signs = "their class" if of_classes else "their stratum"
    across, up = display.axis_names
    return MapBlock(
        points=[(float(x), float(y)) for x, y in display.points],
        groups=groups,
        panels=panels,
        alt=f"{count(len(panels), 'map')} of {len(display.points):,} rows, a stratum in each: "
        f"{'; '.join(f'{panel.title}, {panel.text}' for panel in panels)}.",
        caption=f"The rows of {which} among all rows, with a sign for {signs}. An ellipse spans "
        "one and a half standard deviations; strata that overlap here may lie apart in other "
        f"dimensions. Across: {across}; upwards: {up}.",
        mark=mark,
        mark_name="" if subject.row is None else f"row {subject.row}",
    )


def _kept_rows(n_rows: int, row: int | None) -> NDArray[np.intp]:
    """Take every so-manieth row, and the one that is explained."""
    step = -(-n_rows // MOST_MAP_ROWS)
    kept = np.arange(0, n_rows, step)
    return kept if row is None else np.union1d(kept, row)


def _that_matter(display: Any, own: NDArray[np.float64] | None) -> list[int]:
    """Choose all strata if they are few; else the row's own, then those closest to most rows."""
    n_strata = len(display.sizes)
    closest = np.bincount(display.strongest[display.strongest >= 0], minlength=n_strata)
    order = sorted(range(n_strata), key=lambda stratum: -closest[stratum])
    if own is None:
        return sorted(order[:MOST_PANELS])
    order.sort(key=lambda stratum: -own[stratum] if own[stratum] >= WITHIN else 0.0)
    return order[:MOST_PANELS]


def _which(shown: int, n_strata: int, mark: int | None) -> str:
    first = "those closest to most rows" if mark is None else "the row's own first"
    return f"{shown} of the {n_strata} strata, {first},"


def _panel(display: Any, stratum: int, name: str, mark: int | None) -> MapPanel:
    memberships = display.memberships[:, stratum]
    rows = np.flatnonzero(memberships >= WITHIN)
    step = max(1, -(-len(rows) // MOST_DRAWN))
    variances, directions = np.linalg.eigh(display.covariances[stratum])
    axes = N_STD * np.sqrt(np.maximum(variances, 0)) * directions
    own = mark is not None and bool(memberships[mark] >= WITHIN)
    centre, first, second = (
        (float(a), float(b)) for a, b in (display.centres[stratum], axes[:, 0], axes[:, 1])
    )
    return MapPanel(
        title=name,
        text=count(len(rows), "row"),
        rows=rows[::step].tolist(),
        outline=Outline(centre, first, second) if len(rows) else None,
        own=own,
    )
