"""The papers' tables and figures by name, as experiments to run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib import import_module

from ensemblage.messages import suggestion
from ensemblage.papers._paper_scope import SCALES
from ensemblage.runs import Experiment

_HOMES = {
    "hiss-table2": ("hiss._hiss_tables", "declare_hiss"),
    "hiss-table3": ("hiss._hiss_tables", "declare_hiss"),
    "joint-figure1": ("joint._joint_figure1", "declare_joint_figure1"),
    "joint-figure2": ("joint._joint_figure2", "declare_joint_figure2"),
    "joint-table2": ("joint._joint_table2", "declare_joint_table2"),
    "inner-table1": ("inner._inner_table1", "declare_inner_table1"),
    "inner-figure2": ("inner._inner_figure2", "declare_inner_figure2"),
    "inner-table2": ("inner._inner_tables23", "declare_inner_clusters"),
    "inner-table3": ("inner._inner_tables23", "declare_inner_clusters"),
    "inner-noise": ("inner._inner_noise", "declare_inner_noise"),
}
PAPER_EXPERIMENTS = tuple(_HOMES)


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
    if name not in _HOMES:
        raise ValueError(
            f"There is no experiment {name!r}.{suggestion(name, _HOMES)} "
            f"The experiments are: {', '.join(_HOMES)}."
        )
    if scale not in SCALES:
        raise ValueError(f"scale={scale!r} is not known; give one of: {', '.join(SCALES)}.")
    if seed < 0:
        raise ValueError(f"seed={seed} is negative; give 0 or more.")
    module, function = _HOMES[name]
    declare = partial(getattr(import_module(f"ensemblage.papers.{module}"), function), name)
    folder = None if data_dir is None else str(data_dir)
    return declare(scale, seed, folder, datasets)
