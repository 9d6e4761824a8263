"""A fitted tree in words: as indented text, and as Graphviz's dot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ensemblage.inner._fitted_tree import FittedTree
from ensemblage.inner._tree_structure import LARGEST
from ensemblage.messages import write_number
from ensemblage.pages import TreeNode


class TreeWords(NamedTuple):
    """Names of the columns, and of the classes; no classes where the tree gives numbers.

    ``categories`` has one for each column ``name = category`` of zeros and ones, and None for the
    others; it may be empty.
    """

    columns: Sequence[str]
    classes: Sequence[str]
    categories: Sequence[str | None] = ()


class Asked(NamedTuple):
    """What a split asks: a column, what it is compared with, and where the crowd is not agreed.

    ``yes`` and ``no`` are the children.
    """

    column: str
    compared: str
    crowd: str
    yes: int
    no: int

    @property
    def question(self) -> str:
        """Column and comparison together."""
        return f"{self.column}{self.compared}"


def asked(tree: FittedTree, node: int, words: TreeWords) -> Asked:
    """Read a split: the median of its thresholds, and the least and the greatest of them.

    Zero and one are no numbers to a reader: between them, it is asked for the category.
    """
    thresholds, column = tree.thresholds[node], words.columns[tree.feature[node]]
    left, right = int(tree.left[node]), int(tree.right[node])
    category = words.categories[tree.feature[node]] if words.categories else None
    if category is not None and 0 <= thresholds[0] <= thresholds[-1] < 1:
        return Asked(column.removesuffix(f" = {category}"), f" is {category}", "", right, left)
    if thresholds[0] >= LARGEST:
        return Asked(column, " is known", "", left, right)
    middle, low, high = written(
        float(thresholds[len(thresholds) // 2]), float(thresholds[0]), float(thresholds[-1])
    )
    crowd = "" if low == high else f"crowd: {low} to {high}"
    return Asked(column, f" <= {middle}", crowd, left, right)


def _line(split: Asked) -> str:
    """Say what a split asks: ``petal length <= 2.45 (crowd: 2.3 to 2.6)``."""
    return f"{split.question} ({split.crowd})" if split.crowd else split.question


def written(middle: float, low: float, high: float) -> tuple[str, str, str]:
    """Write numbers with as many digits as tell them apart, four at least."""
    for digits in range(4, 17):
        texts = tuple(write_number(value, digits) for value in (middle, low, high))
        if len(set(texts)) == len({middle, low, high}):
            break
    return texts[0], texts[1], texts[2]


def answer(tree: FittedTree, node: int, words: TreeWords) -> str:
    """Say what a node predicts: its most probable classes, or its number."""
    values = tree.values[node]
    if not words.classes:
        return write_number(float(values[0]))
    order = np.argsort(-values, kind="stable")
    told = [f"{words.classes[k]} {values[k]:.0%}" for k in order if values[k] >= 0.005][:3]
    return ", ".join(told)


def rows_in(tree: FittedTree, node: int) -> str:
    """Say how many training rows a node has, by weight."""
    weight = float(tree.weights[node])
    return f"{weight:.0f} rows" if weight >= 9.95 else f"{weight:.1f} rows"


def as_text(tree: FittedTree, words: TreeWords) -> str:
    """Write a line per node, children below their parent, the side of "yes" first."""
    return "\n".join(_lines(tree, words))


def _lines(tree: FittedTree, words: TreeWords) -> Iterator[str]:
    # node, what stands before it, and what before that which is below it
    waiting = [(0, "", "")]
    while waiting:
        node, before, below = waiting.pop()
        if tree.left[node] < 0:
            yield f"{before}{answer(tree, node, words)}   [{rows_in(tree, node)}]"
            continue
        split = asked(tree, node, words)
        yield f"{before}{_line(split)}   [{rows_in(tree, node)}]"
        waiting.append((split.no, f"{below}└─ no: ", f"{below}   "))
        waiting.append((split.yes, f"{below}├─ yes: ", f"{below}│  "))


def outline(tree: FittedTree, words: TreeWords) -> list[TreeNode]:
    """List the nodes as they are drawn, in the order of the text."""
    nodes, waiting = [], [(0, 0, "")]
    while waiting:
        node, depth, side = waiting.pop()
        rows = rows_in(tree, node)
        if tree.left[node] < 0:
            shares = tuple(tree.values[node].tolist()) if words.classes else ()
            said = (answer(tree, node, words), "")
            nodes.append(TreeNode(depth, side, said, rows, shares, is_leaf=True))
            continue
        split = asked(tree, node, words)
        detail = f"{split.crowd}, {rows}" if split.crowd else rows
        said = (split.column, split.compared.replace("<=", "\N{LESS-THAN OR EQUAL TO}"))
        nodes.append(TreeNode(depth, side, said, detail, soft=bool(split.crowd)))
        waiting.append((split.no, depth + 1, "no"))
        waiting.append((split.yes, depth + 1, "yes"))
    return nodes


def as_dot(tree: FittedTree, words: TreeWords) -> str:
    """Write Graphviz's language; leaves are round."""
    lines = ["digraph tree {", '  node [shape=box, style=rounded, fontname="sans-serif"];']
    for node in range(len(tree.left)):
        rows = rows_in(tree, node)
        if tree.left[node] < 0:
            said = _quoted(answer(tree, node, words), rows)
            lines.append(f"  n{node} [label={said}, shape=ellipse];")
            continue
        split = asked(tree, node, words)
        lines.append(f"  n{node} [label={_quoted(_line(split), rows)}];")
        lines.append(f'  n{node} -> n{split.yes} [label="yes"];')
        lines.append(f'  n{node} -> n{split.no} [label="no"];')
    return "\n".join([*lines, "}"])


def _quoted(*lines: str) -> str:
    escaped = [line.replace("\\", "\\\\").replace('"', '\\"') for line in lines]
    return '"' + "\\n".join(escaped) + '"'
