"""The Bayesian interchange format, written and read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ensemblage.bayes._parts import Definition, assemble, fail, read_number

if TYPE_CHECKING:
    from ensemblage.bayes._network import BayesNetwork

TOKEN = re.compile(
    r"(?P<space>\s+|//[^\n]*|/\*.*?\*/)|(?P<text>\"[^\"]*\")|(?P<mark>[{}()\[\];,|])"
    r"|(?P<word>[^\s{}()\[\];,|\"]+)",
    re.DOTALL,
)


def escape_name(name: str) -> str:
    """Write a name with letters, digits and underscores only.

    Parameters
    ----------
    name : str
        Any text.

    Returns
    -------
    str
        A word of the format; different names stay different.

    Examples
    --------
    >>> escape_name("petal width"), unescape_name("petal_x20_width")
    ('petal_x20_width', 'petal width')
    """
    escaped = re.sub("_(?=x)", "_x5f_", name)
    return re.sub(r"[^A-Za-z0-9_]", lambda match: f"_x{ord(match[0]):x}_", escaped) or "_x_"


def unescape_name(word: str) -> str:
    """Undo ``escape_name``.

    Parameters
    ----------
    word : str
        A word of the format.

    Returns
    -------
    str
        The name.
    """
    if word == "_x_":
        return ""
    return re.sub("_x([0-9a-f]+)_", lambda match: chr(int(match[1], 16)), word)


def write_bif(network: BayesNetwork) -> str:
    """Write a network in the interchange format.

    Parameters
    ----------
    network : BayesNetwork
        Any network whose tables fit under its cap.

    Returns
    -------
    str
        The document.
    """
    words = {name: [escape_name(state) for state in network.states[name]] for name in network.nodes}
    lines = ["network unknown {", "}"]
    for name in network.nodes:
        listed = ", ".join(words[name])
        lines += [
            f"variable {escape_name(name)} {{",
            f"  type discrete [ {len(words[name])} ] {{ {listed} }};",
            "}",
        ]
    for name in network.nodes:
        lines += _write_table(network, name, words)
    return "\n".join([*lines, ""])


def _write_table(network: BayesNetwork, name: str, words: dict[str, list[str]]) -> list[str]:
    parents, table = network.parents[name], network.table(name)
    rows = table.reshape(-1, table.shape[-1])
    numbers = [", ".join(repr(float(value)) for value in row) for row in rows]
    if not parents:
        return [f"probability ( {escape_name(name)} ) {{", f"  table {numbers[0]};", "}"]
    given = ", ".join(map(escape_name, parents))
    lines = [f"probability ( {escape_name(name)} | {given} ) {{"]
    for values, row in zip(product(*(words[p] for p in parents)), numbers, strict=True):
        lines.append(f"  ({', '.join(values)}) {row};")
    return [*lines, "}"]


class _Token(NamedTuple):
    text: str
    line: int


class _Reader:
    """The document's tokens, one after the other."""

    def __init__(self, text: str) -> None:
        self.tokens = list(self._split(text))
        self.last = _Token("", 1 + text.count("\n"))
        self.position = 0

    @staticmethod
    def _split(text: str) -> Iterator[_Token]:
        line, end = 1, 0
        for match in TOKEN.finditer(text):
            if match.start() != end:
                break
            end = match.end()
            if match.lastgroup != "space":
                yield _Token(match[0], line)
            line += match[0].count("\n")
        if end != len(text):
            raise fail(line, f"cannot read {text[end : end + 20]!r}.")

    def peek(self) -> _Token:
        return self.tokens[self.position] if self.position < len(self.tokens) else self.last

    def take(self, *wanted: str) -> _Token:
        token = self.peek()
        if not token.text:
            raise fail(token.line, "the document ends too early.")
        if wanted and token.text not in wanted:
            raise fail(token.line, f"expected {' or '.join(wanted)}, got {token.text!r}.")
        self.position += 1
        return token

    def take_until(self, mark: str) -> list[_Token]:
        """Take the words of a list separated by commas, and the mark that ends it."""
        words = []
        while self.peek().text != mark:
            token = self.take()
            if token.text != ",":
                words.append(token)
        self.take(mark)
        return words

    def skip_property(self) -> bool:
        if self.peek().text != "property":
            return False
        while self.take().text != ";":
            pass
        return True


def _read_variable(reader: _Reader, states: dict[str, list[str]]) -> None:
    name = reader.take()
    reader.take("{")
    words: list[_Token] = []
    while reader.peek().text != "}":
        if reader.skip_property():
            continue
        reader.take("type")
        reader.take("discrete")
        reader.take("[")
        count = reader.take()
        reader.take("]")
        reader.take("{")
        words = reader.take_until("}")
        reader.take(";")
        if not count.text.isdigit() or int(count.text) != len(words):
            raise fail(count.line, f"{count.text} states announced, {len(words)} given.")
    reader.take("}")
    found = [unescape_name(word.text) for word in words]
    key = unescape_name(name.text)
    if key in states or not found or len(set(found)) < len(found):
        raise fail(name.line, f"variable {key!r} needs states, once, all different.")
    states[key] = found


def _read_probability(reader: _Reader, states: dict[str, list[str]]) -> Definition:
    start = reader.take("(")
    words = [token.text for token in reader.take_until(")")]
    if not words or (len(words) > 1 and words[1] != "|"):
        raise fail(start.line, "expected ( node | parents ).")
    names = [unescape_name(word) for word in words if word != "|"]
    for name in names:
        if name not in states:
            raise fail(start.line, f"a table names {name!r}, which is no variable.")
    reader.take("{")
    rows: dict[tuple[int, ...], list[float]] = {}
    while reader.peek().text != "}":
        if not reader.skip_property():
            _read_row(reader, names[1:], states, rows)
    reader.take("}")
    return Definition(names[0], names[1:], _flatten(names, states, rows, start.line), start.line)


def _read_row(
    reader: _Reader,
    parents: list[str],
    states: dict[str, list[str]],
    rows: dict[tuple[int, ...], list[float]],
) -> None:
    head = reader.take("(", "table", "default")
    key: tuple[int, ...] = ()
    if head.text == "(":
        given = [unescape_name(token.text) for token in reader.take_until(")")]
        if len(given) != len(parents) or any(
            value not in states[parent] for value, parent in zip(given, parents, strict=False)
        ):
            raise fail(head.line, f"({', '.join(given)}) are not states of {parents}.")
        key = tuple(states[p].index(value) for p, value in zip(parents, given, strict=True))
    elif parents and head.text == "table":
        key = (-1,)
    elif head.text == "default":
        key = (-2,)
    rows[key] = [read_number(token.text, token.line) for token in reader.take_until(";")]


def _flatten(
    names: list[str],
    states: dict[str, list[str]],
    rows: dict[tuple[int, ...], list[float]],
    line: int,
) -> list[float]:
    """Order the rows as XMLBIF does: the node's own states change fastest."""
    sizes = [len(states[name]) for name in names]
    if (-1,) in rows:  # one table for all parents: there the node's own states change slowest
        values = np.array(rows[(-1,)])
        if values.size != int(np.prod(sizes, dtype=object)):
            raise fail(line, f"the table of {names[0]!r} has {values.size} numbers.")
        return [float(v) for v in values.reshape(sizes[0], -1).T.ravel()]
    flat: list[float] = []
    for key in product(*map(range, sizes[1:])):
        row = rows.get(key, rows.get((-2,)))
        if row is None:
            raise fail(line, f"the table of {names[0]!r} lacks a row.")
        flat += row
    return flat


def read_bif(text: str) -> tuple[dict[str, list[str]], dict[str, dict[str, Any]]]:
    """Read a network from the interchange format.

    Parameters
    ----------
    text : str
        The document.

    Returns
    -------
    states : dict of str to list of str
        States of each node.
    tables : dict of str to dict
        As :class:`BayesNetwork` takes them.
    """
    reader = _Reader(text)
    states: dict[str, list[str]] = {}
    definitions = []
    while reader.peek().text:
        block = reader.take("network", "variable", "probability")
        if block.text == "network":
            reader.take()
            reader.take("{")
            while reader.skip_property():
                pass
            reader.take("}")
        elif block.text == "variable":
            _read_variable(reader, states)
        else:
            definitions.append(_read_probability(reader, states))
    return assemble(states, definitions)
