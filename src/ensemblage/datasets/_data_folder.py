"""A folder of CSV files, each a dataset by its name, with what a manifest declares of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from os import PathLike
from pathlib import Path

import msgspec

from ensemblage.datasets._dataset import Dataset
from ensemblage.datasets._files import read_table
from ensemblage.datasets._table import NUMBER, WORD, Table


class Declared(msgspec.Struct, frozen=True):
    """What ``manifest.json`` may say of a dataset."""

    rows: int | None = None
    features: int | None = None
    numeric: tuple[str, ...] = ()
    categories: dict[str, tuple[str, ...]] = {}


def find_folder(data_dir: str | PathLike[str] | None) -> Path | None:
    """Give the folder asked for, or else the one that ``ENSEMBLAGE_DATA`` names."""
    chosen = data_dir or os.environ.get("ENSEMBLAGE_DATA")
    if not chosen:
        return None
    folder = Path(chosen).expanduser()
    if not folder.is_dir():
        which = "`data_dir`" if data_dir else "ENSEMBLAGE_DATA"
        raise ValueError(f"{which} names {folder}, which is not a folder.")
    return folder


def read_manifest(folder: Path) -> Mapping[str, Declared]:
    """Read what is declared of the folder's datasets, by name; nothing without a manifest."""
    path = folder / "manifest.json"
    if not path.is_file():
        return {}
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Declared])
    except msgspec.ValidationError as error:
        raise ValueError(f"{path} must hold one object per dataset name ({error}).") from None
    except msgspec.DecodeError as error:
        raise ValueError(f"{path} is not valid JSON ({error}).") from None


def load_from_folder(folder: Path, name: str) -> Dataset:
    """Load ``NAME.csv``; its target is the column ``class``, or else the last one."""
    declared = read_manifest(folder).get(name, Declared())
    kinds = dict.fromkeys(declared.categories, WORD) | dict.fromkeys(declared.numeric, NUMBER)
    path = folder / f"{name}.csv"
    table = read_table(path, kinds=kinds)
    table = Table(table.names, table.columns, declared.categories)
    target = "class" if "class" in table.names else table.names[-1]
    return Dataset.from_table(table, target, name=name, origin=str(path))
