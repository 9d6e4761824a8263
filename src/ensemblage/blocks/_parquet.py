"""Rows in Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import listing, require, set_module
from ensemblage.blocks._blocks import BLOCK_ROWS
from ensemblage.blocks._files import FileBlocks, FileState, check_outputs, row_dtype

Array = NDArray[Any]


# File name extensions of Parquet files.
SUFFIXES = (".parquet", ".pq")
# Bytes of a column read at once.
READ_AHEAD = 2**20


def _arrow(module: str) -> Any:
    return require(module, "Reading Parquet", extra="all", otherwise="Or save the rows as .npy.")


@set_module("ensemblage.blocks")
class ParquetBlocks(FileBlocks):
    """Rows in Parquet files, in the order of the files and of their row groups.

    Blocks have equal size, independent of the row groups, so a fit is bit-identical to that of the
    same rows in memory. At most a part of a row group is in memory. Files of a folder and its
    subfolders are read in the order of their names; see :func:`open_blocks` for the parameters.
    """

    def __init__(
        self,
        path: Any,
        columns: Sequence[str] | None = None,
        *,
        block_rows: int = BLOCK_ROWS,
        spill_folder: Any = None,
        out: Any = None,
    ) -> None:
        paths = _find_files(path)
        self._files = tuple(FileState.of(each) for each in paths)
        footers = [_read_footer(each) for each in paths]
        schemas = [schema for _, schema in footers]
        names = _choose_columns(paths[0], schemas[0], columns)
        dtypes = [
            dtype
            for each, schema in zip(paths, schemas, strict=True)
            for dtype in _column_dtypes(each, schema, names, paths[0])
        ]
        self._lengths = [n_rows for n_rows, _ in footers]
        if not sum(self._lengths):
            raise ValueError(f"{paths[0]} has no rows.")
        shape = sum(self._lengths), len(names)
        super().__init__(shape, row_dtype(dtypes), None, block_rows, names)
        self._set_outputs(*check_outputs(paths[0], spill_folder, out))

    @property
    def paths(self) -> list[Path]:  # numpydoc ignore=RT01
        """The files, in order."""
        return [file.path for file in self._files]

    def describe_row(self, row: int) -> str:
        ends = np.cumsum(self._lengths)
        file = int(np.searchsorted(ends, row, side="right"))
        return f"row {row - ends[file] + self._lengths[file]} of {self._files[file].path}"

    def _read(self) -> Iterator[Array]:
        block = np.empty((self.block_rows, self.shape[1]), self.dtype)
        filled = 0
        with self._unchanged():
            for batch in self._batches():
                taken = 0
                while taken < batch.num_rows:
                    count = min(batch.num_rows - taken, self.block_rows - filled)
                    copy_rows(batch.slice(taken, count), block[filled : filled + count])
                    filled, taken = filled + count, taken + count
                    if filled == self.block_rows:
                        yield block
                        block, filled = np.empty_like(block), 0
            if filled:
                yield block[:filled]

    def _batches(self) -> Iterator[Any]:
        for path in self.paths:
            with open_parquet(path) as stored:
                yield from stored.iter_batches(
                    self.block_rows, columns=self.feature_names, use_threads=False
                )


def open_parquet(path: Path) -> Any:
    """Open a file for reading parts of row groups."""
    return _arrow("pyarrow.parquet").ParquetFile(path, buffer_size=READ_AHEAD, pre_buffer=False)


def parquet_columns(path: Any) -> list[str]:
    """Names of the columns of the first file."""
    return list(_read_footer(_find_files(path)[0])[1].names)


def copy_rows(batch: Any, rows: Array) -> None:
    """Copy the columns of a batch into ``rows``; missing values become NaN."""
    types = _arrow("pyarrow.types")
    for j, column in enumerate(batch.columns):
        plain = types.is_floating(column.type) or types.is_integer(column.type)
        ready = column if plain and not column.null_count else column.cast("float64", safe=False)
        rows[:, j] = ready.to_numpy(zero_copy_only=False)


def _find_files(path: Any) -> list[Path]:
    """List the files in order; those of a folder by name."""
    if isinstance(path, Sequence) and not isinstance(path, str):
        return [file for each in path for file in _find_files(each)]
    folder = Path(path)
    if not folder.is_dir():
        return [folder]
    found = sorted(each for each in folder.rglob("*") if each.suffix in SUFFIXES)
    if not found:
        raise ValueError(f"The folder {folder} has no Parquet files ({listing(SUFFIXES)}).")
    return found


def _read_footer(path: Path) -> tuple[int, Any]:
    """Read the number of rows and the schema."""
    parquet, arrow = _arrow("pyarrow.parquet"), _arrow("pyarrow")
    try:
        with parquet.ParquetFile(path) as file:
            return file.metadata.num_rows, file.schema_arrow
    except (arrow.ArrowException, OSError) as error:
        raise ValueError(
            f"{path} is not a Parquet file, or it is damaged: write or copy it again."
        ) from error


def _choose_columns(path: Path, schema: Any, columns: Sequence[str] | None) -> list[str]:
    stored = list(schema.names)
    if columns is None:
        return stored
    if isinstance(columns, str) or not columns:
        raise ValueError(f"columns={columns!r} must be a list of names.")
    unknown = [name for name in columns if name not in stored]
    if unknown:
        raise ValueError(f"{path} has no column {unknown[0]!r}: choose among {listing(stored)}.")
    return list(columns)


def _column_dtypes(path: Path, schema: Any, names: list[str], first: Path) -> list[np.dtype[Any]]:
    """NumPy dtypes of the columns; raises on a column that is not numeric."""
    types = _arrow("pyarrow.types")
    dtypes = []
    for name in names:
        index = schema.get_field_index(name)
        if index < 0:
            raise ValueError(
                f"{path} has no column {name!r}, which {first} has: use files with the same "
                "columns, or choose common ones, open_blocks(..., columns=[...])."
            )
        kind = schema.field(index).type
        if types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind):
            dtypes.append(np.dtype(kind.to_pandas_dtype()))
        elif types.is_decimal(kind) or types.is_null(kind):
            dtypes.append(np.dtype(np.float64))
        else:
            raise ValueError(
                f"Column {name!r} of {path} is {kind}, expected numeric: encode it, or exclude "
                "it: open_blocks(..., columns=[...]), or --drop on the command line."
            )
    return dtypes
