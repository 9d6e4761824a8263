"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import BinaryIO


def check_writable(path: str | PathLike[str]) -> None:
    """Refuse an output path before any work is done for it."""
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"The output {path} is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise ValueError(f"The output {path} cannot be written: there is no folder {path.parent}.")
    target = path if path.exists() else path.parent
    if not os.access(target, os.W_OK):
        raise ValueError(f"The output {path} cannot be written: no permission for {target}.")


def write_atomically(path: str | PathLike[str], data: bytes | str) -> None:
    """Write a file so that it is either complete or not there.

    The data go to a temporary file in the same folder, which takes the name in one step. A file
    that was there before stays as it was if anything fails. A device or a pipe is written to
    directly; text is written as UTF-8.
    """
    with open_atomically(path) as file:
        file.write(data.encode("utf-8") if isinstance(data, str) else data)


@contextmanager
def open_atomically(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file to write that takes its name when all of it is written, and not before."""
    check_writable(path)
    path = Path(path).resolve()
    if path.exists() and not path.is_file():
        with path.open("wb") as device:
            yield device
        return
    if path.exists():
        mode = path.stat().st_mode & 0o777
    else:
        mask = os.umask(0)
        os.umask(mask)
        mode = 0o666 & ~mask
    try:
        with _replacing(path, mode) as file:
            yield file
    except OSError as error:
        raise ValueError(f"The output {path} cannot be written: {error.strerror}.") from error


@contextmanager
def _replacing(path: Path, mode: int) -> Iterator[BinaryIO]:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(mode)
        temporary.replace(path)
    except BaseException:
        # Also when interrupted: nobody wants half a file.
        temporary.unlink(missing_ok=True)
        raise
