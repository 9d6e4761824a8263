"""
Rows on disk and on a Dask cluster
==================================

Strata of rows in a file, or in the memory of Dask workers: rows are processed block by block, and the result is bit-identical
to that of rows in memory.
"""

import tempfile
from pathlib import Path

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster

from ensemblage.blocks import DaskBlocks, NpyBlocks, ParquetBlocks, is_source, open_blocks
from ensemblage.strata import HISS

rng = np.random.default_rng(0)
centres = rng.uniform(-8, 8, (6, 2))
rows = (centres[rng.integers(6, size=60_000)] + rng.normal(size=(60_000, 2))).astype("float32")
strata = HISS(n_strata=6, stratum_size=1 / 6, random_state=0)
in_memory = strata.fit(rows).means_.copy()

# %%
# Pass a path instead of an array. Values of each row, here memberships, are written to a file.

with tempfile.TemporaryDirectory() as folder:
    path, out = Path(folder) / "rows.npy", Path(folder) / "memberships.npy"
    np.save(path, rows)
    source = open_blocks(path, out=out)
    print(type(source) is NpyBlocks, is_source(path), is_source(rows))
    on_disk = strata.fit(source).means_.copy()
    memberships = np.load(out)

# %%
# On a Dask cluster the rows stay on the workers: kernels are sent there, and sums are returned. Dask arrays and dataframes
# become :class:`~ensemblage.blocks.DaskBlocks`, Parquet files :class:`~ensemblage.blocks.ParquetBlocks`.

with (
    LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster,
    Client(cluster),
):
    on_cluster = strata.fit(da.from_array(rows, chunks=(20_000, 2))).means_.copy()

print("bit-identical:", np.array_equal(in_memory, on_disk), np.array_equal(in_memory, on_cluster))
print([kind.__name__ for kind in (NpyBlocks, ParquetBlocks, DaskBlocks)])

# %%
# Every thirtieth row, coloured by the stratum with the largest membership.

fig, ax = plt.subplots(figsize=(5.5, 4), layout="constrained")
some = slice(None, None, 30)
ax.scatter(*rows[some].T, c=memberships[some].argmax(axis=1), cmap="tab10", s=5)
ax.scatter(*in_memory.T, marker="x", c="k")
ax.set_title(f"60,000 rows, {strata.n_iter_} passes", fontsize=10)

# %%
# **Take away**: the result does not depend on where the rows are.
