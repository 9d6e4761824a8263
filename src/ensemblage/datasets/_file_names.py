"""What a file's name tells before anything is imported."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from ensemblage._core import suggestion

FORMATS = {
    ".csv": "text", ".txt": "text", ".data": "text", ".dat": "text", ".tsv": "tabs", ".tab": "tabs",
    ".arff": "arff", ".parquet": "parquet", ".pq": "parquet", ".xlsx": "sheet", ".xlsm": "sheet",
    ".xlsb": "sheet", ".xls": "sheet", ".ods": "sheet",
}  # fmt: skip
PACKED = ".gz"


def format_of(path: Path) -> str | None:
    """Tell the format by the suffix, before which a file may be packed."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [PACKED]:
        suffixes.pop()
    return FORMATS.get(suffixes[-1]) if suffixes else None


def is_parquet(path: str | PathLike[str]) -> bool:
    """Tell by the name whether a file is Parquet, which can be read in parts."""
    return FORMATS.get(Path(path).suffix.lower()) == "parquet"


def names_file(source: str) -> bool:
    """Tell a file, there or not, from the name of a dataset; ``-`` is standard input."""
    path = Path(source)
    return source == "-" or format_of(path) is not None or len(path.parts) != 1


def check_file(path: str | PathLike[str]) -> str:
    """Refuse a file that is not there or of no known format; give its format."""
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder; a CSV, TSV, ARFF or Parquet file is expected.")
    if not path.exists():
        raise ValueError(f"There is no file {path}.{_neighbour(path)}")
    kind = format_of(path)
    if kind is None:
        raise ValueError(
            f"{path.name} is of no known format: the name must end in {', '.join(FORMATS)}, or "
            f"one of these and {PACKED}."
        )
    return kind


def _neighbour(path: Path) -> str:
    if not path.parent.is_dir():
        return f" There is no folder {path.parent} either."
    return suggestion(path.name, (each.name for each in path.parent.iterdir()))
