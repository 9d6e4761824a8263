"""Atomic writes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import BinaryIO


def check_writable(path: str | PathLike[str]) -> None:
    """Refuse an output path that cannot be written, before any work is done."""
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"The output {path} is a folder; expected a file.")
    if not path.parent.is_dir():
        raise ValueError(f"The output {path} cannot be written: there is no folder {path.parent}.")
    target = path if path.exists() else path.parent
    if not os.access(target, os.W_OK):
        raise ValueError(f"The output {path} cannot be written: no permission for {target}.")


def write_atomically(path: str | PathLike[str], data: bytes | str) -> None:
    """Write a file atomically: it is either complete or not changed.

    The data are written to a temporary file in the same folder, which then replaces ``path``. An
    existing file is left unchanged if anything fails. Devices and pipes are written to directly;
    text is encoded as UTF-8.
    """
    with open_atomically(path) as file:
        file.write(data.encode("utf-8") if isinstance(data, str) else data)


@contextmanager
def open_atomically(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for an atomic write: it replaces ``path`` when it is complete."""
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
        # also on KeyboardInterrupt, so that no partial file remains
        temporary.unlink(missing_ok=True)
        raise
