"""Results stored in SQLite."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ensemblage import __version__
from ensemblage._core import set_module
from ensemblage.studies._experiment import Cell, CellResult, Plain, plain_values

# "Ensm": identifies the file among SQLite databases
APPLICATION_ID = 0x456E736D
SCHEMA_VERSION = 1
SCHEMA = """
    CREATE TABLE cells (
        key TEXT PRIMARY KEY,
        experiment TEXT NOT NULL,
        params TEXT NOT NULL,
        version INTEGER NOT NULL,
        data TEXT NOT NULL,
        cell_values TEXT NOT NULL,
        seconds REAL NOT NULL,
        error TEXT NOT NULL,
        library TEXT NOT NULL
    )
"""
COLUMNS = "experiment, params, version, data, cell_values, seconds, error"
REPLACE = f"""
    INSERT INTO cells (key, {COLUMNS}, library) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET
        cell_values = excluded.cell_values, seconds = excluded.seconds,
        error = excluded.error, library = excluded.library
"""  # noqa: S608  no user's text in it
# A stored value is never replaced; a stored error is.
UPSERT = f"{REPLACE} WHERE cells.error <> ''"
# SQLite allows at least 999 parameters in a statement.
KEYS_AT_ONCE = 500
# Seconds to wait for another run's commit, which takes about a millisecond.
LOCK_SECONDS = 30.0


@set_module("ensemblage.studies")
class ResultStoreError(ValueError):
    """The results file cannot be read or written."""


@set_module("ensemblage.studies")
class ResultStore:
    """Results of cells, in one SQLite file.

    Every :meth:`put` is one commit: a killed process loses no stored cell, and leaves no partial
    one. Nothing in the file is ever executed: parameters and values are JSON, and floats are
    restored exactly.

    Parameters
    ----------
    path : str or path-like
        The file; created if it does not exist.

    Attributes
    ----------
    path : Path
        The file.

    Examples
    --------
    >>> from ensemblage.studies import CellResult, Cell, ResultStore
    >>> cell = Cell("squares", {"x": 3})
    >>> with ResultStore(":memory:") as store:
    ...     store.put(CellResult(cell, {"square": 9}, seconds=0.1))
    ...     store.get([cell.key])[cell.key].values
    {'square': 9}
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        _check_place(self.path)
        with self._explained("opened"):
            # Autocommit: each statement is a transaction of its own.
            self._connection = sqlite3.connect(path, timeout=LOCK_SECONDS, isolation_level=None)
        try:
            with self._explained("opened"):
                self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def get(self, keys: Iterable[str]) -> dict[str, CellResult]:
        """Return stored results.

        Parameters
        ----------
        keys : iterable of str
            Keys of cells.

        Returns
        -------
        dict of str to CellResult
            The stored results, including failed cells.
        """
        wanted = list(dict.fromkeys(keys))
        found: dict[str, CellResult] = {}
        for start in range(0, len(wanted), KEYS_AT_ONCE):
            part = wanted[start : start + KEYS_AT_ONCE]
            marks = ", ".join("?" * len(part))
            where = f"WHERE key IN ({marks})"
            found |= dict(self._rows(where, part))
        return found

    def put(self, result: CellResult) -> None:
        """Store a result, in one commit.

        A stored error is replaced; stored values are not.

        Parameters
        ----------
        result : CellResult
            Its values must be plain and finite, see :func:`plain_values`.
        """
        self._write(result, UPSERT)

    def arrays(self) -> StoredArrays:
        """Return a mapping for the ``cache`` of ``source_audit``, whose arrays are stored here.

        Returns
        -------
        object
            ``get(key)`` returns an array of float64, or None; ``arrays[key] = array`` stores one
            in one commit. NaN is a missing value; infinity is refused.
        """
        return StoredArrays(self)

    def _write(self, result: CellResult, statement: str) -> None:
        cell = result.cell
        row = (
            cell.key, cell.experiment, _json(plain_values(cell.params)), cell.version, cell.data,
            _json(plain_values(result.values)), result.seconds, result.error, __version__,
        )  # fmt: skip
        with self._explained("written"):
            self._connection.execute(statement, row)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __iter__(self) -> Iterator[CellResult]:
        for _, result in self._rows("ORDER BY experiment, key"):
            yield result

    def __len__(self) -> int:
        with self._explained("read"):
            return int(self._connection.execute("SELECT count(*) FROM cells").fetchone()[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _rows(self, rest: str, values: Iterable[str] = ()) -> Iterator[tuple[str, CellResult]]:
        query = f"SELECT key, {COLUMNS} FROM cells {rest}"  # noqa: S608  question marks only
        with self._explained("read"):
            rows = self._connection.execute(query, tuple(values)).fetchall()
            for key, *facts in rows:
                yield key, _result(*facts)

    def _prepare(self) -> None:
        # One file at rest, and as many cells as possible on a full disk: see decision 0006.
        self._connection.execute("PRAGMA journal_mode = DELETE")
        self._connection.execute("PRAGMA synchronous = FULL")
        if self._is_new():
            self._create()
        application, version = self._pragma("application_id"), self._pragma("user_version")
        if application != APPLICATION_ID:
            raise ResultStoreError(
                f"{self.path} is an SQLite database, but not an Ensemblage results file: name "
                "another file."
            )
        if version > SCHEMA_VERSION:
            raise ResultStoreError(
                f"{self.path} was written by a newer Ensemblage (schema {version}; version "
                f"{__version__} supports {SCHEMA_VERSION}): upgrade, or name another file."
            )

    def _create(self) -> None:
        # In one transaction: a killed process leaves an empty file or a complete one. Another
        # process may have created it meanwhile, so check again within the lock.
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            if self._is_new():
                self._connection.execute(SCHEMA)
                self._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                self._connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def _is_new(self) -> bool:
        tables = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        return tables == 0 and self._pragma("application_id") == 0

    def _pragma(self, name: str) -> int:
        return int(self._connection.execute(f"PRAGMA {name}").fetchone()[0])

    @contextmanager
    def _explained(self, doing: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise ResultStoreError(_explanation(self.path, doing, error)) from error


class StoredArrays:
    """Arrays by key, each a cell of a store."""

    def __init__(self, store: ResultStore) -> None:
        self._store = store

    def get(self, key: str) -> NDArray[np.float64] | None:
        """Return an array; None if there is none, or what is stored is not an array."""
        cell = _array_cell(key)
        try:
            found = self._store.get([cell.key]).get(cell.key)
            return None if found is None else np.array(found.values["array"], dtype=np.float64)
        except ResultStoreError:
            raise
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            return None

    def __setitem__(self, key: str, array: NDArray[Any]) -> None:
        values = array.astype(object)
        values[np.isnan(array)] = None
        result = CellResult(_array_cell(key), plain_values({"array": values}), 0.0)
        self._store._write(result, REPLACE)  # noqa: SLF001


def _array_cell(key: str) -> Cell:
    return Cell("arrays", {"key": key})


def _json(value: Plain) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def _result(
    experiment: str, params: str, version: int, data: str, values: str, seconds: float, error: str
) -> CellResult:
    cell = Cell(experiment, json.loads(params), version, data)
    return CellResult(cell, json.loads(values), seconds, error)


def _check_place(path: Path) -> None:
    if str(path) == ":memory:":
        return
    if path.is_dir():
        raise ResultStoreError(
            f"The results cannot be stored in {path}: it is a folder; name a file."
        )
    if not path.parent.is_dir():
        raise ResultStoreError(
            f"The results cannot be stored in {path}: there is no folder {path.parent}."
        )


def _explanation(path: Path, doing: str, error: sqlite3.Error) -> str:
    name = getattr(error, "sqlite_errorname", "")
    if name == "SQLITE_NOTADB":
        return f"{path} is not a results file (not an SQLite database): name another file."
    if name.startswith("SQLITE_CORRUPT"):
        return f"The results file {path} is damaged ({error}): move it away and run again."
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return f"The results file {path} is locked by another program: wait for it to end."
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return f"The results file {path} cannot be {doing}: no permission for it or its folder."
    if doing == "written":
        return (
            f"The results cannot be written to {path}: {error} (is the disk full?). Stored results "
            "are intact: free some space and run the same command again."
        )
    return f"The results file {path} cannot be {doing}: {error}."
