r"""Minimal cost-complexity pruning: at which :math:`\alpha` each node of a tree becomes a leaf."""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class CostedTree(NamedTuple):
    """Children (-1 at leaves, else after their parent) and what each node costs as a leaf."""

    left: Integers
    right: Integers
    costs: Floats


def parents_of(left: Integers, right: Integers) -> Integers:
    """Parent of each node; -1 for the root."""
    parents = np.full(len(left), -1)
    inner = np.flatnonzero(left >= 0)
    parents[left[inner]] = parents[right[inner]] = inner
    return parents


def link_strengths(tree: CostedTree) -> Floats:
    r"""Give the :math:`\alpha` at which each node is collapsed into a leaf; 0 for leaves.

    The weakest link is the node of least :math:`g(t) = (R(t) - R(T_t)) / (|T_t| - 1)`, with
    :math:`R` the cost and :math:`|T_t|` the leaves below. It is collapsed, and so on to the root.
    What lies below a collapsed node has its strength or less.
    """
    # plain lists and a heap: so few nodes are not worth the compiler's time
    left, right, costs = tree.left.tolist(), tree.right.tolist(), tree.costs.tolist()
    parents = parents_of(tree.left, tree.right).tolist()
    inner = [node for node in range(len(left)) if left[node] >= 0]
    below, leaves = list(costs), [1] * len(left)
    for node in reversed(inner):
        below[node] = below[left[node]] + below[right[node]]
        leaves[node] = leaves[left[node]] + leaves[right[node]]

    def link(node: int) -> tuple[float, int, int]:
        return (costs[node] - below[node]) / (leaves[node] - 1), node, leaves[node]

    links = [link(node) for node in inner]
    heapq.heapify(links)
    strengths, alpha = [0.0] * len(left), 0.0
    while links:
        strength, node, then = heapq.heappop(links)
        if leaves[node] != then:
            continue  # this or something below has been collapsed since
        alpha = max(alpha, strength)
        saved, lost = costs[node] - below[node], leaves[node] - 1
        waiting = [node]
        while waiting:
            gone = waiting.pop()
            if leaves[gone] > 1:
                strengths[gone], leaves[gone] = alpha, 1
                waiting += [left[gone], right[gone]]
        above = parents[node]
        while above >= 0:
            below[above] += saved
            leaves[above] -= lost
            heapq.heappush(links, link(above))
            above = parents[above]
    return np.array(strengths)
