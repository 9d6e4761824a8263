"""What a reproduction covers: its scale, its seed, and which of the paper's data are at hand."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, wraps
from typing import Any

from threadpoolctl import threadpool_limits

from ensemblage.datasets import Dataset, dataset_fingerprint, list_datasets, load_dataset
from ensemblage.runs import Cell, recorded_warnings

SCALES = ("quick", "standard", "full")
SEED_STEP = 1000


@dataclass(frozen=True)
class PaperScope:
    """What to run of a paper's experiment.

    Parameters
    ----------
    scale : {"quick", "standard", "full"}
        How much.
    seed : int
        The user's seed.
    data_dir : str or None
        Folder of CSV files.
    prints : mapping of str to str
        The datasets to run, in order, with their fingerprints; empty for generated ones.
    missing : mapping of str to str
        Those that are not at hand, and why.
    """

    scale: str
    seed: int
    data_dir: str | None = None
    prints: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)

    def cell(self, experiment: str, version: int, **params: Any) -> Cell:
        """Declare one cell, with the user's seed and its dataset's fingerprint.

        Parameters
        ----------
        experiment : str
            Name that the cell's key holds; two tables made from the same cells share it.
        version : int
            Of the protocol.
        **params : plain values
            What distinguishes the cell.

        Returns
        -------
        Cell
        """
        data = self.prints.get(params.get("dataset", ""), "")
        return Cell(experiment, {**params, "seed": self.seed}, version, data)

    @property
    def missing_notes(self) -> tuple[str, ...]:  # numpydoc ignore=RT01
        """One sentence on each dataset that was left out."""
        return tuple(f"{name} is left out: {why}" for name, why in self.missing.items())


def make_scope(
    scale: str,
    seed: int,
    data_dir: str | None,
    known: Sequence[str],
    chosen: Sequence[str] | None = None,
    generated: Sequence[str] = (),
) -> PaperScope:
    """Look for the datasets before any work starts.

    Parameters
    ----------
    scale : {"quick", "standard", "full"}
        How much to run.
    seed : int
        The user's seed.
    data_dir : str or None
        Folder of CSV files.
    known : sequence of str
        The datasets that the experiment has.
    chosen : sequence of str or None, default=None
        Some of them; all if not given.
    generated : sequence of str, default=()
        Those that are made, not loaded.

    Returns
    -------
    PaperScope
        With at least one dataset.
    """
    names = tuple(dict.fromkeys(known if chosen is None else chosen))
    for name in names:
        if name not in known:
            raise ValueError(f"The table has no dataset {name!r}; it has: {', '.join(known)}.")
    list_datasets(data_dir)  # a folder that is none is an error at once, not a missing dataset
    prints, missing = {}, {}
    for name in names:
        try:
            made = name in generated
            prints[name] = "" if made else _fingerprint(name, data_dir, _environment())
        except (ValueError, OSError) as error:
            missing[name] = str(error)
    if names and not prints:
        raise ValueError(
            f"None of the datasets is at hand ({', '.join(names)}). {next(iter(missing.values()))}"
        )
    return PaperScope(scale, seed, data_dir, prints, missing)


def paper_dataset(name: str, data_dir: str | None) -> Dataset:
    """Load a dataset, once per process: a cell often takes less time than reading its file.

    Parameters
    ----------
    name : str
        As for :func:`ensemblage.datasets.load_dataset`.
    data_dir : str or None
        Likewise.

    Returns
    -------
    Dataset
        Shared: not to be written to.
    """
    return _loaded(name, data_dir, _environment())


def repeat_seed(seed: int, repeat: int) -> int:
    """Seed of one repeat, the same for all methods, so that they share its split.

    Parameters
    ----------
    seed : int
        The user's seed.
    repeat : int
        Below 1000.

    Returns
    -------
    int
        The repeat itself for a seed of zero.
    """
    return SEED_STEP * seed + repeat


def paper_cell(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Compute on one thread, so that sums have one order, and without warnings.

    Parameters
    ----------
    compute : callable
        ``compute(cell, data_dir)``.

    Returns
    -------
    callable
        With the same name, so that it can be sent to another process.
    """

    @wraps(compute)
    def guarded(cell: Cell, data_dir: str | None = None) -> dict[str, Any]:
        with threadpool_limits(limits=1), recorded_warnings():
            return dict(compute(cell, data_dir))

    return guarded


@lru_cache(maxsize=32)
def _loaded(name: str, data_dir: str | None, environment: str | None) -> Dataset:  # noqa: ARG001
    return load_dataset(name, data_dir)


@lru_cache(maxsize=64)
def _fingerprint(name: str, data_dir: str | None, environment: str | None) -> str:
    return dataset_fingerprint(_loaded(name, data_dir, environment))


def _environment() -> str | None:
    return os.environ.get("ENSEMBLAGE_DATA")
