"""Rows in ``.npy`` files, with state and results in files."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator, MutableSequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import set_module
from ensemblage.blocks._blocks import BLOCK_ROWS, BlockSource, LocalBlocks

Array = NDArray[Any]
Doubles = NDArray[np.float64]
LOGGER = logging.getLogger("ensemblage")
# NumPy dtype kinds accepted for rows.
NUMERIC_KINDS = "fiub"


def as_bytes(values: Array) -> memoryview:
    """View a contiguous array as bytes."""
    plain: Any = values.reshape(-1).view(np.uint8)
    return memoryview(plain)


def format_size(n_bytes: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.3g} GB"


def open_spill(owner: object, folder: Path, n_bytes: int, what: str) -> Any:
    """Open an anonymous temporary file, removed with its owner or the process; log its size."""
    try:
        free = shutil.disk_usage(folder).free
        file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  the caller's
    except OSError as error:
        raise OSError(
            f"{what} cannot be stored in {folder} ({error.strerror}): set a writable folder, "
            "open_blocks(..., spill_folder=...)."
        ) from error
    weakref.finalize(owner, file.close)
    if n_bytes > free:
        raise OSError(
            f"{what} needs {format_size(n_bytes)}, and {folder} has {format_size(free)} free: free "
            "disk space, or set another folder, open_blocks(..., spill_folder=...)."
        )
    LOGGER.info(
        "%s is stored in %s, in a temporary file of %s.", what, folder, format_size(n_bytes)
    )
    return file


class SpilledStates(MutableSequence[Array | None]):
    """States of blocks in a temporary file, one slot per block.

    The file is created with the first state, and again if a state exceeds its slot.
    """

    def __init__(self, n_blocks: int, folder: Path) -> None:
        # file, offset, dtype and shape of each block's state
        self._stored: list[tuple[Any, int, np.dtype[Any], tuple[int, ...]] | None]
        self._stored = [None] * n_blocks
        self._folder = folder
        self._file: Any = None
        self._slot = 0

    def __len__(self) -> int:
        return len(self._stored)

    def __getitem__(self, index: Any) -> Any:
        stored = self._stored[index]
        if stored is None:
            return None
        file, offset, dtype, shape = stored
        state = np.empty(shape, dtype)
        file.seek(offset)
        file.readinto(as_bytes(state))
        return state

    def __setitem__(self, index: Any, state: Any) -> None:
        if self._file is None or state.nbytes > self._slot:
            self._slot = state.nbytes
            size = self._slot * len(self._stored)
            self._file = open_spill(self, self._folder, size, "The state of the rows")
        offset = index * self._slot
        self._file.seek(offset)
        self._file.write(as_bytes(np.ascontiguousarray(state)))
        self._stored[index] = (self._file, offset, state.dtype, state.shape)

    def __delitem__(self, index: Any) -> None:
        self._stored[index] = None

    def insert(self, index: int, value: Any) -> None:
        raise TypeError("The number of states is fixed: one per block.")


class RowFile:
    """A ``.npy`` file with one entry per row, written atomically."""

    def __init__(self, path: Path, n_rows: int) -> None:
        self._path, self._n_rows = path, n_rows
        self._part: Path | None = None
        self._values: Array | None = None

    def write(self, places: Any, values: Array) -> None:
        """Write values of rows, by slice or indices."""
        whole = (self._n_rows, *values.shape[1:])
        kept = self._values
        if kept is None or kept.dtype != values.dtype or kept.shape != whole:
            self.discard()
            self._part = self._path.with_name(f".{self._path.name}.{os.getpid()}.part")
            self._values = np.lib.format.open_memmap(self._part, "w+", values.dtype, whole)
        self._values[places] = values  # type: ignore[index]

    def commit(self) -> None:
        if self._part is not None:
            self._values.flush()  # type: ignore[union-attr]
            self._values = None
            self._part.replace(self._path)
            self._part = None

    def discard(self) -> None:
        self._values = None
        if self._part is not None:
            self._part.unlink(missing_ok=True)
            self._part = None


def check_outputs(path: Path, spill_folder: Any, out: Any) -> tuple[Path, Path | None]:
    """Validate the folder for states and the file for row values, before computing."""
    home = path if path.is_dir() else path.parent
    folder = home if spill_folder is None else Path(spill_folder)
    if not folder.is_dir():
        raise ValueError(f"spill_folder={str(folder)!r} is not a folder: create it first.")
    if out is None:
        return folder, None
    out = Path(out)
    if out.suffix != ".npy":
        raise ValueError(f"out={str(out)!r} must be the name of a .npy file.")
    if not out.parent.is_dir():
        raise ValueError(f"The folder of out={str(out)!r} does not exist: create it first.")
    if out.resolve() == path.resolve():
        raise ValueError(f"out={str(out)!r} is the input file: choose another name.")
    return folder, out


def row_dtype(kinds: list[np.dtype[Any]]) -> np.dtype[Any]:
    """Float32 if all columns are float32, else float64, as in scikit-learn."""
    narrow = all(kind == np.float32 for kind in kinds)
    return np.dtype(np.float32 if narrow else np.float64)


class FileState(NamedTuple):
    """Size and modification time of a file, to detect changes."""

    path: Path
    size: int
    modified: int

    @classmethod
    def of(cls, path: Path) -> FileState:
        try:
            found = path.stat()
        except FileNotFoundError:
            raise FileNotFoundError(f"There is no file {path}: check the name.") from None
        return cls(path, found.st_size, found.st_mtime_ns)

    def check_unchanged(self) -> None:
        try:
            same = FileState.of(self.path) == self
        except FileNotFoundError:
            same = False
        if not same:
            raise ValueError(
                f"{self.path} changed during fit: fit again on an unchanged file, or on a copy."
            )


class FileBlocks(LocalBlocks):
    """Rows in files, with states in a temporary file; subclasses read the blocks."""

    _files: tuple[FileState, ...] = ()
    _row_file: RowFile | None = None
    _row_indices: NDArray[np.intp] | None = None

    def _set_outputs(self, folder: Path, out: Path | None) -> None:
        self._folder, self._out = folder, out
        self.reset()

    def begin(self, weights: Doubles | None = None) -> Self:
        fresh = super().begin(weights)
        file = None if self._out is None else RowFile(self._out, self.shape[0])
        fresh._row_file = file  # noqa: SLF001  a copy of this one
        return fresh

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        super().__exit__(kind, error, trace)
        if self._row_file is not None:
            self._row_file.commit() if kind is None else self._row_file.discard()

    def reset(self) -> None:
        self._states = SpilledStates(self._n_blocks, self._folder)

    @contextmanager
    def _unchanged(self) -> Iterator[None]:
        """Check the files before and after a pass."""
        for file in self._files:
            file.check_unchanged()
        yield
        for file in self._files:
            file.check_unchanged()

    def _keep(self, start: int, values: Array) -> None:
        if self._row_file is not None:
            places: Any = slice(start, start + len(values))
            if self._row_indices is not None:
                places = self._row_indices[places]
            self._row_file.write(places, values)

    def select(self, indices: NDArray[np.intp]) -> BlockSource:
        weights = None if self._weights is None else self._weights[indices]
        shape = len(indices), self.shape[1]
        copied = _CopiedBlocks(shape, self.dtype, weights, self.block_rows)
        copied._row_file, copied._row_indices = self._row_file, indices  # noqa: SLF001
        file = copied.make_file(self._folder, self._out)
        for block in self.map(_whole):
            first, last = np.searchsorted(indices, [block.start, block.start + len(block.rows)])
            chosen = block.rows[indices[first:last] - block.start]
            file.write(as_bytes(chosen))
        return copied


def _whole(block: Any) -> Any:
    return block


class _CopiedBlocks(FileBlocks):
    """Selected rows of another source, copied to a temporary file."""

    def make_file(self, folder: Path, out: Path | None) -> Any:
        size = self.shape[0] * self.shape[1] * self.dtype.itemsize
        self._file = open_spill(self, folder, size, f"A copy of {self.shape[0]} rows")
        self._set_outputs(folder, out)
        return self._file

    def _read(self) -> Iterator[Array]:
        for start in range(0, self.shape[0], self.block_rows):
            n_rows = min(self.block_rows, self.shape[0] - start)
            yield read_values(self._file, 0, start, (n_rows, self.shape[1]), self.dtype)


def read_values(
    file: Any, offset: int, start: int, shape: tuple[int, int], dtype: np.dtype[Any]
) -> Array:
    """Read rows from ``start`` on of a file of raw rows after an offset."""
    values = np.empty(shape, dtype)
    file.seek(offset + start * shape[1] * dtype.itemsize)
    if file.readinto(as_bytes(values)) != values.nbytes:
        raise ValueError(f"{getattr(file, 'name', 'The file')} is truncated.")
    return values


@set_module("ensemblage.blocks")
class NpyBlocks(FileBlocks):
    """Rows in a ``.npy`` file, as written by :func:`numpy.save`; see :func:`open_blocks`.

    Blocks are read, not memory-mapped: if the file is truncated while it is read, an error is
    raised, where a memory-mapped file would crash the process.
    """

    def __init__(
        self,
        path: Any,
        *,
        block_rows: int = BLOCK_ROWS,
        spill_folder: Any = None,
        out: Any = None,
    ) -> None:
        self._path = Path(path)
        self._files = (FileState.of(self._path),)
        stored = _mapped(self._path)
        self._stored = stored.dtype
        self._by_column = bool(stored.flags.f_contiguous and not stored.flags.c_contiguous)
        self._offset = int(stored.offset)
        shape = stored.shape[0], stored.shape[1]
        super().__init__(shape, row_dtype([stored.dtype]), None, block_rows)
        self._set_outputs(*check_outputs(self._path, spill_folder, out))

    def describe_row(self, row: int) -> str:
        return f"row {row} of {self._path}"

    def _read(self) -> Iterator[Array]:
        with self._unchanged(), self._path.open("rb") as file:
            for start in range(0, self.shape[0], self.block_rows):
                rows = self._read_block(file, start)
                yield np.ascontiguousarray(rows, self.dtype)

    def _read_block(self, file: Any, start: int) -> Array:
        n_rows, n_columns = self.shape
        count = min(self.block_rows, n_rows - start)
        if not self._by_column:
            return read_values(file, self._offset, start, (count, n_columns), self._stored)
        firsts = [self._offset + j * n_rows * self._stored.itemsize for j in range(n_columns)]
        return np.hstack([read_values(file, at, start, (count, 1), self._stored) for at in firsts])


def _mapped(path: Path) -> Any:
    """Memory-map a ``.npy`` file; raise if it has no numeric rows."""
    try:
        stored: Any = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(
            f"{path} is not a numeric .npy file, or it is truncated ({error}): write it again with "
            "numpy.save."
        ) from error
    if not isinstance(stored, np.memmap) or stored.ndim != 2:
        raise ValueError(f"{path} must contain a two-dimensional array, one row per sample.")
    if stored.dtype.kind not in NUMERIC_KINDS:
        raise ValueError(
            f"{path} has dtype {stored.dtype}, expected a numeric dtype: encode it first."
        )
    if not stored.size:
        raise ValueError(f"{path} has no rows.")
    return stored
