"""Columns over a grid of settings: all of them, those that improved, the best one."""

from __future__ import annotations

from collections.abc import Sequence

from ensemblage.papers._paper_rows import Repeats, averaged, entry, improving, mean_of
from ensemblage.runs import ResultRow

ALL, IMPROVING, BEST = "inner, all settings", "inner, improving settings", "inner, best setting"

SELECTION_NOTE = (
    f"'{IMPROVING}' is the paper's average: it leaves out the settings that did not beat the plain "
    f"method on the very data that are reported, and so cannot lose. '{BEST}' is chosen in the "
    f"same way. '{ALL}' leaves nothing out."
)


def selection_rows(
    row: str,
    settings: Sequence[Repeats],
    plain: Repeats,
    paper: tuple[float | None, float | None],
    failures: int,
    note: str = "",
) -> list[ResultRow]:
    """Average over a grid, over its improving settings, and take its best.

    Parameters
    ----------
    row : str
        The dataset.
    settings : sequence of mapping
        Values by repeat, one mapping per setting that has any.
    plain : mapping
        The plain method's values.
    paper : tuple of float or None
        The paper's average over improving settings, and its best.
    failures : int
        Cells that failed.
    note : str, default=""
        Of the dataset.

    Returns
    -------
    list of ResultRow
        Three; where no setting improved, the second is the plain method, as in the paper.
    """
    better = improving(settings, plain)
    none = f"No setting improved: the plain method's value. {note}".strip()
    best = max(settings, key=mean_of, default={})
    mean = averaged(settings)
    chosen = averaged(better) if better else {r: plain[r] for r in mean if r in plain}
    return [
        entry(row, ALL, mean, failures=failures, note=note),
        entry(
            row, IMPROVING, chosen, paper=paper[0], failures=failures,
            note=note if better or not settings else none,
        ),
        entry(row, BEST, best, paper=paper[1], failures=failures, note=note),
    ]  # fmt: skip


def share_row(
    row: str,
    column: str,
    settings: Sequence[Repeats],
    plain: Repeats,
    paper: float | None,
    failures: int = 0,
) -> ResultRow:
    """Share of the settings that improved on the plain method, in per cent.

    Parameters
    ----------
    row, column : str
        Where it stands.
    settings : sequence of mapping
        Values by repeat, one mapping per setting that has any.
    plain : mapping
        The plain method's values.
    paper : float or None
        The paper's share.
    failures : int, default=0
        Cells that failed.

    Returns
    -------
    ResultRow
        ``repeats`` counts the settings; a standard error would mean nothing.
    """
    known = [setting for setting in settings if setting] if plain else []
    share = 100.0 * len(improving(known, plain)) / len(known) if known else None
    return ResultRow(row, column, paper, share, None, len(known), failures)
