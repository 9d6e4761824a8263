"""Declarations of the tables and figures of the papers."""

from __future__ import annotations

import os
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial, wraps
from importlib import import_module
from importlib.resources import files
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import msgspec
from threadpoolctl import threadpool_limits

from ensemblage.datasets import Dataset, dataset_fingerprint, find_folder, load_dataset
from ensemblage.papers._summaries import Repeats, entry, mean_rows
from ensemblage.studies import (
    Cell,
    CellResult,
    Experiment,
    ResultRow,
    ResultTable,
    recorded_warnings,
)


class Remarks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Notes on a table, which several tables of a paper may share.

    ``stand_ins`` are rows with generated data, where the paper's data are not available.
    ``library`` holds prefixes of the columns of this library's methods.
    """

    notes: tuple[str, ...] = ()
    row_note: str = ""
    row_notes: dict[str, str] = {}
    stand_ins: tuple[str, ...] = ()
    library: tuple[str, ...] = ()


class PrintedTable(Remarks, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table or figure as printed in the paper: for each row, one value per column.

    ``variances`` has what is printed beside the values as their variance, if anything.
    ``remarks`` is the stem of the file with notes that it shares with other tables.
    """

    title: str
    columns: tuple[str, ...] = ()
    rows: dict[str, tuple[float, ...]] = {}
    variances: dict[str, tuple[float, ...]] = {}
    remarks: str = ""

    def __post_init__(self) -> None:
        for row, line in (*self.rows.items(), *self.variances.items()):
            if len(line) != len(self.columns):
                raise ValueError(f"{row} has {len(line)} values for {len(self.columns)} columns.")

    def value(self, row: str, column: str) -> float | None:
        return self._printed(self.rows, row, column)

    def variance(self, row: str, column: str) -> float | None:
        return self._printed(self.variances, row, column)

    def _printed(self, lines: dict[str, tuple[float, ...]], row: str, column: str) -> float | None:
        if row not in lines or column not in self.columns:
            return None
        return lines[row][self.columns.index(column)]

    def note(self, row: str) -> str:
        """Note on a row; may be empty."""
        return self.row_notes.get(row, self.row_note)


@lru_cache(maxsize=32)
def read_printed(name: str) -> PrintedTable:
    """Read a table as printed in the paper, with its shared notes."""
    paper = name.partition("-")[0]
    own = _read(paper, name, PrintedTable)
    if not own.remarks:
        return own
    shared = _read(paper, own.remarks, Remarks)
    return msgspec.structs.replace(
        own,
        notes=own.notes + shared.notes,
        row_notes=shared.row_notes | own.row_notes,
        stand_ins=own.stand_ins + shared.stand_ins,
        library=own.library + shared.library,
    )


_Kind = TypeVar("_Kind", bound=Remarks)


def _read(paper: str, stem: str, kind: type[_Kind]) -> _Kind:
    file = files("ensemblage.papers").joinpath(paper, f"{stem}.toml")
    return msgspec.convert(tomllib.loads(file.read_text("utf-8")), kind)


# Seeds of one user's seed: one for each repeat.
SEED_STEP = 1000

ScaleT = TypeVar("ScaleT")


class Scales(NamedTuple, Generic[ScaleT]):
    """Settings of a table at each scale: a small subset, a substantial run, the full protocol."""

    quick: ScaleT
    standard: ScaleT
    full: ScaleT

    def at(self, scale: str) -> ScaleT:
        return dict(zip(SCALES, self, strict=True))[scale]


SCALES = Scales._fields


class PaperRequest(NamedTuple):
    """Options of a run of a paper's table; ``datasets=None`` means all of the scale."""

    scale: str
    seed: int
    data_dir: str | None = None
    datasets: Sequence[str] | None = None


@dataclass(frozen=True)
class PaperScope:
    """What to run: ``prints`` are the fingerprints of the available datasets, in order.

    Generated data have an empty fingerprint. ``missing`` gives the reason why a dataset is not
    available.
    """

    scale: str
    seed: int
    prints: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)

    @property
    def datasets(self) -> tuple[str, ...]:
        return tuple(self.prints)

    def cell(self, experiment: str, version: int, params: msgspec.Struct) -> Cell:
        facts: dict[str, Any] = msgspec.to_builtins(params)
        return Cell(experiment, facts, version, self.prints.get(facts.get("dataset", ""), ""))

    @property
    def missing_notes(self) -> tuple[str, ...]:
        return tuple(f"{name} is not available: {why}" for name, why in self.missing.items())


def find_scope(
    request: PaperRequest,
    known: Sequence[str],
    generated: Sequence[str] = (),
    fingerprint: Callable[[str, str | None], str] | None = None,
) -> PaperScope:
    """Find the available datasets before any work starts; at least one is needed."""
    fingerprint = fingerprint or dataset_print
    names = tuple(dict.fromkeys(known if request.datasets is None else request.datasets))
    for name in names:
        if name not in known:
            raise ValueError(
                f"The table has no dataset {name!r}. Its datasets are: {', '.join(known)}."
            )
    folder = request.data_dir
    find_folder(folder)  # a wrong folder is an error, not a missing dataset
    prints, missing = {}, {}
    for name in names:
        try:
            made = name in generated
            prints[name] = "" if made else fingerprint(name, folder)
        except (ValueError, OSError) as error:
            missing[name] = str(error)
    if names and not prints:
        raise ValueError(
            f"None of the datasets is available ({', '.join(names)}). "
            f"{next(iter(missing.values()))}"
        )
    return PaperScope(request.scale, request.seed, prints, missing)


def dataset_print(name: str, data_dir: str | None) -> str:
    """Fingerprint of a dataset, read once per process."""
    return _fingerprint(name, data_dir, _environment())


def paper_dataset(name: str, data_dir: str | None) -> Dataset:
    """Load a dataset, once per process: a cell often takes less time than reading its file.

    It is shared; do not modify it.
    """
    return _loaded(name, data_dir, _environment())


def repeat_seed(seed: int, repeat: int) -> int:
    """Seed of a repeat (below 1000), the same for all methods, so that they share its split."""
    return SEED_STEP * seed + repeat


@lru_cache(maxsize=32)
def _loaded(name: str, data_dir: str | None, environment: str | None) -> Dataset:  # noqa: ARG001
    return load_dataset(name, data_dir)


@lru_cache(maxsize=64)
def _fingerprint(name: str, data_dir: str | None, environment: str | None) -> str:
    return dataset_fingerprint(_loaded(name, data_dir, environment))


def _environment() -> str | None:
    return os.environ.get("ENSEMBLAGE_DATA")


Compute: TypeAlias = Callable[[Cell, str | None], Mapping[str, Any]]
ParamsT = TypeVar("ParamsT")
TableT = TypeVar("TableT", bound="type[PaperTable[Any]]")


class PaperTable(ABC, Generic[ScaleT]):
    """A table or figure of a paper: its grid at three scales, its computation, its layout.

    A subclass in a module that ``papers/PAPER/__init__.py`` imports is registered by
    :func:`paper_table`; the file ``PAPER-TABLE.toml`` beside it holds the paper's values.
    """

    name: str
    scales: Scales[ScaleT]
    quick_datasets: tuple[str, ...] = ()
    """Datasets of the quick scale, if it does not have all."""
    family: str = ""
    """Name in the keys of the cells, for tables that are made from the same cells."""
    version: int = 1
    """Version of the protocol; raised by a change that alters values."""

    @property
    def printed(self) -> PrintedTable:
        return read_printed(self.name)

    def datasets(self, scale: str) -> tuple[str, ...]:
        """Names of the datasets of a scale."""
        return tuple(self.printed.rows)

    def generated(self, scale: str) -> tuple[str, ...]:
        """Names of the generated datasets among them."""
        return self.printed.stand_ins

    def fingerprint(self, name: str, data_dir: str | None) -> str:
        """Hash of a dataset's content; raises a ValueError if it is not available."""
        return dataset_print(name, data_dir)

    @abstractmethod
    def grid(self, scope: PaperScope) -> Iterable[msgspec.Struct]:
        """Parameters of every cell, in order of computation."""

    @staticmethod
    @abstractmethod
    def compute(cell: Cell, data_dir: str | None, /) -> Mapping[str, Any]:
        """Values of one cell; static, since other processes import it by name."""

    @abstractmethod
    def summarise(self, results: Sequence[CellResult], scope: PaperScope) -> list[ResultTable]:
        """Make tables of the results so far and the paper's values."""

    def declare(self, request: PaperRequest) -> Experiment:
        """Make the experiment of a request, with the available datasets."""
        scale = request.scale
        if request.datasets is None and scale == "quick" and self.quick_datasets:
            request = request._replace(datasets=self.quick_datasets)
        scope = find_scope(request, self.datasets(scale), self.generated(scale), self.fingerprint)
        family = self.family or self.name
        cells = [scope.cell(family, self.version, params) for params in self.grid(scope)]
        summarise = partial(self._tables, scope=scope)
        return Experiment(
            self.name, self.printed.title, cells, self.compute, summarise, request.data_dir
        )

    def _tables(self, results: Sequence[CellResult], scope: PaperScope) -> list[ResultTable]:
        """Summarise, and mark the columns of this library's methods."""
        return [self._with_library(table) for table in self.summarise(results, scope)]

    def _with_library(self, table: ResultTable) -> ResultTable:
        columns = dict.fromkeys(row.column for row in table.rows)
        own = [name for name in columns if name.startswith(self.printed.library)]
        return msgspec.structs.replace(table, library=own)

    def scale_of(self, scope: PaperScope) -> ScaleT:
        return self.scales.at(scope.scale)

    def entry(
        self,
        row: str,
        column: str,
        values: Repeats | Iterable[float],
        failures: int = 0,
        note: str | None = None,
    ) -> ResultRow:
        """Mean of the repeats and the paper's value; the note defaults to the row's."""
        printed = self.printed
        return entry(
            row, column, values, paper=printed.value(row, column), failures=failures,
            note=printed.note(row) if note is None else note,
            comparable=row not in printed.stand_ins,
        )  # fmt: skip

    def measure_table(
        self,
        stem: str,
        measure: str,
        rows: Sequence[ResultRow],
        summary: Sequence[str],
        scope: PaperScope,
        *,
        greater_is_better: bool | None,
        part: str = "",
    ) -> ResultTable:
        """Make a table of one measure, with the means over datasets."""
        columns = tuple(dict.fromkeys(row.column for row in rows))
        return ResultTable(
            f"{self.name}-{stem}", f"{self.printed.title}: {part}{measure}", measure,
            [*rows, *mean_rows(rows, columns)], list(summary),
            (*self.printed.notes, *scope.missing_notes), greater_is_better=greater_is_better,
        )  # fmt: skip


_TABLES: dict[str, PaperTable[Any]] = {}


def paper_table(name: str) -> Callable[[TableT], TableT]:
    """Register a table under the name of its data file."""

    def enter(table: TableT) -> TableT:
        table.name = name
        _TABLES[name] = table()
        return table

    return enter


def find_table(name: str) -> PaperTable[Any]:
    """Import the paper, which registers its tables, and return one of them."""
    import_module(f"ensemblage.papers.{name.partition('-')[0]}")
    return _TABLES[name]


def paper_cell(
    kind: type[ParamsT],
) -> Callable[[Callable[[ParamsT, str | None], Mapping[str, Any]]], Compute]:
    """Decorate a function of typed parameters as the computation of a cell.

    It runs on one thread, so that sums have the same order everywhere, and without warnings.
    """

    def guard(compute: Callable[[ParamsT, str | None], Mapping[str, Any]]) -> Compute:
        @wraps(compute)  # other processes import it by its name
        def guarded(cell: Cell, data_dir: str | None) -> Mapping[str, Any]:
            params = msgspec.convert(dict(cell.params), kind)
            with threadpool_limits(limits=1), recorded_warnings():
                return dict(compute(params, data_dir))

        return guarded

    return guard
