"""METIS, imported when it is first needed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def import_extra(name: str, method: str) -> Any:
    """Import a package of the extra ``consensus``, or say how to get it.

    Parameters
    ----------
    name : str
        The package.
    method : str
        Who needs it, for the message.

    Returns
    -------
    module
        The package.
    """
    import importlib  # noqa: PLC0415

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"{method} needs the package {name}. "
            'Install it with: pip install "ensemblage[consensus]".'
        ) from error


def cut_graph(graph: sparse.csr_array, n_parts: int, seed: int, method: str) -> NDArray[Any]:
    """Cut a graph into parts of about equal size, with little weight across.

    Parameters
    ----------
    graph : csr_array of shape (n_vertices, n_vertices)
        Symmetric, whole positive weights, nothing on the diagonal.
    n_parts : int
        Number of parts.
    seed : int
        METIS's seed.
    method : str
        Who asks, for the message if METIS is missing.

    Returns
    -------
    ndarray of shape (n_vertices,)
        Part of each vertex.
    """
    pymetis = import_extra("pymetis", method)
    if n_parts == 1:
        return np.zeros(graph.shape[0], np.int32)
    dtype = pymetis.zero_copy_dtype()
    found = pymetis.part_graph(
        n_parts,
        pymetis.CSRAdjacency(graph.indptr.astype(dtype), graph.indices.astype(dtype)),
        eweights=graph.data.astype(dtype),
        options=pymetis.Options(seed=seed % (2**31 - 1)),
    )
    return np.asarray(found.vertex_part)
