"""Blocks that already carry log affinities."""

import numpy as np

from ensemblage.blocks import MemoryBlocks


def with_affinity(affinity, weights=None, block_rows=64):
    """Blocks that already carry log affinities of shape (n_strata, n_rows)."""
    rows = np.arange(affinity.shape[1], dtype=float)[:, None]
    source = MemoryBlocks(rows, weights, block_rows=block_rows)
    list(source.map_with_state(lambda block: (affinity[:, block.rows[:, 0].astype(int)], ())))
    return source
