"""From the bytes of a file to its text: unpacked, and decoded by what the bytes themselves say."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterable
from typing import NamedTuple

GZIP = b"\x1f\x8b"
# Text shrinks to a fifth or a twentieth; beyond this a small file is made to fill the memory.
LARGEST_RATIO = 100
ALWAYS_FINE = 64 * 2**20

UTF_8 = "UTF-8"
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
SPOKEN = {
    "utf-8": UTF_8, "utf-8-sig": UTF_8, "utf-16": "UTF-16", "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16", "utf-32": "UTF-32", "cp1252": "Windows-1252", "latin-1": "Latin-1",
}  # fmt: skip
# What Latin-1 has no letters for, and Windows-1252 has.
HIGH = bytes(range(0x80, 0xA0))
MOSTLY = 0.99
# Printable text has only these below the blank: tab, line ends, form feed, and the old end of file.
CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x0b\x1a\x1b"))


class Decoded(NamedTuple):
    """The text of a file, a line feed after each line, and what its encoding is called."""

    text: str
    encoding: str


def unpack(data: bytes, name: str) -> bytes:
    """Unpack what gzip packed; other bytes stay as they are."""
    if not data.startswith(GZIP):
        return data
    limit = max(ALWAYS_FINE, LARGEST_RATIO * len(data))
    try:
        with gzip.open(io.BytesIO(data)) as packed:
            unpacked = packed.read(limit + 1)
    except (OSError, EOFError, zlib.error):
        raise ValueError(f"{name} is truncated or damaged: copy it again.") from None
    if len(unpacked) > limit:
        raise ValueError(
            f"{name} unpacks to more than {LARGEST_RATIO} times its size, which data do not: "
            "unpack it yourself if you trust it."
        )
    return unpacked


def decode(data: bytes, name: str, encoding: str | None = None) -> Decoded:
    """Decode text by its byte-order mark, else as UTF-8, else as what Western systems wrote."""
    chosen = encoding or _detect(data, name)
    try:
        text = data.decode(chosen)
    except (UnicodeDecodeError, UnicodeError) as error:
        start = getattr(error, "start", 0)
        line = data.count(b"\n", 0, start) + 1
        raise ValueError(
            f"Line {line} of {name} is not {SPOKEN.get(chosen, chosen)} text (byte "
            f"0x{data[start]:02x}): name its `encoding`, or save the file as UTF-8."
        ) from None
    lines = (
        text.removeprefix("\ufeff").removesuffix("\x1a").replace("\r\n", "\n").replace("\r", "\n")
    )
    return Decoded(lines, SPOKEN.get(chosen.lower(), chosen))


def detect_piecewise(pieces: Iterable[bytes]) -> str | None:
    """Tell the encoding of bytes too many to hold at once; None if that takes all of them."""
    reader: codecs.IncrementalDecoder
    reader, is_utf_8 = codecs.getincrementaldecoder("utf-8")(), True
    size = printable = high = 0
    for piece in pieces:
        marked = next((name for mark, name in MARKS if piece.startswith(mark)), None)
        if size == 0 and marked is not None:
            return marked
        if b"\x00" in piece:
            return None
        try:
            reader.decode(piece)
        except UnicodeDecodeError:
            reader, is_utf_8 = codecs.getincrementaldecoder("latin-1")(), False
        size += len(piece)
        printable += len(piece.translate(None, CONTROLS))
        high += len(piece) - len(piece.translate(None, HIGH))
    if is_utf_8 and not reader.getstate()[0]:
        return "utf-8"
    if printable < MOSTLY * size:
        return None
    return "cp1252" if high else "latin-1"


def _detect(data: bytes, name: str) -> str:
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return encoding
    if b"\x00" in data:
        return _without_mark(data, name)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return _western(data, name)
    return "utf-8"


def _without_mark(data: bytes, name: str) -> str:
    """Tell the byte order of UTF-16 by the side on which its zeros are."""
    start = data[:4096]
    high, low = start[::2].count(0), start[1::2].count(0)
    encoding = "utf-16-le" if low > high else "utf-16-be"
    controls = set(CONTROLS.decode("ascii"))
    few = max(high, low) < len(start) / 5
    if few or len(data) % 2 or not controls.isdisjoint(start.decode(encoding, errors="replace")):
        raise _not_text(name)
    return encoding


def _western(data: bytes, name: str) -> str:
    """Choose Latin-1, or Windows-1252 where bytes that Latin-1 has no letters for occur."""
    if len(data.translate(None, CONTROLS)) < MOSTLY * len(data):
        raise _not_text(name)
    if not any(byte in data for byte in HIGH):
        return "latin-1"
    return "cp1252"


def _not_text(name: str) -> ValueError:
    return ValueError(
        f"{name} is not text: give a CSV, TSV, ARFF, Parquet or spreadsheet file under its own "
        "suffix."
    )
