"""Nodes of a network in rows: parents above their children, few arrows across each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple, TypeAlias

SWEEPS = 8

Parents: TypeAlias = Mapping[str, Sequence[str]]


class Place(NamedTuple):
    """Where a node stands: its row from the top, its slot from the left."""

    row: int
    slot: int


def network_places(parents: Parents, target: str | None, most: int) -> dict[str, Place]:
    """Place every node below its parents, at most so many in a row, the class alone on top.

    Rows are filled as by Coffman and Graham: of the nodes whose parents all stand above, those
    with the longest way below them come first. Where all have room, a row is a depth. Within rows
    nodes are moved to the mean slot of their neighbours, down and up, and the order with the
    fewest crossings is kept. Arrows from the class do not count, since all nodes may have one.
    """
    rows = _filled_rows(parents, target, most)
    links = [(above, node) for node, names in parents.items() for above in names if above != target]
    slots = {name: slot for row in rows for name, slot in _centred(row, most)}
    level = {name: number for number, row in enumerate(rows) for name in row}
    best = slots
    for sweep in range(SWEEPS):
        ends = links if sweep % 2 == 0 else [(child, parent) for parent, child in links]
        slots = _swept(rows if sweep % 2 == 0 else rows[::-1], ends, slots, most)
        best = min(best, slots, key=lambda each: _cost(links, level, each))
    return {name: Place(level[name], best[name]) for name in parents}


def _filled_rows(parents: Parents, target: str | None, most: int) -> list[list[str]]:
    height = _heights(parents)
    rows: list[list[str]] = []
    level: dict[str, int] = {}
    if target is not None and not parents.get(target, [target]):
        rows.append([target])
        level[target] = 0
    order = list(parents)
    while len(level) < len(parents):
        ready = [n for n in order if n not in level and all(p in level for p in parents[n])]
        # beside equals, a node follows its parents closely
        near = {n: max((level[p] for p in parents[n] if p != target), default=-1) for n in ready}
        row = sorted(ready, key=lambda n: (-height[n], -near[n]))[:most]
        level |= dict.fromkeys(row, len(rows))
        rows.append(row)
    return rows


def _heights(parents: Parents) -> dict[str, int]:
    """Length of the longest way down from each node."""
    below: dict[str, list[str]] = {name: [] for name in parents}
    for child, names in parents.items():
        for name in names:
            if name not in below:
                raise ValueError(f"The node {child!r} depends on {name!r}, which is no node.")
            below[name].append(child)
    waiting = {name: len(children) for name, children in below.items()}
    height = dict.fromkeys(parents, 0)
    free = [name for name, left in waiting.items() if left == 0]
    for name in free:
        for parent in parents[name]:
            height[parent] = max(height[parent], height[name] + 1)
            waiting[parent] -= 1
            if waiting[parent] == 0:
                free.append(parent)
    if len(free) < len(parents):
        raise ValueError("The arrows lead in a circle: a network must have none.")
    return height


def _centred(row: Sequence[str], most: int) -> Iterator[tuple[str, int]]:
    first = (most - len(row)) // 2
    return ((name, first + k) for k, name in enumerate(row))


def _swept(
    rows: Sequence[Sequence[str]],
    links: Sequence[tuple[str, str]],
    slots: Mapping[str, int],
    most: int,
) -> dict[str, int]:
    """Move nodes, row after row, towards the mean slot of where their links come from."""
    moved = dict(slots)
    for row in rows:
        wanted: dict[str, float] = {}
        for name in row:
            near = [moved[start] for start, end in links if end == name]
            wanted[name] = sum(near) / len(near) if near else moved[name]
        order = sorted(row, key=lambda name: (wanted[name], moved[name]))
        free = combinations(range(most), len(row))
        aims = [wanted[name] for name in order]
        taken = min(free, key=lambda places: _distance(places, aims))
        moved |= dict(zip(order, taken, strict=True))
    return moved


def _distance(places: Sequence[int], aims: Sequence[float]) -> float:
    return sum((place - aim) ** 2 for place, aim in zip(places, aims, strict=True))


def _cost(
    links: Sequence[tuple[str, str]], level: Mapping[str, int], slots: Mapping[str, int]
) -> tuple[int, int]:
    """Crossings of links between the same rows, then how far links lead sideways."""
    between: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for above, below in links:
        key = level[above], level[below]
        between.setdefault(key, []).append((slots[above], slots[below]))
    crossings = sum(
        (a - c) * (b - d) < 0
        for ends in between.values()
        for (a, b), (c, d) in combinations(ends, 2)
    )
    return crossings, sum(abs(slots[above] - slots[below]) for above, below in links)
