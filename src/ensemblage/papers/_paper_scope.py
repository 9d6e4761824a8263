"""What a reproduction covers: its scale, its seed, and which of the paper's data are at hand."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from ensemblage.datasets import Dataset, dataset_fingerprint, list_datasets, load_dataset
from ensemblage.runs import Cell

SEED_STEP = 1000

ScaleT = TypeVar("ScaleT")


class Scales(NamedTuple, Generic[ScaleT]):
    """What a table runs at each scale: a declared part, a substantial run, the whole protocol."""

    quick: ScaleT
    standard: ScaleT
    full: ScaleT

    def at(self, scale: str) -> ScaleT:
        """Give what runs at the scale of that name."""
        return dict(zip(SCALES, self, strict=True))[scale]


SCALES = Scales._fields


class PaperRequest(NamedTuple):
    """What a user asks of a paper's table; no datasets named means all that the scale has."""

    scale: str
    seed: int
    data_dir: str | None = None
    datasets: Sequence[str] | None = None


@dataclass(frozen=True)
class PaperScope:
    """What to run: ``prints`` are the fingerprints of the datasets at hand, in order.

    Generated data have an empty print. ``missing`` says why a dataset is not at hand.
    """

    scale: str
    seed: int
    prints: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)

    @property
    def datasets(self) -> tuple[str, ...]:
        """Those to run."""
        return tuple(self.prints)

    def cell(self, experiment: str, version: int, params: msgspec.Struct) -> Cell:
        """Declare one cell, with its dataset's fingerprint."""
        facts: dict[str, Any] = msgspec.to_builtins(params)
        return Cell(experiment, facts, version, self.prints.get(facts.get("dataset", ""), ""))

    @property
    def missing_notes(self) -> tuple[str, ...]:
        """One sentence on each dataset that was left out."""
        return tuple(f"{name} is left out: {why}" for name, why in self.missing.items())


def find_scope(
    request: PaperRequest, known: Sequence[str], generated: Sequence[str] = ()
) -> PaperScope:
    """Look for the datasets before any work starts; at least one is at hand."""
    names = tuple(dict.fromkeys(known if request.datasets is None else request.datasets))
    for name in names:
        if name not in known:
            raise ValueError(f"The table has no dataset {name!r}; it has: {', '.join(known)}.")
    folder = request.data_dir
    list_datasets(folder)  # a folder that is none is an error at once, not a missing dataset
    prints, missing = {}, {}
    for name in names:
        try:
            made = name in generated
            prints[name] = "" if made else _fingerprint(name, folder, _environment())
        except (ValueError, OSError) as error:
            missing[name] = str(error)
    if names and not prints:
        raise ValueError(
            f"None of the datasets is at hand ({', '.join(names)}). {next(iter(missing.values()))}"
        )
    return PaperScope(request.scale, request.seed, prints, missing)


def paper_dataset(name: str, data_dir: str | None) -> Dataset:
    """Load a dataset, once per process: a cell often takes less time than reading its file.

    It is shared, and not to be written to.
    """
    return _loaded(name, data_dir, _environment())


def repeat_seed(seed: int, repeat: int) -> int:
    """Seed of one repeat (below 1000), the same for all methods, so that they share its split."""
    return SEED_STEP * seed + repeat


@lru_cache(maxsize=32)
def _loaded(name: str, data_dir: str | None, environment: str | None) -> Dataset:  # noqa: ARG001
    return load_dataset(name, data_dir)


@lru_cache(maxsize=64)
def _fingerprint(name: str, data_dir: str | None, environment: str | None) -> str:
    return dataset_fingerprint(_loaded(name, data_dir, environment))


def _environment() -> str | None:
    return os.environ.get("ENSEMBLAGE_DATA")
