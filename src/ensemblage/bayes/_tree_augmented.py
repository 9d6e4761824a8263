"""A tree between the features below the class: TAN."""

from __future__ import annotations

from collections.abc import Callable
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

Floats = NDArray[np.float64]

NEVER = -1e300
"""Gain of an arc that may not be; finite, so that differences of two are."""


class Contraction(NamedTuple):
    """A graph whose cycles have become single nodes.

    ``gains`` are those between the new nodes; ``arcs[a, b]`` is the arc, parent and node, of the
    old graph that the best one from a to b stands for.
    """

    gains: Floats
    arcs: NDArray[np.int64]


def cycles_of(parents: NDArray[np.int64]) -> list[list[int]]:
    """List the cycles of a graph in which each node but the first has one parent."""
    visited_by = np.zeros(len(parents), dtype=np.int64)
    cycles = []
    for start in range(1, len(parents)):
        node, way = start, []
        while node != 0 and not visited_by[node]:
            visited_by[node] = start
            way.append(node)
            node = int(parents[node])
        if node != 0 and visited_by[node] == start:
            cycles.append(way[way.index(node) :])
    return cycles


def contract(gains: Floats, parents: NDArray[np.int64], cycles: list[list[int]]) -> Contraction:
    """Make each cycle one node; what enters it gains over the arc of the cycle that it replaces."""
    inside = [node for cycle in cycles for node in cycle]
    groups = [[node] for node in range(len(gains)) if node not in set(inside)] + cycles
    relative = gains.copy()
    relative[:, inside] -= gains[parents[inside], inside]
    relative[relative < NEVER / 2] = NEVER
    nodes = np.concatenate(groups)
    starts = np.cumsum([0, *map(len, groups[:-1])])
    found = np.full((len(groups), len(groups)), NEVER)
    arcs = np.zeros((len(groups), len(groups), 2), dtype=np.int64)
    for b, into in enumerate(groups):
        at = relative[:, into].argmax(axis=1)
        gain = relative[np.arange(len(gains)), np.array(into)[at]][nodes]
        found[:, b] = np.maximum.reduceat(gain, starts)
        is_best = gain == np.repeat(found[:, b], np.diff([*starts, len(nodes)]))
        first = np.minimum.reduceat(np.where(is_best, np.arange(len(nodes)), len(nodes)), starts)
        arcs[:, b, 0] = nodes[first]
        arcs[:, b, 1] = np.array(into)[at[nodes[first]]]
    np.fill_diagonal(found, NEVER)
    return Contraction(found, arcs)


def best_branching(gains: Floats) -> NDArray[np.int64]:
    """Give each node the parent that makes the sum of gains largest, without a cycle.

    ``gains[p, n]`` is that of p as the parent of n; node 0 is the root, its own parent.
    (Chu and Liu 1965, Edmonds 1967; all cycles are contracted at once.)
    """
    parents: NDArray[np.int64] = gains.argmax(axis=0)
    parents[0] = 0
    cycles = cycles_of(parents)
    if not cycles:
        return parents
    smaller = contract(gains, parents, cycles)
    for b, a in enumerate(best_branching(smaller.gains).tolist()):
        if b > 0:
            parent, node = smaller.arcs[a, b]
            parents[node] = parent
    return parents


def tree_augmented(score: Score, space: SearchSpace, step: Callable[[], bool]) -> Structure:
    r"""Find the tree with the largest conditional mutual information, the first feature its root.

    The score is a node's log likelihood, whose gain by a parent j is
    :math:`n I(X_i; X_j \mid C)`. Where directions are constrained the best branching is found.
    """
    start = space._replace(init="naive").first()
    gains = np.full((len(start.parents), len(start.parents)), NEVER)
    for node in start.features:
        bare = start
        for parent in start.others(node):
            bare = bare.remove(node, parent)
        extras = [NO_EXTRA, *(each for each in start.features if each != node)]
        asked = Candidates(bare, node, np.array(extras, dtype=np.int64))
        now, *grown = score(asked).tolist()
        gains[extras[1:], node] = np.array(grown) - now
        if step():
            return start
    gains[1:, 1:] = (gains[1:, 1:] + gains[1:, 1:].T) / 2  # equal but for rounding
    gains[gains < TOLERANCE] = NEVER
    _constrain(gains, start, space)
    # the first feature is the root, where nothing else speaks for one
    gains[CLASS, space.order[0]] += 1e-9 * max(float(gains.max()), 1.0)
    structure = start
    for node, parent in enumerate(best_branching(gains).tolist()):
        if parent != CLASS and parent not in start.parents[node]:
            structure = structure.add(node, parent)
    return structure


def _constrain(gains: Floats, start: Structure, space: SearchSpace) -> None:
    """Leave each node the parents that it may have, in place; only its own if it must have one."""
    gains[~space.rules.possible] = NEVER
    gains[CLASS] = 0.0
    for node in start.features:
        required = start.others(node)
        room = len(start.parents[node]) < space.max_parents
        if required or not room:
            gains[:, node] = NEVER
            gains[required[0] if required else CLASS, node] = 0.0
