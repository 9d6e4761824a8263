"""Rows on a Dask cluster: state files, Parquet read by workers, lazy predictions."""

from __future__ import annotations

import copy
import ctypes
import functools
import logging
import os
import pickle
import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import listing, require, set_module
from ensemblage.blocks._blocks import (
    BLOCK_ROWS,
    GROUP_BLOCKS,
    BlockSource,
    MemoryBlocks,
    add_fields,
    is_dask,
    reduce_groups,
)
from ensemblage.blocks._files import NUMERIC_KINDS, format_size, row_dtype
from ensemblage.blocks._parquet import ParquetBlocks, copy_rows, open_parquet

Array = NDArray[Any]
Doubles = NDArray[np.float64]
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
LOGGER = logging.getLogger("ensemblage")

# Parameters of glibc's mallopt.
M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3
# Bytes of freed memory that a worker keeps.
KEPT_BYTES = 64 * 2**20
# Bytes of the largest freed allocation that it keeps.
LARGEST_KEPT = 32 * 2**20
# Parts per worker thread; more parts balance the load better but add scheduler overhead.
PARTS_PER_THREAD = 4
# Most rounds of moving parts until they are balanced; idle workers may take some meanwhile.
MAX_MOVES = 3
# Largest pickled call, in bytes, sent with each task; a larger one is sent once.
SMALL_CALL = 16_384


@cache
def tune_malloc() -> bool:
    """Configure glibc to keep some freed memory; return whether that is supported."""
    try:
        adjust = ctypes.CDLL(None).mallopt
    except (OSError, TypeError, AttributeError):  # not glibc
        return False
    return bool(adjust(M_TRIM_THRESHOLD, KEPT_BYTES) and adjust(M_MMAP_THRESHOLD, LARGEST_KEPT))


class StateFiles:
    """Two alternating state files per part; the folder is removed with this object."""

    def __init__(self, folder: Path) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="ensemblage-state-", dir=folder))
        self._turn = 0
        self.remove = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    def next_paths(self, n_parts: int) -> list[Path]:
        """Paths that the next pass writes, different from those it reads."""
        self._turn = 1 - self._turn
        return [self._folder / f"part-{part}-{self._turn}.npy" for part in range(n_parts)]

    def log_size(self, paths: list[Path]) -> None:
        size = format_size(2 * sum(path.stat().st_size for path in paths))
        LOGGER.info("The state of the rows is stored in %s, in files of %s.", self._folder, size)


def write_state(path: Path, states: list[Array]) -> None:
    """Write the states of a part's blocks atomically."""
    unfinished = path.with_suffix(f".{os.getpid()}")
    try:
        with unfinished.open("wb") as file:
            for state in states:
                np.lib.format.write_array(file, np.ascontiguousarray(state), allow_pickle=False)
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise OSError(
            f"The state of the rows cannot be stored in {path.parent} ({error.strerror}): free "
            "disk space, or set another folder, open_blocks(..., spill_folder=...)."
        ) from error


def read_state(path: Path) -> list[Array]:
    """Read a file written by ``write_state``."""
    states: list[Any] = []
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        while file.tell() < size:
            states.append(np.lib.format.read_array(file, allow_pickle=False))
    return states


@set_module("ensemblage.blocks")
class DaskBlocks(BlockSource):
    """Rows of a Dask array or dataframe, in the memory of the workers of the current cluster.

    Rows are divided into parts of whole blocks and stay on the workers, as does their state. The
    result is bit-identical to that of the same rows in memory, for any number of workers. See
    :func:`open_blocks` for the parameters.
    """

    _spill_folder: Path | None = None
    _files: StateFiles | None = None

    def __init__(
        self,
        collection: Any,
        columns: Sequence[str] | None = None,
        *,
        block_rows: int = BLOCK_ROWS,
        spill_folder: Any = None,
    ) -> None:
        self._connect()
        if spill_folder is not None:
            self._spill_folder = _shared_folder(self._client, spill_folder)
        names, array = _as_array(collection, columns)
        super().__init__(array.shape, row_dtype([array.dtype]), None, block_rows, names)
        self._distribute(array.astype(self.dtype))

    def _connect(self) -> None:
        self._client = _current_client()
        _check_workers(self._client)

    def _cut(self) -> list[int]:
        """Choose the length of the parts; return the index of each part's first row."""
        group = self.block_rows * GROUP_BLOCKS
        threads = max(1, sum(self._client.nthreads().values()))
        n_parts = PARTS_PER_THREAD * threads
        self._part_rows = group * max(1, -(-self.shape[0] // (group * n_parts)))
        self._starts = list(range(0, self.shape[0], self._part_rows))
        return self._starts

    def _distribute(self, array: Any) -> None:
        """Distribute the rows to the workers, in parts."""
        self._cut()
        array = self._client.persist(array.rechunk((self._part_rows, -1)))
        held = {future.key: future for future in _require("distributed").futures_of(array)}
        self._hold([held[key] for (key,) in array.__dask_keys__()])

    def _hold(self, parts: list[Any]) -> None:
        """Store futures of the parts' rows, balanced over the worker threads."""
        distributed = _require("distributed")
        for _ in range(MAX_MOVES):
            distributed.wait(parts)
            places = self._client.who_has(parts)
            holders = [next(iter(places.get(part.key, ())), None) for part in parts]
            moves = balance_parts(holders, self._client.nthreads())
            if not any(moves):
                break
            # to that worker, or to another if it is lost
            where = {"allow_other_workers": True, "pure": False}
            parts = [
                part if to is None else self._client.submit(_itself, part, workers=[to], **where)
                for part, to in zip(parts, moves, strict=True)
            ]
        self._parts = parts
        self._weight_parts: list[Any] | None = None
        self.reset()

    def reset(self) -> None:
        # per part, a future of states and results, or a state file
        self._advanced: list[Any] = [None] * len(self._parts)
        self._files = None  # removes the files, unless another fit uses them

    def begin(self, weights: Doubles | None = None) -> Self:
        fresh = super().begin(weights)
        if weights is not None:
            fresh._weight_parts = None  # noqa: SLF001  a copy of this one
        return fresh

    def describe_row(self, row: int) -> str:
        return f"row {row} of the Dask collection"

    def map(self, kernel: Callable[..., T], *args: Any) -> Iterator[T]:
        # part by part, so that the values of all rows are never in memory at once
        futures = self._submit(_map_part, kernel, args, None)
        return chain.from_iterable(self._gather([futures.pop(0)])[0] for _ in self._parts)

    def reduce(
        self, kernel: Callable[..., T], *args: Any, combine: Callable[[T, T], T] = add_fields
    ) -> T:
        groups = self._gather(self._submit(_map_part, kernel, args, combine))
        merged: T = functools.reduce(combine, chain.from_iterable(groups))
        return merged

    def map_with_state(self, kernel: Callable[..., tuple[Array, T]], *args: Any) -> Iterator[T]:
        return chain.from_iterable(self._advance(kernel, args, None))

    def reduce_with_state(
        self,
        kernel: Callable[..., tuple[Array, T]],
        *args: Any,
        combine: Callable[[T, T], T] = add_fields,
    ) -> T:
        groups = self._advance(kernel, args, combine)
        merged: T = functools.reduce(combine, chain.from_iterable(groups))
        return merged

    def collect(self, kernel: Callable[..., tuple[Array, T]], *args: Any) -> tuple[Any, T]:
        return None, self.reduce(_partial_of, kernel, args)

    def select(self, indices: NDArray[np.intp]) -> DaskBlocks:
        weights = None if self._weights is None else self._weights[indices]
        chosen = self.begin(weights)
        chosen.shape = len(indices), self.shape[1]
        arrays, stops = _require("dask.array"), [*self._starts[1:], self.shape[0]]
        array = arrays.concatenate(
            [
                arrays.from_delayed(part, (stop - start, self.shape[1]), self.dtype)
                for part, start, stop in zip(self._parts, self._starts, stops, strict=True)
            ]
        )
        chosen._distribute(array[indices])  # noqa: SLF001  a copy of this one
        return chosen

    def _advance(self, kernel: Any, args: Any, combine: Any) -> list[Any]:
        """Run a pass whose states stay on the workers or in files; return its results."""
        if self._spill_folder is None:
            advanced = self._submit(_advance_part, kernel, args, combine)
            results = self._gather(self._client.map(itemgetter(1), advanced, pure=False))
            self._advanced = advanced
            return results
        files = self._files or StateFiles(self._spill_folder)
        paths = files.next_paths(len(self._parts))
        results = self._gather(self._submit(_advance_file, kernel, args, combine, paths))
        if self._files is None:
            files.log_size(paths)
        self._files, self._advanced = files, paths
        return results

    def _submit(self, task: Any, kernel: Any, args: Any, combine: Any, *more: Any) -> list[Any]:
        """Submit a task for each part, with the pickled call or a future of it.

        ``combine`` merges groups of blocks on the worker; None returns a result per block.
        """
        call: Any = _require("cloudpickle").dumps((kernel, args, combine, self.block_rows))
        if len(call) > SMALL_CALL:
            call = self._client.submit(_itself, call, pure=False)
        columns = self._parts, self._starts, self._weights_on_workers(), self._advanced
        futures: list[Any] = self._client.map(task, *columns, *more, call=call, pure=False)
        return futures

    def _weights_on_workers(self) -> list[Any]:
        if self._weights is None:
            return [None] * len(self._parts)
        if self._weight_parts is None:
            parts = [self._weights[start : start + self._part_rows] for start in self._starts]
            self._weight_parts = self._client.map(_itself, parts, pure=False)
        return self._weight_parts

    def _gather(self, futures: list[Any]) -> list[Any]:
        distributed = _require("distributed")
        try:
            results: list[Any] = self._client.gather(futures)
        except distributed.KilledWorker as error:
            raise RuntimeError(
                "Workers were killed repeatedly on the same rows, possibly out of memory: start "
                "workers with more memory, or more workers."
            ) from error
        except ImportError as error:
            raise ImportError(
                f"A worker cannot import a required module ({error}): install the same version of "
                "ensemblage on all workers."
            ) from error
        return results


class ParquetParts(DaskBlocks):
    """Rows of Parquet files that all workers of the current cluster can read.

    A worker reads the row groups of its parts; if it is lost, another worker reads them.
    """

    def __init__(self, path: Any, columns: Sequence[str] | None = None) -> None:
        files = ParquetBlocks(path, columns)
        names = files.feature_names or []
        BlockSource.__init__(self, files.shape, files.dtype, None, files.block_rows, names)
        self._connect()
        paths, starts = [each.resolve() for each in files.paths], self._cut()
        stops = [*starts[1:], self.shape[0]]
        stored = {"paths": paths, "names": names, "dtype": files.dtype}
        self._hold(self._client.map(read_part, starts, stops, **stored, pure=False))

    def transformed(self, change: Callable[[Array], Array]) -> ParquetParts:
        """Apply a function to the rows of each part; shape and dtype must not change."""
        other = self.begin()
        other._hold(self._client.map(change, self._parts, pure=False))  # noqa: SLF001  a copy
        return other

    def select(self, indices: NDArray[np.intp]) -> DaskBlocks:
        raise TypeError(
            "Rows of Parquet files on a Dask cluster cannot be selected: open the files as a Dask "
            "dataframe."
        )


def read_part(
    start: int, stop: int, paths: list[Path], names: list[str], dtype: np.dtype[Any]
) -> Array:
    """Read the rows from ``start`` to ``stop``; runs on a worker."""
    rows = np.empty((stop - start, len(names)), dtype)
    before = 0
    for path in paths:
        with open_parquet(path) as file:
            for group in range(file.num_row_groups):
                after = before + file.metadata.row_group(group).num_rows
                first, last = max(start, before), min(stop, after)
                if first < last:
                    table = file.read_row_group(group, columns=names, use_threads=False)
                    own = table.select(names).slice(first - before, last - first)
                    filled = first - start
                    for batch in own.to_batches():
                        copy_rows(batch, rows[filled : filled + batch.num_rows])
                        filled += batch.num_rows
                before = after
    return rows


def _require(module: str) -> Any:
    return require(module, "A Dask collection", extra="dask")


def balance_parts(holders: Sequence[str | None], threads: Mapping[str, int]) -> list[str | None]:
    """Return the worker to move each part to, or None, so that all threads have equally many."""
    counts, total = Counter(holders), max(1, sum(threads.values()))
    shares = {worker: len(holders) * n // total for worker, n in threads.items()}
    # the remainder goes to workers with a fractional share that hold the most parts
    uneven = [worker for worker, n in threads.items() if len(holders) * n % total]
    remainder = len(holders) - sum(shares.values())
    for worker in sorted(uneven, key=lambda worker: shares[worker] - counts[worker])[:remainder]:
        shares[worker] += 1
    free = [worker for worker in threads for _ in range(shares[worker] - counts[worker])]
    moves: list[str | None] = []
    for holder in holders:
        moving = holder in shares and counts[holder] > shares[holder] and bool(free)
        counts[holder] -= moving
        moves.append(free.pop() if moving else None)
    return moves


def _part_blocks(rows: Array, start: int, weights: Any, before: Any, block_rows: int) -> Any:
    tune_malloc()
    part = MemoryBlocks(rows, weights, block_rows=block_rows, first=start)
    if before is not None:  # states from an earlier task
        states = read_state(before) if isinstance(before, Path) else before[0]
        part._states = list(states)  # noqa: SLF001
    return part


def _map_part(rows: Array, start: int, weights: Any, before: Any, call: bytes) -> list[Any]:
    kernel, args, combine, block_rows = pickle.loads(call)  # noqa: S301  from the client
    results = _part_blocks(rows, start, weights, before, block_rows).map(kernel, *args)
    return list(results if combine is None else reduce_groups(results, combine))


def _advance_part(
    rows: Array, start: int, weights: Any, before: Any, call: bytes
) -> tuple[list[Any], list[Any]]:
    kernel, args, combine, block_rows = pickle.loads(call)  # noqa: S301  from the client
    part = _part_blocks(rows, start, weights, before, block_rows)
    results = part.map_with_state(kernel, *args)
    totals = list(results if combine is None else reduce_groups(results, combine))
    return part._states, totals  # noqa: SLF001


def _advance_file(
    rows: Array, start: int, weights: Any, before: Path | None, after: Path, call: bytes
) -> list[Any]:
    states, totals = _advance_part(rows, start, weights, before, call)
    write_state(after, states)
    return totals


def _partial_of(block: Any, kernel: Callable[..., tuple[Array, T]], args: tuple[Any, ...]) -> T:
    return kernel(block, *args)[1]


def _itself(value: Any) -> Any:
    return value


def _current_client() -> Any:
    try:
        return _require("distributed").default_client()
    except ValueError:
        raise ValueError(
            "Fitting a Dask collection needs a Dask cluster, and there is none: start one with "
            "`client = dask.distributed.Client()`, or connect to a scheduler, "
            "`Client('tcp://...')`."
        ) from None


def _shared_folder(client: Any, folder: Any) -> Path:
    path = Path(folder).absolute()
    if not path.is_dir():
        raise ValueError(f"spill_folder={str(folder)!r} is not a folder: create it first.")
    for address, there in client.run(os.path.isdir, str(path)).items():
        if not there:
            raise ValueError(
                f"The worker {address} cannot access spill_folder={str(folder)!r}: use a folder "
                "that all workers can write to, or omit it."
            )
    return path


def _check_workers(client: Any) -> None:
    # import_module is in the standard library, so a worker without this package can run it
    found = client.run(import_module, "ensemblage", on_error="return")
    if not found:
        raise ValueError(
            "The Dask cluster has no workers: start some with `dask worker` and the scheduler's "
            "address."
        )
    failed = {address: answer for address, answer in found.items() if isinstance(answer, Exception)}
    for address, error in failed.items():
        raise ImportError(
            f"The worker {address} cannot import ensemblage ({error}): install the same version "
            "there, and restart the worker."
        )


def _as_array(collection: Any, columns: Sequence[str] | None) -> tuple[list[str] | None, Any]:
    """Return the names of the columns, if there are any, and the rows as a Dask array."""
    if hasattr(collection, "to_dask_array"):
        unknown = [name for name in columns or () if name not in collection.columns]
        if unknown:
            raise ValueError(
                f"The Dask dataframe has no column {unknown[0]!r}: choose among "
                f"{listing(collection.columns)}."
            )
        frame = collection if columns is None else collection[list(columns)]
        for name, kind in frame.dtypes.items():
            if getattr(kind, "kind", "O") not in NUMERIC_KINDS:
                raise ValueError(
                    f"Column {name!r} of the Dask dataframe is {kind}, expected numeric: encode "
                    "it, or choose other columns, open_blocks(..., columns=[...])."
                )
        return [str(name) for name in frame.columns], frame.to_dask_array(lengths=True)
    if columns is not None:
        raise ValueError("The columns of a Dask array have no names: omit columns.")
    array = check_numeric(collection)
    return None, array.compute_chunk_sizes() if np.isnan(array.shape[0]) else array


def check_numeric(array: Any) -> Any:
    if getattr(array, "ndim", 0) != 2 or array.dtype.kind not in NUMERIC_KINDS:
        raise ValueError(f"{array!r} must be a numeric two-dimensional Dask array, or a dataframe.")
    return array


def lazy_on_dask(method: F) -> F:
    """Make a prediction method lazy on Dask collections, chunk by chunk."""

    @functools.wraps(method)
    def wrapped(estimator: Any, X: Any) -> Any:
        if not is_dask(X):
            return method(estimator, X)
        # one row of zeros checks that it is fitted and gives the shape and dtype of the result
        plain = _without_names(estimator, X)
        array = check_numeric(X.to_dask_array() if hasattr(X, "to_dask_array") else X)
        example = method(plain, np.zeros((1, array.shape[1]), array.dtype))
        width = (
            {"drop_axis": 1}
            if example.ndim == 1
            else {"chunks": (*array.chunks[:1], example.shape[1:])}
        )
        whole = array.rechunk({1: -1})
        return whole.map_blocks(
            _predict_chunk, plain, method.__name__, dtype=example.dtype, **width
        )

    return wrapped  # type: ignore[return-value]


def _predict_chunk(rows: Any, estimator: Any, name: str) -> Any:
    return np.asarray(getattr(estimator, name)(np.asarray(rows)))


def _without_names(estimator: Any, X: Any) -> Any:
    """Copy an estimator without feature names, for chunks; check the names of a dataframe here."""
    known = getattr(estimator, "feature_names_in_", None)
    given = list(X.columns) if hasattr(X, "columns") else None
    if known is not None and given is not None and list(known) != given:
        raise ValueError(
            f"The columns of the Dask dataframe are {given}, but fit had {list(known)}: select "
            "them in that order."
        )
    plain = copy.copy(estimator)
    plain.__dict__.pop("feature_names_in_", None)
    return plain
