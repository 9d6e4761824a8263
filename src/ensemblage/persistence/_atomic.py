"""Atomic writes, and which files they may replace."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import BinaryIO, Literal

# Entry of a model file with its metadata; the last one, so that its name is at the end.
HEADER = "ensemblage.json"
Kind = Literal["model", "parquet", "page", "figure", "text", "other"]
# Kinds of files in a sentence.
KIND_NAMES: dict[Kind, str] = {
    "model": "a model file",
    "parquet": "a Parquet file",
    "page": "an HTML page",
    "figure": "a figure",
    "text": "text such as CSV",
    "other": "of another kind",
}
# First bytes of a kind.
SIGNATURES: dict[bytes, Kind] = {
    b"PAR1": "parquet",
    b"\x89PNG": "figure",
    b"%PDF": "figure",
    b"<!doctype html": "page",
    b"<html": "page",
}
# Bytes at the start and at the end of a file that decide on its kind.
READ_BYTES = 4096
# Control characters that text does not contain.
CONTROL = bytes({*range(32)} - {*b"\t\n\f\r\x1a\x1b"})


def file_kind(path: str | PathLike[str]) -> Kind | None:
    """Kind of a file by its content; None if it is missing, empty, a device or a pipe."""
    path = Path(path)
    if not path.is_file() or not path.stat().st_size:
        return None
    with path.open("rb") as file:
        head = file.read(READ_BYTES)
        file.seek(max(0, path.stat().st_size - READ_BYTES))
        tail = file.read()
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    for signature, kind in SIGNATURES.items():
        if start[: len(signature)].lower() == signature.lower():
            return kind
    if start.startswith(b"PK"):
        return "model" if HEADER.encode() in tail else "other"
    if start.startswith(b"<") and b"<svg" in head:
        return "figure"
    return "text" if head.translate(None, CONTROL) == head else "other"


def is_same_file(one: str | PathLike[str] | int, other: str | PathLike[str]) -> bool:
    """Whether two names, or a file descriptor and a name, are the same file; no device or pipe."""
    statuses = [_status(one), _status(other)]
    if None not in statuses:
        both = all(stat.S_ISREG(each.st_mode) for each in statuses if each is not None)
        return both and os.path.samestat(*statuses)  # type: ignore[arg-type]
    if statuses != [None, None] or isinstance(one, int):
        return False
    names = [str(Path(each).resolve()) for each in (one, other)]
    if sys.platform in {"darwin", "win32"}:  # upper and lower case are the same there
        names = [each.casefold() for each in names]
    return names[0] == names[1]


def _status(file: str | PathLike[str] | int) -> os.stat_result | None:
    try:
        return os.stat(file)  # noqa: PTH116  also of a descriptor
    except (OSError, ValueError):
        return None


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
