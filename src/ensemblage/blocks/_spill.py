"""Files that rows on disk need beside them: their state between passes, and what a fit finds."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import weakref
from collections.abc import MutableSequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ensemblage.blocks._source import Array

LOGGER = logging.getLogger("ensemblage")


def as_bytes(values: Array) -> memoryview:
    """View a contiguous array as plain bytes."""
    plain: Any = values.reshape(-1).view(np.uint8)
    return memoryview(plain)


def write_size(n_bytes: float) -> str:
    """Write a number of bytes in the unit that suits it."""
    for unit in ("bytes", "kB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.3g} GB"


def open_spill(owner: object, folder: Path, n_bytes: int, what: str) -> Any:
    """Open a file without a name, which ends with its owner or the process; tell its size."""
    try:
        free = shutil.disk_usage(folder).free
        file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  the caller's
    except OSError as error:
        raise OSError(
            f"{what} cannot be kept in {folder} ({error.strerror}): name a folder that you may "
            "write to, open_blocks(..., spill_folder=...)."
        ) from error
    weakref.finalize(owner, file.close)
    if n_bytes > free:
        raise OSError(
            f"{what} takes {write_size(n_bytes)}, and {folder} has {write_size(free)} left: make "
            "room, or name another folder, open_blocks(..., spill_folder=...)."
        )
    LOGGER.info("%s is kept in %s, in a temporary file of %s.", what, folder, write_size(n_bytes))
    return file


class _Stored(NamedTuple):
    """Where a carry is in a file, and what it is."""

    file: Any
    offset: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


class SpilledCarries(MutableSequence[Array | None]):
    """Carries of blocks in a temporary file, a slot for each.

    A file is made when the first carry comes, and another when carries outgrow their slots.
    """

    def __init__(self, n_blocks: int, folder: Path) -> None:
        self._stored: list[_Stored | None] = [None] * n_blocks
        self._folder = folder
        self._file: Any = None
        self._slot = 0

    def __len__(self) -> int:
        return len(self._stored)

    def __getitem__(self, index: Any) -> Any:
        stored: Any = self._stored[index]
        if stored is None:
            return None
        carry = np.empty(stored.shape, stored.dtype)
        stored.file.seek(stored.offset)
        stored.file.readinto(as_bytes(carry))
        return carry

    def __setitem__(self, index: Any, carry: Any) -> None:
        if self._file is None or carry.nbytes > self._slot:
            self._slot = carry.nbytes
            size = self._slot * len(self._stored)
            self._file = open_spill(self, self._folder, size, "The state of the rows")
        offset = index * self._slot
        self._file.seek(offset)
        self._file.write(as_bytes(np.ascontiguousarray(carry)))
        self._stored[index] = _Stored(self._file, offset, carry.dtype, carry.shape)

    def __delitem__(self, index: Any) -> None:
        self._stored[index] = None

    def insert(self, index: int, value: Any) -> None:
        """Refuse: there are as many carries as blocks."""
        raise TypeError("A source has as many carries as blocks.")


class RowFile:
    """A ``.npy`` file of one entry per row, whole at its place at the end or not there at all."""

    def __init__(self, path: Path, n_rows: int) -> None:
        self._path, self._n_rows = path, n_rows
        self._part: Path | None = None
        self._values: Array | None = None

    def write(self, places: Any, values: Array) -> None:
        """Write the values of some rows, a slice or numbers of them."""
        whole = (self._n_rows, *values.shape[1:])
        kept = self._values
        if kept is None or kept.dtype != values.dtype or kept.shape != whole:
            self.discard()
            self._part = self._path.with_name(f".{self._path.name}.{os.getpid()}.part")
            self._values = np.lib.format.open_memmap(self._part, "w+", values.dtype, whole)
        self._values[places] = values  # type: ignore[index]

    def commit(self) -> None:
        """Put the file at its place."""
        if self._part is not None:
            self._values.flush()  # type: ignore[union-attr]
            self._values = None
            self._part.replace(self._path)
            self._part = None

    def discard(self) -> None:
        """Remove what was written so far."""
        self._values = None
        if self._part is not None:
            self._part.unlink(missing_ok=True)
            self._part = None
