"""What a search of structures works on: parents, candidates, and which arcs there may be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.kernels import CLASS

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
        return self._with(node, (*self.parents[node], parent))

    def remove(self, node: int, parent: int) -> Structure:
        """Take a parent from a node."""
        return self._with(node, tuple(each for each in self.parents[node] if each != parent))

    def _with(self, node: int, family: tuple[int, ...]) -> Structure:
        return Structure((*self.parents[:node], family, *self.parents[node + 1 :]))

    def above(self, node: int) -> set[int]:
        """Find all nodes from which arcs lead to a node, over any number of others."""
        found: set[int] = set()
        waiting = [node]
        while waiting:
            new = set(self.parents[waiting.pop()]) - found
            found |= new
            waiting += new
        return found

    def sorted_features(self, order: Sequence[int]) -> list[int]:
        """List the features with parents before children, otherwise in the given order."""
        done: dict[int, None] = {CLASS: None}
        waiting = list(order)
        while waiting:
            ready = next(node for node in waiting if done.keys() >= set(self.parents[node]))
            done[ready] = None
            waiting.remove(ready)
        return list(done)[1:]


class Candidates(NamedTuple):
    """One decision of a search: which of the extras becomes a node's parent, or ``NO_EXTRA``."""

    structure: Structure
    node: int
    extras: NDArray[np.int64]


Score = Callable[[Candidates], NDArray[np.float64]]
"""From candidates to one score for each extra: a measure on one view, or an inner ensemble."""


@dataclass(frozen=True, eq=False)
class ArcRules:
    """Which arcs there may and must be: ``possible[parent, node]``, parents by node, and tiers.

    A node in no tier has rank 0, as one in the first.
    """

    possible: NDArray[np.bool_]
    required: tuple[tuple[int, ...], ...]
    ranks: tuple[int, ...]

    @classmethod
    def free(cls, n_nodes: int) -> ArcRules:
        """Allow every arc but those into the class, and require none."""
        possible = ~np.eye(n_nodes, dtype=bool)
        possible[:, CLASS] = False
        return cls(possible, ((),) * n_nodes, (0,) * n_nodes)

    def default_order(self) -> list[int]:
        """Order the features as the columns are, but earlier tiers and required parents first."""
        structure = Structure(self.required)
        by_tier = sorted(structure.features, key=lambda node: self.ranks[node])
        return structure.sorted_features(by_tier)


class SearchSpace(NamedTuple):
    """Where a search starts and how far it may go; ``max_parents`` counts the class.

    K2 gives a feature parents that come before it in the order; for the other searches the order
    only decides between equals. ``local`` says that a score is of one node alone.
    """

    order: list[int]
    init: str
    max_parents: int
    rules: ArcRules
    local: bool = False

    def start(self, node: int) -> tuple[int, ...]:
        """Give a node's first parents: those required, and the class in a naive start."""
        required = self.rules.required[node]
        wants = self.init == "naive" and CLASS not in required and self.rules.possible[CLASS, node]
        return (CLASS, *required) if wants and len(required) < self.max_parents else required

    def first(self) -> Structure:
        """Give all nodes their first parents."""
        return Structure(((), *(self.start(node) for node in range(1, len(self.order) + 1))))

    def candidates(self, structure: Structure, node: int, among: Sequence[int]) -> list[int]:
        """Find the nodes that may become one more parent of a node."""
        parents = structure.parents[node]
        if len(parents) >= self.max_parents:
            return []
        possible = self.rules.possible[:, node].tolist()
        return [each for each in among if possible[each] and each not in parents]


Search = Callable[[Score, SearchSpace, Callable[[], bool]], Structure]
"""A search; it calls its last argument after each step, and ends there if that is true."""


def first_best(scores: Sequence[float]) -> int:
    """Find the first score that no later one exceeds by more than the tolerance."""
    best = 0
    if max(scores) <= scores[0] + TOLERANCE:  # mostly so, where candidates are many
        return best
    for position in range(1, len(scores)):
        if scores[position] > scores[best] + TOLERANCE:
            best = position
    return best
