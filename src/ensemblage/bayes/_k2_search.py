"""K2: each node takes the parents, among those before it, that raise the score most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels import CLASS, NO_EXTRA

# scores are means of many rounded terms: what differs by less is equal
TOLERANCE = 1e-10


@dataclass(frozen=True)
class Structure:
    """Parents of every node, in the order in which they were added; the class has none."""

    parents: tuple[tuple[int, ...], ...]

    @classmethod
    def start(cls, n_features: int, init: str) -> Structure:
        """Begin with the class as every feature's parent ("naive"), or with no parents."""
        first = (CLASS,) if init == "naive" else ()
        return cls(((), *(first for _ in range(n_features))))

    @property
    def features(self) -> range:
        """All nodes but the class."""
        return range(CLASS + 1, len(self.parents))

    def others(self, node: int) -> tuple[int, ...]:
        """Parents of a node besides the class."""
        return tuple(parent for parent in self.parents[node] if parent != CLASS)

    def add(self, node: int, parent: int) -> Structure:
        """Give a node one more parent."""
        family = (*self.parents[node], parent)
        return Structure((*self.parents[:node], family, *self.parents[node + 1 :]))


class Candidates(NamedTuple):
    """One decision of K2: which of the extras becomes a parent of the node, or ``NO_EXTRA``."""

    structure: Structure
    node: int
    extras: NDArray[np.int64]


Score = Callable[[Candidates], NDArray[np.float64]]
"""From candidates to one score for each extra: a measure on one view, or an inner ensemble."""


def first_best(scores: Sequence[float]) -> int:
    """Find the first score that no later one exceeds by more than the tolerance."""
    best = 0
    for position in range(1, len(scores)):
        if scores[position] > scores[best] + TOLERANCE:
            best = position
    return best


def add_parents(
    score: Score, structure: Structure, node: int, earlier: Sequence[int], max_parents: int
) -> Structure:
    """Give one node its parents (Algorithm 2, lines 3 to 12)."""
    while len(structure.parents[node]) < max_parents:
        possible = [z for z in earlier if z not in structure.parents[node]]
        if not possible:
            break
        extras = np.array([NO_EXTRA, *possible], dtype=np.int64)
        scores = score(Candidates(structure, node, extras))
        chosen = int(extras[first_best(scores.tolist())])
        if chosen == NO_EXTRA:
            break
        structure = structure.add(node, chosen)
    return structure


def k2_search(
    score: Score,
    order: Sequence[int],
    init: str,
    max_parents: int,
    step: Callable[[], bool] = lambda: False,
) -> Structure:
    """Search the structure of a network (Algorithm 2).

    Each feature may have the class and the features before it in the order as parents;
    ``max_parents`` counts the class. A step that is true ends the search with what there is.
    """
    structure = Structure.start(len(order), init)
    for position, node in enumerate(order):
        earlier = [CLASS, *order[:position]]
        structure = add_parents(score, structure, node, earlier, max_parents)
        if step():
            break
    return structure
