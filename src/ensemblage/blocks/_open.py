"""Open rows in blocks from a file, a folder or a Dask collection."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ensemblage.blocks._blocks import BLOCK_ROWS, BlockSource, is_dask
from ensemblage.blocks._dask import DaskBlocks
from ensemblage.blocks._files import NpyBlocks
from ensemblage.blocks._parquet import SUFFIXES, ParquetBlocks


def open_blocks(
    X: Any,
    *,
    columns: Sequence[str] | None = None,
    block_rows: int = BLOCK_ROWS,
    spill_folder: Any = None,
    out: Any = None,
) -> BlockSource:
    """Open rows on disk or on a Dask cluster for ``fit``.

    ``fit`` calls it for a path or a Dask collection. Call it yourself to choose columns or output
    files.

    Parameters
    ----------
    X : str, path-like, list of these, Dask collection or BlockSource
        A ``.npy`` file, a Parquet file, a folder or a list of Parquet files, a Dask array or
        dataframe. A source is returned unchanged.
    columns : list of str, default=None
        Columns of Parquet files or of a dataframe to read; by default all.
    block_rows : int, default=8000
        Rows per block. It affects the rounding of the result.
    spill_folder : str or path-like, default=None
        Folder for the state of rows between passes. For rows on disk, the state is in a temporary
        file, by default in the folder of the rows. For rows on a Dask cluster, it is by default in
        the workers' memory; a folder must be writable by all workers, and rows of a lost worker
        then continue from the last completed pass.
    out : str or path-like, default=None
        ``.npy`` file for the fitted values of each row on disk: memberships, or labels and
        votes.

    Returns
    -------
    BlockSource
        The rows.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from ensemblage.blocks import open_blocks
    >>> from ensemblage.strata import HISS
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows, out = Path(folder, "rows.npy"), Path(folder, "memberships.npy")
    ...     np.save(rows, np.random.default_rng(0).normal(size=(1000, 3)))
    ...     hiss = HISS(2, 0.3, random_state=0).fit(open_blocks(rows, out=out))
    ...     sizes = np.load(out).sum(axis=0)
    >>> sizes.round(6)
    array([300., 300.])
    """
    if isinstance(X, BlockSource):
        return X
    if is_dask(X):
        if out is not None:
            raise ValueError(
                "`out` is not supported for a Dask collection: omit it, and call transform or "
                "predict."
            )
        return DaskBlocks(X, columns, block_rows=block_rows, spill_folder=spill_folder)
    if not isinstance(X, str | os.PathLike) or Path(X).is_dir() or Path(X).suffix in SUFFIXES:
        return ParquetBlocks(X, columns, block_rows=block_rows, spill_folder=spill_folder, out=out)
    if Path(X).suffix != ".npy":
        raise ValueError(
            f"{X} is neither a .npy nor a Parquet file ({SUFFIXES[0]}), nor a folder of Parquet "
            "files: use one of these, or an array."
        )
    if columns is not None:
        raise ValueError(f"The columns of {X} have no names: omit columns.")
    return NpyBlocks(X, block_rows=block_rows, spill_folder=spill_folder, out=out)
