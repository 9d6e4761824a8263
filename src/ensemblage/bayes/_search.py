"""K2: each node takes the parents, among those before it, that raise the score most."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ensemblage.bayes._measures import Candidates, Structure

# scores are means of many rounded terms: what differs by less is equal
TOLERANCE = 1e-10


def first_best(scores: Sequence[float]) -> int:
    """Find the best score; of equal ones the first.

    Parameters
    ----------
    scores : sequence of float
        Their order decides between equals.

    Returns
    -------
    int
        Position of the first score that no later one exceeds by more than the tolerance.
    """
    best = 0
    for position in range(1, len(scores)):
        if scores[position] > scores[best] + TOLERANCE:
            best = position
    return best


def start_structure(n_nodes: int, init: str) -> Structure:
    """Make the network that the search starts from.

    Parameters
    ----------
    n_nodes : int
        Class and features.
    init : {"naive", "empty"}
        Whether the class is a parent of every feature from the start.

    Returns
    -------
    Structure
        Parents of every node.
    """
    first = [0] if init == "naive" else []
    return Structure([[], *(first.copy() for _ in range(1, n_nodes))])


def add_parents(
    score: Callable[[Candidates], NDArray[np.float64]],
    structure: Structure,
    node: int,
    earlier: Sequence[int],
    max_parents: int,
) -> None:
    """Give one node its parents, in place (Algorithm 2, lines 3 to 12).

    Parameters
    ----------
    score : callable
        From candidates to their scores.
    structure : Structure
        Changed.
    node : int
        Whose parents are chosen.
    earlier : sequence of int
        Nodes that may be parents, the class included, in order.
    max_parents : int
        Upper bound on the number of parents, the class included.
    """
    parents = structure.parents[node]
    while len(parents) < max_parents:
        extras = [node, *(z for z in earlier if z not in parents)]
        if len(extras) == 1:
            return
        scores = score(Candidates(structure, node, np.array(extras, dtype=np.int64)))
        chosen = extras[first_best(scores.tolist())]
        if chosen == node:
            return
        parents.append(chosen)


def k2_search(
    score: Callable[[Candidates], NDArray[np.float64]],
    order: Sequence[int],
    init: str,
    max_parents: int,
    step: Callable[[], bool] = lambda: False,
) -> Structure:
    """Search the structure of a network (Algorithm 2).

    Parameters
    ----------
    score : callable
        From candidates to their scores: a measure on one view, or an inner ensemble.
    order : sequence of int
        The features, each of which may have the class and earlier ones as parents.
    init : {"naive", "empty"}
        Where to start.
    max_parents : int
        Upper bound on the number of parents, the class included.
    step : callable
        Called after each node; true to stop and keep what there is.

    Returns
    -------
    Structure
        Parents of every node; the class has none.
    """
    structure = start_structure(len(order) + 1, init)
    for position, node in enumerate(order):
        add_parents(score, structure, node, [0, *order[:position]], max_parents)
        if step():
            break
    return structure
