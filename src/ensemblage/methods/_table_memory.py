"""Which files are large, and whether they can be read into memory; light, as ``fit`` asks first."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from ensemblage.datasets import free_memory, is_parquet, open_table, parquet_bytes

COPIES = 2
"""A fit takes the table as often again as it is read: folds, and what members make of them."""
GIGABYTE = 1e9


def is_large_parquet(path: str | PathLike[str]) -> bool:
    """Whether a file is Parquet that would take 256 MB or more."""
    name = Path(path)
    return is_parquet(name) and name.is_file() and open_table(name).in_blocks


def memory_note(path: str | PathLike[str], method: str) -> str | None:
    """Say what a large Parquet file takes in memory, and refuse one that would fill it."""
    if not is_large_parquet(path):
        return None
    size, free = parquet_bytes(Path(path)), free_memory()
    takes = (
        f"The method {method!r} reads the table into memory, where it takes about "
        f"{size / GIGABYTE:.1f} GB, and a fit about as much again"
    )
    if COPIES * size <= free:
        return f"{takes}."
    raise ValueError(
        f"{takes}; {free / GIGABYTE:.1f} GB are free. Take `method` strata, which reads numbers in "
        "blocks, or some of the rows by `draw`."
    )
