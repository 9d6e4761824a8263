"""The papers' tables and figures by name, known without importing what computes them."""
# ruff: noqa: PLC0415  the command line's --help lists the names: NumPy waits inside the function

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
"""Each table has a file of its name beside its module, which holds what the paper printed.

The name starts with the paper's; a study that belongs to no paper has its folder to itself.
"""


def paper_experiment(
    name: str,
    *,
    scale: str = "standard",
    seed: int = 0,
    data_dir: str | None = None,
    datasets: Sequence[str] | None = None,
) -> Experiment:
    """Declare one of the papers' tables or figures.

    Parameters
    ----------
    name : str
        One of ``PAPER_EXPERIMENTS``.
    scale : {"quick", "standard", "full"}, default="standard"
        A small declared subset; a substantial run; or the paper's whole protocol.
    seed : int, default=0
        Seed of everything that is drawn; not negative.
    data_dir : str or None, default=None
        A folder of CSV files, see :func:`ensemblage.datasets.load_dataset`.
    datasets : sequence of str or None, default=None
        Some of the table's datasets; by default all that the scale has. A dataset that is not at
        hand is left out, and the table says so.

    Returns
    -------
    Experiment
        Nothing is computed yet.

    Examples
    --------
    >>> from ensemblage.papers import paper_experiment
    >>> experiment = paper_experiment("joint-figure2", scale="full")
    >>> len(experiment.cells)
    400
    """
    from ensemblage.papers._declaration import SCALES, PaperRequest, find_table

    if name not in PAPER_EXPERIMENTS:
        raise ValueError(
            f"There is no experiment {name!r}.{suggestion(name, PAPER_EXPERIMENTS)} "
            f"The experiments are: {', '.join(PAPER_EXPERIMENTS)}."
        )
    if scale not in SCALES:
        raise ValueError(f"scale={scale!r} is not known; give one of: {', '.join(SCALES)}.")
    if seed < 0:
        raise ValueError(f"seed={seed} is negative; give 0 or more.")
    folder = None if data_dir is None else str(data_dir)
    return find_table(name).declare(PaperRequest(scale, seed, folder, datasets))
