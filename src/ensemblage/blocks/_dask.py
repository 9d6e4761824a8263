"""Rows on a Dask cluster: state files, Parquet read by the workers, lazy predictions."""

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
# Bytes of free memory that a worker keeps.
KEPT_BYTES = 64 * 2**20
# Bytes of the largest piece that may be among them.
LARGEST_KEPT = 32 * 2**20
# More parts balance the workers better, and cost the scheduler more.
PARTS_PER_THREAD = 4
# How often parts are moved at most until workers have the same number: idle ones may take some.
MAX_MOVES = 3
# Bytes of a call that goes along with each task; a larger one travels by itself, and once.
SMALL_CALL = 16_384


@cache
def tune_malloc() -> bool:
    """Have this process keep some freed memory; tell whether its C library can."""
    try:
        adjust = ctypes.CDLL(None).mallopt
    except (OSError, TypeError, AttributeError):  # not glibc
        return False
    return bool(adjust(M_TRIM_THRESHOLD, KEPT_BYTES) and adjust(M_MMAP_THRESHOLD, LARGEST_KEPT))


class StateFiles:
    """Two files for each part, read and written in turn; the folder is removed with this object."""

    def __init__(self, folder: Path) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="ensemblage-state-", dir=folder))
        self._turn = 0
        self.remove = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    def next_paths(self, n_parts: int) -> list[Path]:
        """Name the files that the next pass writes, other ones than those that it reads."""
        self._turn = 1 - self._turn
        return [self._folder / f"part-{part}-{self._turn}.npy" for part in range(n_parts)]

    def log_size(self, paths: list[Path]) -> None:
        size = format_size(2 * sum(path.stat().st_size for path in paths))
        LOGGER.info("The state of the rows is kept in %s, in files of %s.", self._folder, size)


def write_state(path: Path, states: list[Array]) -> None:
    """Write the states of a part's blocks, one after another; the file is whole or not there."""
    unfinished = path.with_suffix(f".{os.getpid()}")
    try:
        with unfinished.open("wb") as file:
            for state in states:
                np.lib.format.write_array(file, np.ascontiguousarray(state), allow_pickle=False)
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise OSError(
            f"The state of the rows cannot be kept in {path.parent} ({error.strerror}): make room, "
            "or name another folder, open_blocks(..., spill_folder=...)."
        ) from error


def read_state(path: Path) -> list[Array]:
    """Read what ``write_state`` wrote."""
    states: list[Any] = []
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        while file.tell() < size:
            states.append(np.lib.format.read_array(file, allow_pickle=False))
    return states


@set_module("ensemblage.blocks")
class DaskBlocks(BlockSource):
    """Rows of a Dask array or dataframe, held by the workers of the current cluster.

    Rows are cut to parts of whole blocks and stay on the workers, as does their state. The result
    has the same bits as with the same rows in memory, for any number of workers. See
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
        """Choose the length of parts; give their first rows."""
        group = self.block_rows * GROUP_BLOCKS
        threads = max(1, sum(self._client.nthreads().values()))
        n_parts = PARTS_PER_THREAD * threads
        self._part_rows = group * max(1, -(-self.shape[0] // (group * n_parts)))
        self._starts = list(range(0, self.shape[0], self._part_rows))
        return self._starts

    def _distribute(self, array: Any) -> None:
        """Cut the rows to parts that the workers hold."""
        self._cut()
        array = self._client.persist(array.rechunk((self._part_rows, -1)))
        held = {future.key: future for future in _require("distributed").futures_of(array)}
        self._hold([held[key] for (key,) in array.__dask_keys__()])

    def _hold(self, parts: list[Any]) -> None:
        """Take futures of the parts' rows, the same number for each of the threads."""
        distributed = _require("distributed")
        for _ in range(MAX_MOVES):
            distributed.wait(parts)
            places = self._client.who_has(parts)
            holders = [next(iter(places.get(part.key, ())), None) for part in parts]
            moves = balance_parts(holders, self._client.nthreads())
            if not any(moves):
                break
            # to that worker, or to any other if it is lost
            where = {"allow_other_workers": True, "pure": False}
            parts = [
                part if to is None else self._client.submit(_itself, part, workers=[to], **where)
                for part, to in zip(parts, moves, strict=True)
            ]
        self._parts = parts
        self._weight_parts: list[Any] | None = None
        self.reset()

    def reset(self) -> None:
        # futures of each part's states and results, or files of its states
        self._advanced: list[Any] = [None] * len(self._parts)
        self._files = None  # which removes them, unless another fit has them

    def begin(self, weights: Doubles | None = None) -> Self:
        fresh = super().begin(weights)
        if weights is not None:
            fresh._weight_parts = None  # noqa: SLF001  a copy of this one
        return fresh

    def describe_row(self, row: int) -> str:
        return f"row {row} of the Dask collection"

    def map(self, kernel: Callable[..., T], *args: Any) -> Iterator[T]:
        # part after part, so that values of rows need not be here all at once
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
        """Results of a pass whose states stay with the workers, or in files."""
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
        """Start a task for each part; what they all need travels along, or between workers.

        ``combine`` merges groups of blocks before they travel; None gives a result per block.
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
                "Workers died again and again on the same rows; they may lack memory: start them "
                "with more of it, or start more of them."
            ) from error
        except ImportError as error:
            raise ImportError(
                f"A worker cannot import what the fit needs ({error}): install the same version "
                "of ensemblage on all workers."
            ) from error
        return results


class ParquetParts(DaskBlocks):
    """Rows of Parquet files that all workers of the current cluster can read, by their places.

    A worker reads the row groups in which its part lies; if it is lost, another one does.
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
        """Give other rows in the place of these, as many and in the same dtype."""
        other = self.begin()
        other._hold(self._client.map(change, self._parts, pure=False))  # noqa: SLF001  a copy
        return other

    def select(self, indices: NDArray[np.intp]) -> DaskBlocks:
        raise TypeError("Some rows of files on a cluster: open them as a Dask dataframe.")


def read_part(
    start: int, stop: int, paths: list[Path], names: list[str], dtype: np.dtype[Any]
) -> Array:
    """Read the rows from ``start`` to ``stop`` on the worker that is to hold them."""
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
    return require(module, "Rows on a cluster", extra="dask")


def balance_parts(holders: Sequence[str | None], threads: Mapping[str, int]) -> list[str | None]:
    """Give for each part the worker to move it to, so that all threads have as many; or None."""
    counts, total = Counter(holders), max(1, sum(threads.values()))
    shares = {worker: len(holders) * n // total for worker, n in threads.items()}
    # what is left goes to those whose share is not whole, and that have most already
    uneven = [worker for worker, n in threads.items() if len(holders) * n % total]
    rest = len(holders) - sum(shares.values())
    for worker in sorted(uneven, key=lambda worker: shares[worker] - counts[worker])[:rest]:
        shares[worker] += 1
    room = [worker for worker in threads for _ in range(shares[worker] - counts[worker])]
    moves: list[str | None] = []
    for holder in holders:
        moving = holder in shares and counts[holder] > shares[holder] and bool(room)
        counts[holder] -= moving
        moves.append(room.pop() if moving else None)
    return moves


def _part_blocks(rows: Array, start: int, weights: Any, before: Any, block_rows: int) -> Any:
    tune_malloc()
    part = MemoryBlocks(rows, weights, block_rows=block_rows, first=start)
    if before is not None:  # states that another task left
        states = read_state(before) if isinstance(before, Path) else before[0]
        part._states = list(states)  # noqa: SLF001
    return part


def _map_part(rows: Array, start: int, weights: Any, before: Any, call: bytes) -> list[Any]:
    kernel, args, combine, block_rows = pickle.loads(call)  # noqa: S301  the client's own
    results = _part_blocks(rows, start, weights, before, block_rows).map(kernel, *args)
    return list(results if combine is None else reduce_groups(results, combine))


def _advance_part(
    rows: Array, start: int, weights: Any, before: Any, call: bytes
) -> tuple[list[Any], list[Any]]:
    kernel, args, combine, block_rows = pickle.loads(call)  # noqa: S301  the client's own
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
            "A Dask collection is fitted by a cluster's workers, and there is none: start one "
            "with `client = dask.distributed.Client()`, or give the address of a scheduler, "
            "`Client('tcp://...')`."
        ) from None


def _shared_folder(client: Any, folder: Any) -> Path:
    path = Path(folder).absolute()
    if not path.is_dir():
        raise ValueError(f"spill_folder={str(folder)!r} is no folder: make it first.")
    for address, there in client.run(os.path.isdir, str(path)).items():
        if not there:
            raise ValueError(
                f"The worker {address} does not see spill_folder={str(folder)!r}: name a folder "
                "that all workers can write to, or leave it away."
            )
    return path


def _check_workers(client: Any) -> None:
    # import_module is in every Python, so it can be sent where this package is not
    found = client.run(import_module, "ensemblage", on_error="return")
    if not found:
        raise ValueError(
            "The Dask cluster has no workers: start some with `dask worker` and the scheduler's "
            "address."
        )
    lacking = {at: answer for at, answer in found.items() if isinstance(answer, Exception)}
    for address, error in lacking.items():
        raise ImportError(
            f"The worker {address} cannot import ensemblage ({error}): install the same version "
            "there as here, and start the worker again."
        )


def _as_array(collection: Any, columns: Sequence[str] | None) -> tuple[list[str] | None, Any]:
    """Give the names of the columns, where there are any, and the rows as a Dask array."""
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
                    f"Column {name!r} of the Dask dataframe holds {kind}, no numbers: encode it, "
                    "or choose other columns, open_blocks(..., columns=[...])."
                )
        return [str(name) for name in frame.columns], frame.to_dask_array(lengths=True)
    if columns is not None:
        raise ValueError("The columns of a Dask array have no names: leave columns out.")
    array = check_numeric(collection)
    return None, array.compute_chunk_sizes() if np.isnan(array.shape[0]) else array


def check_numeric(array: Any) -> Any:
    if getattr(array, "ndim", 0) != 2 or array.dtype.kind not in NUMERIC_KINDS:
        raise ValueError(
            f"{array!r} must be a Dask array of numbers with two dimensions, or a dataframe."
        )
    return array


def lazy_on_dask(method: F) -> F:
    """Let a method of new rows take a Dask collection lazily, chunk by chunk where they lie."""

    @functools.wraps(method)
    def wrapped(estimator: Any, X: Any) -> Any:
        if not is_dask(X):
            return method(estimator, X)
        # one row of zeros tells whether it is fitted, and the shape and dtype of the result
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
    """Copy an estimator for chunks, which have no names; those of a frame are compared here."""
    known = getattr(estimator, "feature_names_in_", None)
    given = list(X.columns) if hasattr(X, "columns") else None
    if known is not None and given is not None and list(known) != given:
        raise ValueError(
            f"The columns of the Dask dataframe are {given}, and those of fit were "
            f"{list(known)}: choose them in that order."
        )
    plain = copy.copy(estimator)
    plain.__dict__.pop("feature_names_in_", None)
    return plain
