"""Blocks from whatever holds the rows: an array, a file, a folder, a Dask collection."""

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
    """Open rows on disk or on a cluster for a ``fit``.

    ``fit`` calls it for a path or a Dask collection; call it yourself to choose columns, or where
    to write.

    Parameters
    ----------
    X : str, path-like, list of these, Dask collection or BlockSource
        A ``.npy`` file, a Parquet file, a folder or a list of Parquet files, a Dask array or
        dataframe; a source is given back as it is.
    columns : list of str, default=None
        Which columns of Parquet files or of a dataframe to read; all if not given.
    block_rows : int, default=8000
        Rows per block; part of the result's last bits.
    spill_folder : str or path-like, default=None
        Folder for the state of rows between passes. Of rows on disk it is in a temporary file,
        beside the rows if not given. Of rows on a cluster it is in the workers' memory if not
        given; a folder must be one that all workers can write to, and a lost worker's rows then go
        on from the last completed pass.
    out : str or path-like, default=None
        A ``.npy`` file for the values that a fit gives each row on disk: memberships, or labels
        and votes.

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
                "Values of rows on a cluster stay there: leave out away, and call transform "
                "or predict."
            )
        return DaskBlocks(X, columns, block_rows=block_rows, spill_folder=spill_folder)
    if not isinstance(X, str | os.PathLike) or Path(X).is_dir() or Path(X).suffix in SUFFIXES:
        return ParquetBlocks(X, columns, block_rows=block_rows, spill_folder=spill_folder, out=out)
    if Path(X).suffix != ".npy":
        raise ValueError(
            f"{X} is neither a .npy nor a Parquet file ({SUFFIXES[0]}), nor a folder of these: "
            "give one of them, or an array."
        )
    if columns is not None:
        raise ValueError(f"The columns of {X} have no names: leave columns out.")
    return NpyBlocks(X, block_rows=block_rows, spill_folder=spill_folder, out=out)
