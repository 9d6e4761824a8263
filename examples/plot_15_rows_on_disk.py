"""
Rows on disk
============

Strata of rows that stay in a file: a memory-mapped array is read block by block, and the result is that of rows in
memory, to the bit.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from ensemblage.strata import HISS

rng = np.random.default_rng(0)
centres = rng.uniform(-8, 8, (6, 2))
rows = (centres[rng.integers(6, size=60_000)] + rng.normal(size=(60_000, 2))).astype("float32")

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "rows.npy"
    np.save(path, rows)
    mapped = np.load(path, mmap_mode="r")
    hiss = HISS(n_strata=6, stratum_size=1 / 6, random_state=0).fit(mapped)
    same = HISS(n_strata=6, stratum_size=1 / 6, random_state=0).fit(rows)
    del mapped

print("equal to the bit:", np.array_equal(hiss.means_, same.means_))

# %%
# One row in thirty, coloured by the stratum that it belongs to most.

fig, ax = plt.subplots(figsize=(5.5, 4), layout="constrained")
some = slice(None, None, 30)
ax.scatter(*rows[some].T, c=hiss.memberships_[some].argmax(axis=1), cmap="tab10", s=5)
ax.scatter(*hiss.means_.T, marker="x", c="k")
ax.set_title(f"60,000 rows, {hiss.n_iter_} passes", fontsize=10)

# %%
# **Take away**: where the rows live does not change the answer.
