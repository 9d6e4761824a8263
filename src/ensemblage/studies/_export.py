"""Results as CSV or Parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from ensemblage._core import no_formula
from ensemblage.persistence import write_atomically
from ensemblage.studies._experiment import CellResult

FORMATS = (".csv", ".parquet")


def check_export(path: str | PathLike[str]) -> None:
    """Refuse an unsupported file type before any work is done."""
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise ValueError(f"The export {path} must end in .csv or .parquet, not in {ending!r}.")
    if ending == ".parquet":
        _parquet()


def export_results(
    results: Iterable[CellResult], path: str | PathLike[str], *, provenance: bool = False
) -> None:
    """Write one row per cell: its parameters, its values, its error.

    The same results give the same bytes, also after interruptions.

    Parameters
    ----------
    results : iterable of CellResult
        From ``run_study``, or a whole ``ResultStore``.
    path : str or path-like
        Ends in ``.csv`` or ``.parquet`` (needs pyarrow); replaced in one step.
    provenance : bool, default=False
        Whether to add the cell's key, the data's hash, and the seconds taken, which differ between
        runs.
    """
    check_export(path)
    columns = result_columns(list(results), provenance=provenance)
    made = _csv_bytes if Path(path).suffix.lower() == ".csv" else _parquet_bytes
    write_atomically(path, made(columns))


def result_columns(
    results: Sequence[CellResult], *, provenance: bool = False
) -> dict[str, list[Any]]:
    """Columns ``experiment``, ``params.NAME``, ``values.NAME`` and ``error`` of the results.

    Names are in order of first occurrence; None where a cell has no such entry, lists and dicts as
    JSON.
    """
    columns: dict[str, list[Any]] = {"experiment": [each.cell.experiment for each in results]}
    columns |= _expand("params", [each.cell.params for each in results])
    columns |= _expand("values", [each.values for each in results])
    columns["error"] = [each.error for each in results]
    if provenance:
        columns["seconds"] = [each.seconds for each in results]
        columns["data"] = [each.cell.data for each in results]
        columns["key"] = [each.cell.key for each in results]
    return columns


def _expand(kind: str, entries: Sequence[Any]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for entry in entries for name in entry)
    return {f"{kind}.{name}": [_flat(entry.get(name)) for entry in entries] for name in names}


def _flat(value: Any) -> Any:
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    return value


def _csv_bytes(columns: dict[str, list[Any]]) -> bytes:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    rows = zip(*columns.values(), strict=True)
    writer.writerows([_text(cell) for cell in row] for row in rows)
    return buffer.getvalue().encode("utf-8")


def _text(cell: Any) -> Any:
    # booleans as in JSON; floats with all digits
    return str(cell).lower() if isinstance(cell, bool) else no_formula(cell)


def _parquet_bytes(columns: dict[str, list[Any]]) -> bytes:
    pa, parquet = _parquet()
    table = pa.table({name: _column(pa, cells) for name, cells in columns.items()})
    buffer = io.BytesIO()
    parquet.write_table(table, buffer)
    return buffer.getvalue()


def _column(pa: Any, cells: list[Any]) -> Any:
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {int, float}:
        return pa.array(cells, pa.float64() if float in kinds or not kinds else pa.int64())
    if len(kinds) == 1:
        return pa.array(cells)
    return pa.array([None if cell is None else str(_text(cell)) for cell in cells], pa.string())


def _parquet() -> tuple[Any, Any]:
    try:
        import pyarrow as pa  # noqa: PLC0415  an extra
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError:
        raise ImportError(
            "Writing Parquet needs pyarrow: pip install pyarrow, or export to .csv."
        ) from None
    return pa, parquet
