"""Coded rows for tests of the search."""

import numpy as np

from ensemblage.bayes import SearchSpace
from ensemblage.bayes._coding import CodedRows
from ensemblage.bayes._score_kernels import Nodes
from ensemblage.bayes._search import possible_arcs


def draw(seed, n_rows=24, sizes=(2, 3, 2, 2)):
    """Draw rows in which features hang on the class and on each other."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, sizes[0], n_rows)
    rows = [label]
    for size in sizes[1:]:
        noise = rng.integers(0, size, n_rows)
        rows.append(np.where(rng.random(n_rows) < 0.5, noise, (label + rows[-1]) % size))
    columns = np.ascontiguousarray(rows, dtype=np.int32)
    return CodedRows(Nodes(columns, np.array(sizes, dtype=np.int64)), list("cabd")[: len(sizes)])


def as_lists(rows):
    """Give rows and sizes as the reference takes them."""
    return rows.nodes.codes.T.tolist(), rows.nodes.n_categories.tolist()


def space(order, init="naive", max_parents=3, local=False):
    """Give a search all arcs."""
    n_nodes = len(order) + 1
    possible, required = possible_arcs(n_nodes), ((),) * n_nodes
    return SearchSpace(list(order), init, max_parents, possible, required, local)
