"""State of rows on a cluster in files that all workers can reach.

A worker that is lost takes what it held with it. What a pass left with the rows of a part is then
read from a file by whoever goes on with them, so that nothing before the last completed pass is
computed again.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from ensemblage.blocks._source import Array
from ensemblage.blocks._spill import LOGGER, write_size


class StateFiles:
    """A folder with two files for each part: what the last pass left, and what this one does.

    Parameters
    ----------
    folder : path-like
        Where to make the folder, which ends with this object.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="ensemblage-state-", dir=folder))
        self._turn = 0
        self.remove = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    def next_paths(self, n_parts: int) -> list[Path]:
        """Name the files that the next pass writes, other ones than those that it reads."""
        self._turn = 1 - self._turn
        return [self._folder / f"part-{part}-{self._turn}.npy" for part in range(n_parts)]

    def tell_size(self, paths: list[Path]) -> None:
        """Say in the log where the state is and what it takes, both files of each part."""
        size = write_size(2 * sum(path.stat().st_size for path in paths))
        LOGGER.info("The state of the rows is kept in %s, in files of %s.", self._folder, size)


def write_state(path: Path, carries: list[Array]) -> None:
    """Write the carries of a part's blocks, one after another; whole at its place, or not there."""
    unfinished = path.with_suffix(f".{os.getpid()}")
    try:
        with unfinished.open("wb") as file:
            for carry in carries:
                np.lib.format.write_array(file, np.ascontiguousarray(carry), allow_pickle=False)
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise OSError(
            f"The state of the rows cannot be kept in {path.parent} ({error.strerror}): make room, "
            "or name another folder, open_blocks(..., spill_folder=...)."
        ) from error


def read_state(path: Path) -> list[Array]:
    """Read what ``write_state`` wrote."""
    carries: list[Any] = []
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        while file.tell() < size:
            carries.append(np.lib.format.read_array(file, allow_pickle=False))
    return carries
