"""The papers' tables and figures by name, without importing their code."""
# ruff: noqa: PLC0415  --help lists the names, so NumPy is imported inside the function

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ensemblage._core import suggestion

if TYPE_CHECKING:
    from ensemblage.studies import Experiment

PAPER_EXPERIMENTS = tuple(
    sorted(
        file.stem
        for file in Path(__file__).parent.glob("*/*.toml")
        if file.stem.partition("-")[0] == file.parent.name
    )
)
"""Names of the tables: stems of the TOML files with the papers' values.

A name starts with the paper's; a study that belongs to no paper has its own folder.
"""


def paper_experiment(
    name: str,
    *,
    scale: str = "standard",
    seed: int = 0,
    data_dir: str | None = None,
    datasets: Sequence[str] | None = None,
) -> Experiment:
    """Return the experiment of a paper's table or figure.

    Parameters
    ----------
    name : str
        One of ``PAPER_EXPERIMENTS``.
    scale : {"quick", "standard", "full"}, default="standard"
        A small subset, a substantial run, or the paper's full protocol.
    seed : int, default=0
        Random seed; not negative.
    data_dir : str or None, default=None
        A folder of CSV files, see :func:`ensemblage.datasets.load_dataset`.
    datasets : sequence of str or None, default=None
        Some of the table's datasets; by default all of the scale. A dataset that is not available
        is left out, with a note.

    Returns
    -------
    Experiment
        Its cells are not computed yet.

    Examples
    --------
    >>> from ensemblage.papers import paper_experiment
    >>> experiment = paper_experiment("joint-figure2", scale="full")
    >>> len(experiment.cells)
    1200
    """
    from ensemblage.papers._declaration import SCALES, PaperRequest, find_table

    if name not in PAPER_EXPERIMENTS:
        raise ValueError(
            f"Unknown experiment {name!r}.{suggestion(name, PAPER_EXPERIMENTS)} "
            f"Known experiments: {', '.join(PAPER_EXPERIMENTS)}."
        )
    if scale not in SCALES:
        raise ValueError(f"scale={scale!r} is not one of: {', '.join(SCALES)}.")
    if seed < 0:
        raise ValueError(f"seed={seed} is negative; it must be 0 or more.")
    folder = None if data_dir is None else str(data_dir)
    return find_table(name).declare(PaperRequest(scale, seed, folder, datasets))
