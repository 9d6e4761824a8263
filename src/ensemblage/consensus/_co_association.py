"""How often two rows share a cluster, among the partitions that sampled both."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import squareform

from ensemblage.consensus._partitions import (
    NOT_SAMPLED,
    Partitions,
    check_partitions,
    indicators,
)


def co_association(partitions: Any) -> sparse.csr_array:
    r"""Share of the partitions in which two rows are in one cluster.

    Parameters
    ----------
    partitions : array-like of shape (n_partitions, n_samples)
        Cluster of each row in each partition; -1 where a partition did not sample the row.

    Returns
    -------
    csr_array of shape (n_samples, n_samples)
        Symmetric, ones on the diagonal; pairs that never meet are not stored.

    Notes
    -----
    With :math:`H` the rows-by-clusters indicator matrix and :math:`M` the rows-by-partitions
    matrix of who was sampled, entry (i, j) is :math:`(H H^\top)_{ij} / (M M^\top)_{ij}`.

    Examples
    --------
    >>> from ensemblage.consensus import co_association
    >>> co_association([[0, 0, 1], [0, 1, 1]]).toarray().tolist()
    [[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]]
    """
    partitions = check_partitions(partitions)
    members = indicators(partitions, np.float64)
    together = sparse.csr_array(members @ members.T)
    together.sort_indices()
    together.data /= _joint(partitions, together)
    return together


def _joint(partitions: Partitions, together: sparse.csr_array) -> Any:
    """Partitions that sampled both rows of each stored pair."""
    if partitions.min() > NOT_SAMPLED:
        return len(partitions)
    seen = (partitions != NOT_SAMPLED).T.astype(np.float64)
    counts = np.empty(together.nnz)
    for row in range(len(seen)):
        part = slice(together.indptr[row], together.indptr[row + 1])
        counts[part] = seen[together.indices[part]] @ seen[row]
    return counts


def condensed_distances(partitions: Partitions) -> NDArray[np.float64]:
    """One minus co-association, in SciPy's condensed form; 1 for a pair never sampled together."""
    members = indicators(partitions).toarray()
    together = members @ members.T
    if partitions.min() > NOT_SAMPLED:
        together /= len(partitions)
    else:
        seen = (partitions != NOT_SAMPLED).T.astype(np.float32)
        together /= np.maximum(seen @ seen.T, 1)
    np.subtract(1, together, out=together)
    np.fill_diagonal(together, 0)
    return np.asarray(squareform(together, checks=False), dtype=np.float64)


def guard_memory(n_bytes: float, limit: float, n_rows: int, method: str) -> None:
    """Refuse, before anything is allocated, what would take more than the user's limit."""
    if n_bytes > limit:
        raise MemoryError(
            f"{method} compares all pairs of {n_rows} rows, about {n_bytes / 1e9:.3g} GB, which is "
            f"more than memory_limit={limit:.3g} bytes. Use MCLA or HBGF, whose memory grows with "
            "the number of rows only, or raise memory_limit."
        )
