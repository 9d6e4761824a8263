"""METIS, imported when it is first needed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ensemblage.messages import require

USUAL_BALANCE = 0.03
"""METIS's own: parts at most 3 % larger than the mean."""


def cut_graph(
    graph: sparse.csr_array, n_parts: int, seed: int, method: str, balance: float = USUAL_BALANCE
) -> NDArray[Any]:
    """Cut a graph into parts of about equal size, with little weight across.

    It is symmetric, with whole positive weights and nothing on the diagonal; ``method`` is who
    asks, for the message if METIS is missing. No part is larger than the mean by more than
    ``balance``, relatively.
    """
    pymetis = require("pymetis", method, extra="consensus")
    if n_parts == 1:
        return np.zeros(graph.shape[0], np.int32)
    dtype = pymetis.zero_copy_dtype()
    found = pymetis.part_graph(
        n_parts,
        pymetis.CSRAdjacency(graph.indptr.astype(dtype), graph.indices.astype(dtype)),
        eweights=graph.data.astype(dtype),
        options=pymetis.Options(seed=seed % (2**31 - 1), ufactor=max(1, round(1000 * balance))),
    )
    return np.asarray(found.vertex_part)
