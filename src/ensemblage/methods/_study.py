"""A study: datasets x methods x repeats x folds, as cells; a comparison is one too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ensemblage.methods._splits import Splits
from ensemblage.runs import Cell

# Of how cells are computed; a change that alters values raises it.
VERSION = 2


class MethodPoint(NamedTuple):
    """A method with one set of parameters, under a label that no other point has."""

    name: str
    label: str
    params: Mapping[str, Any]


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
            Cell(
                self.name,
                {
                    "dataset": dataset, "method": method.name, "params": dict(method.params),
                    "repeat": repeat, "fold": fold, **self.splits.params(),
                },
                VERSION,
                hashes[dataset],
            )
            for repeat, fold in self.splits.places()
            for dataset in self.datasets
            for method in self.methods
        ]  # fmt: skip
