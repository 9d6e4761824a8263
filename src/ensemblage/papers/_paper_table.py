"""A paper's table as a declaration, and the registry that tables enter by a decorator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, wraps
from importlib import import_module
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec
from threadpoolctl import threadpool_limits

from ensemblage.papers._paper_rows import Repeats, entry
from ensemblage.papers._paper_scope import PaperRequest, PaperScope, Scales, ScaleT, find_scope
from ensemblage.papers._printed_table import PrintedTable, read_printed
from ensemblage.runs import Cell, CellResult, Experiment, ResultRow, ResultTable, recorded_warnings

Compute: TypeAlias = Callable[[Cell, str | None], Mapping[str, Any]]
ParamsT = TypeVar("ParamsT")
TableT = TypeVar("TableT", bound="type[PaperTable[Any]]")


class PaperTable(ABC, Generic[ScaleT]):
    """One of a paper's tables or figures: its grid at three scales, its computation, its layout.

    A subclass in the module ``papers/PAPER/_PAPER_TABLE.py``, with the file ``PAPER-TABLE.toml`` of
    what the paper printed beside it, enters the registry by :func:`paper_table`.
    """

    name: str
    scales: Scales[ScaleT]
    quick_datasets: tuple[str, ...] = ()
    """Those of the quick scale, if it does not have all."""
    family: str = ""
    """Name in the keys of the cells, for tables that are made from the same cells."""
    version: int = 1
    """Of the protocol: a change that alters values raises it."""

    @property
    def printed(self) -> PrintedTable:
        """What the paper has."""
        return read_printed(self.name)

    def datasets(self, scale: str) -> tuple[str, ...]:
        """Name the datasets that can be asked for at a scale."""
        return tuple(self.printed.rows)

    def generated(self, scale: str) -> tuple[str, ...]:
        """Name those of them that are made, not loaded."""
        return self.printed.stand_ins

    @abstractmethod
    def grid(self, scope: PaperScope) -> Iterable[msgspec.Struct]:
        """Parameters of every cell, in the order in which to compute them."""

    @staticmethod
    @abstractmethod
    def compute(cell: Cell, data_dir: str | None, /) -> Mapping[str, Any]:
        """Values of one cell; static, since it is sent to other processes by its name."""

    @abstractmethod
    def summarise(self, results: Sequence[CellResult], scope: PaperScope) -> list[ResultTable]:
        """Put whatever results there are so far beside the paper's."""

    def declare(self, request: PaperRequest) -> Experiment:
        """Make an experiment of what is asked for, with the data that are at hand."""
        scale = request.scale
        if request.datasets is None and scale == "quick" and self.quick_datasets:
            request = request._replace(datasets=self.quick_datasets)
        scope = find_scope(request, self.datasets(scale), self.generated(scale))
        family = self.family or self.name
        cells = [scope.cell(family, self.version, params) for params in self.grid(scope)]
        summarise = partial(self.summarise, scope=scope)
        return Experiment(
            self.name, self.printed.title, cells, self.compute, summarise, request.data_dir
        )

    def scale_of(self, scope: PaperScope) -> ScaleT:
        """Give what is declared for the scale."""
        return self.scales.at(scope.scale)

    def entry(
        self,
        row: str,
        column: str,
        values: Repeats | Iterable[float],
        failures: int = 0,
        note: str | None = None,
    ) -> ResultRow:
        """Average the repeats beside the paper's figure; without a note it has the row's."""
        printed = self.printed
        return entry(
            row, column, values, paper=printed.value(row, column), failures=failures,
            note=printed.note(row) if note is None else note,
            comparable=row not in printed.stand_ins,
        )  # fmt: skip


_TABLES: dict[str, PaperTable[Any]] = {}


def paper_table(name: str) -> Callable[[TableT], TableT]:
    """Enter a table in the registry, under the name of its data file."""

    def enter(table: TableT) -> TableT:
        table.name = name
        _TABLES[name] = table()
        return table

    return enter


def find_table(name: str) -> PaperTable[Any]:
    """Import the module that is named like the table, which enters it."""
    paper = name.partition("-")[0]
    import_module(f"ensemblage.papers.{paper}._{name.replace('-', '_')}")
    return _TABLES[name]


def paper_cell(
    kind: type[ParamsT],
) -> Callable[[Callable[[ParamsT, str | None], Mapping[str, Any]]], Compute]:
    """Compute from a cell's parameters as a value of their kind.

    On one thread, so that sums have one order, and without warnings.
    """

    def guard(compute: Callable[[ParamsT, str | None], Mapping[str, Any]]) -> Compute:
        @wraps(compute)  # with its name it can be sent to another process
        def guarded(cell: Cell, data_dir: str | None) -> Mapping[str, Any]:
            params = msgspec.convert(dict(cell.params), kind)
            with threadpool_limits(limits=1), recorded_warnings():
                return dict(compute(params, data_dir))

        return guarded

    return guard
