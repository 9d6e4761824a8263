"""Hill climbing: arcs are added, removed and reversed as long as that raises the score.

A tabu search goes on from the top, downhill if need be, to structures that it has not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.bayes._search_space import (
    TOLERANCE,
    Candidates,
    Score,
    SearchSpace,
    Structure,
)
from ensemblage.kernels import CLASS, NO_EXTRA

PATIENCE = 10
"""A tabu search ends after so many moves in a row that lead to no better structure."""


class Move(NamedTuple):
    """What a structure becomes by one arc more, one less, or one the other way; and what it gains.

    Gains are differences of scores, so they mean the same whether a score is of the whole network
    or of a single node.
    """

    gain: float
    structure: Structure


class Remembered:
    """A local score that is asked once for each node and its parents."""

    def __init__(self, score: Score) -> None:
        self.score = score
        self._known: dict[tuple[int, tuple[int, ...]], dict[int, float]] = {}

    def __call__(self, candidates: Candidates) -> NDArray[np.float64]:
        """Ask for what is not known yet."""
        structure, node, extras = candidates
        known = self._known.setdefault((node, structure.parents[node]), {})
        new = [extra for extra in extras.tolist() if extra not in known]
        if new:
            asked = candidates._replace(extras=np.array(new, dtype=np.int64))
            known.update(zip(new, self.score(asked).tolist(), strict=True))
        return np.array([known[extra] for extra in extras.tolist()])


def moves_at(
    score: Score, structure: Structure, node: int, space: SearchSpace, below: set[int]
) -> Iterator[Move]:
    """Try all parents that a node may gain, lose, or become a parent of."""
    among = [each for each in (CLASS, *space.order) if each not in below]
    extras = space.candidates(structure, node, among)
    now, *grown = _scores(score, structure, node, [NO_EXTRA, *extras])
    for extra, value in zip(extras, grown, strict=True):
        yield Move(value - now, structure.add(node, extra))
    for parent in structure.parents[node]:
        if parent in space.rules.required[node]:
            continue
        without = structure.remove(node, parent)
        (value,) = _scores(score, without, node, [NO_EXTRA])
        yield Move(value - now, without)
        turns = parent not in without.above(node)
        if turns and space.candidates(without, parent, [node]):
            before, after = _scores(score, without, parent, [NO_EXTRA, node])
            yield Move(value - now + after - before, without.add(parent, node))


def _scores(score: Score, structure: Structure, node: int, extras: list[int]) -> list[float]:
    asked = Candidates(structure, node, np.array(extras, dtype=np.int64))
    found: list[float] = score(asked).tolist()
    return found


def sorted_moves(score: Score, structure: Structure, space: SearchSpace) -> list[Move]:
    """Try every node's moves, the best first; equals stay in the order of the nodes."""
    below: dict[int, set[int]] = {node: set() for node in range(len(structure.parents))}
    for node in structure.features:
        for above in structure.above(node):
            below[above].add(node)
    moves = [
        move
        for node in space.order
        for move in moves_at(score, structure, node, space, below[node])
    ]
    return sorted(moves, key=lambda move: -round(move.gain / TOLERANCE))


def hill_climbing(score: Score, space: SearchSpace, step: Callable[[], bool]) -> Structure:
    """Make the best move until none raises the score."""
    score, structure = Remembered(score) if space.local else score, space.first()
    while True:
        moves = sorted_moves(score, structure, space)
        if not moves or moves[0].gain <= TOLERANCE:
            return structure
        structure = moves[0].structure
        if step():
            return structure


def tabu_search(score: Score, space: SearchSpace, step: Callable[[], bool]) -> Structure:
    """Make the best move to a structure that was not seen, even downhill; keep the best one."""
    score = Remembered(score) if space.local else score
    structure = best = space.first()
    height, highest, waited = 0.0, 0.0, 0
    seen = {_arcs(structure)}
    while waited < PATIENCE:
        moves = sorted_moves(score, structure, space)
        move = next((each for each in moves if _arcs(each.structure) not in seen), None)
        if move is None:
            break
        structure, height, waited = move.structure, height + move.gain, waited + 1
        seen.add(_arcs(structure))
        if height > highest + TOLERANCE:
            best, highest, waited = structure, height, 0
        if step():
            break
    return best


def _arcs(structure: Structure) -> tuple[frozenset[int], ...]:
    return tuple(map(frozenset, structure.parents))
