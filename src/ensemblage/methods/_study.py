"""A study: datasets x methods x repeats x folds, as cells; a comparison is one too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from ensemblage.methods._splits import Splits
from ensemblage.runs import Cell, Plain

# Of how cells are computed; a change that alters values raises it.
VERSION = 2


class MethodPoint(NamedTuple):
    """A method with one set of parameters, under a label that no other point has."""

    name: str
    label: str
    params: Mapping[str, Any]


class StudyParams(Struct, frozen=True, omit_defaults=True):
    """What tells one cell of a study from another; what is usual is left out of the cell."""

    dataset: str
    method: str
    params: dict[str, Any]
    repeat: int
    fold: int
    seed: int
    folds: int | None = None
    test_share: float | None = None
    new_sources: bool = False
    quick: bool = False

    @classmethod
    def of(cls, cell: Cell) -> StudyParams:
        """Read a cell."""
        return msgspec.convert(cell.params, cls)

    @property
    def splits(self) -> Splits:
        """How the rows are split, but for the number of repeats."""
        return Splits(
            self.seed, folds=self.folds, test_share=self.test_share, new_sources=self.new_sources,
            quick=self.quick,
        )  # fmt: skip


@dataclass(frozen=True)
class Study:
    """What is to be repeated; the datasets by their names."""

    name: str
    title: str
    datasets: tuple[str, ...]
    methods: tuple[MethodPoint, ...]
    splits: Splits
    measure: str = "accuracy"

    def cells(self, hashes: Mapping[str, str]) -> list[Cell]:
        """First repeats first, so that a table of all entries is there early."""
        return [
            Cell(self.name, self._params(dataset, method, place), VERSION, hashes[dataset])
            for place in self.splits.places()
            for dataset in self.datasets
            for method in self.methods
        ]

    def _params(
        self, dataset: str, method: MethodPoint, place: tuple[int, int]
    ) -> dict[str, Plain]:
        splits = self.splits
        params = StudyParams(
            dataset, method.name, dict(method.params), *place, splits.seed, splits.folds,
            splits.test_share, splits.new_sources, splits.quick,
        )  # fmt: skip
        return dict(msgspec.to_builtins(params))
