"""File formats by suffix; imports nothing else."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from ensemblage._core import suggestion

FORMATS = {
    ".csv": "text", ".txt": "text", ".data": "text", ".dat": "text", ".tsv": "tabs", ".tab": "tabs",
    ".arff": "arff", ".parquet": "parquet", ".pq": "parquet", ".xlsx": "sheet", ".xlsm": "sheet",
    ".xlsb": "sheet", ".xls": "sheet", ".ods": "sheet",
}  # fmt: skip
GZIP_SUFFIX = ".gz"


def format_of(path: Path) -> str | None:
    """Infer the format from the suffix, ignoring ``.gz``; None if unknown."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [GZIP_SUFFIX]:
        suffixes.pop()
    return FORMATS.get(suffixes[-1]) if suffixes else None


def is_parquet(path: str | PathLike[str]) -> bool:
    """Whether a file is Parquet, by its suffix."""
    return FORMATS.get(Path(path).suffix.lower()) == "parquet"


def names_file(source: str) -> bool:
    """Whether a text is a path rather than the name of a dataset; ``-`` is standard input."""
    path = Path(source)
    return source == "-" or format_of(path) is not None or len(path.parts) != 1


def check_file(path: str | PathLike[str]) -> str:
    """Return the format of a file; a missing file or an unknown format is an error."""
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder; expected a CSV, TSV, ARFF or Parquet file.")
    if not path.exists():
        raise ValueError(f"There is no file {path}.{_similar_name(path)}")
    kind = format_of(path)
    if kind is None:
        raise ValueError(
            f"{path.name} has an unknown format: expected the suffix {', '.join(FORMATS)}, or one "
            f"of these followed by {GZIP_SUFFIX}."
        )
    return kind


def _similar_name(path: Path) -> str:
    if not path.parent.is_dir():
        return f" There is no folder {path.parent} either."
    return suggestion(path.name, (each.name for each in path.parent.iterdir()))
