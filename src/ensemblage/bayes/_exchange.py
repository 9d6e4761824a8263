"""Reading and writing of BIF and XMLBIF."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias
from xml.parsers import expat
from xml.sax.saxutils import escape

import numpy as np

from ensemblage._core import set_module
from ensemblage.bayes._coding import MAX_ENTRIES, ProbabilityTable, check_entries

if TYPE_CHECKING:
    from ensemblage.bayes._network import BayesNetwork


States: TypeAlias = dict[str, list[str]]
Tables: TypeAlias = dict[str, ProbabilityTable]
Definition: TypeAlias = tuple[str, list[str], list[float], int]
"""A node's table in a file: node, parents, probabilities, and its first line."""
Token: TypeAlias = tuple[str, int]
"""An identifier or punctuation mark, and its line."""

MAX_MESSAGE_LENGTH = 400
"""Maximal number of characters of an error message, which may quote a very long name."""
TOKEN = re.compile(
    # an unclosed comment extends to the end; otherwise time would be quadratic
    r"(?P<space>\s+|//[^\n]*|/\*.*?(?:\*/|\Z))|(?P<text>\"[^\"]*\")|(?P<mark>[{}()\[\];,|])"
    r"|(?P<word>[^\s{}()\[\];,|\"]+)",
    re.DOTALL,
)
PADDING = "_xx_"
"""In BIF, the second state of a node with a single state; ``escape_name`` never gives it."""
PADDING_STATE = "\0 never"
"""The same state after reading."""
MAX_ENTRIES_OF_SMALL_DOCUMENT = 2**20
"""Probabilities that a table may have in any document; otherwise at most as many as tokens."""
NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML does not allow."""


@set_module("ensemblage.bayes")
class NetworkFormatError(ValueError):
    """A document is not a valid network; the message has the line."""


def fail(line: int, message: str) -> NetworkFormatError:
    """Make an error with the line."""
    if len(message) > MAX_MESSAGE_LENGTH:
        half = MAX_MESSAGE_LENGTH // 2
        message = f"{message[:half]} … {message[-half:]}"
    return NetworkFormatError(f"Line {line}: {message}")


def read_probability(text: str, line: int) -> float:
    """Read a probability."""
    try:
        value = float(text)
    except ValueError:
        raise fail(line, f"expected a probability, got {text!r}.") from None
    if not 0.0 <= value <= 1.0:
        raise fail(line, f"a probability must be between 0 and 1, got {text!r}.")
    return value


def add_variable(states: States, name: str, found: list[str], line: int) -> None:
    """Add a variable, in place."""
    if name in states or not found or len(set(found)) < len(found):
        raise fail(line, f"variable {name!r} must be declared once, with distinct states.")
    states[name] = found


def assemble(states: States, definitions: list[Definition]) -> tuple[States, Tables]:
    """Make the tables, and check that they match the variables."""
    if not states:
        raise fail(1, "the document declares no variable.")
    tables: Tables = {}
    for node, parents, values, line in definitions:
        if node in tables:
            raise fail(line, f"a second table of {node!r}.")
        tables[node] = _make_table(states, node, parents, values, line)
    without = [name for name in states if name not in tables]
    if without:
        raise fail(1, f"no table for {without}; each variable must have one.")
    try:
        TopologicalSorter({name: table.parents for name, table in tables.items()}).prepare()
    except CycleError as error:
        raise fail(1, f"the nodes {error.args[1][1:]} form a cycle.") from None
    return states, {name: tables[name] for name in states}


def _make_table(
    states: States, node: str, parents: list[str], values: list[float], line: int
) -> ProbabilityTable:
    for name in (node, *parents):
        if name not in states:
            raise fail(line, f"the table of {node!r} names {name!r}, which is not a variable.")
    sizes = [len(states[name]) for name in parents]
    n_states = len(states[node])
    expected = math.prod(sizes) * n_states
    check_entries(expected, MAX_ENTRIES, node, parents)
    if len(values) != expected:
        raise fail(line, f"the table of {node!r} has {len(values)} values, expected {expected}.")
    probabilities = np.array(values).reshape(-1, n_states)
    if np.abs(probabilities.sum(axis=1) - 1.0).max() > 1e-3:
        raise fail(line, f"the table of {node!r} has a distribution that does not sum to 1.")
    listed = np.array(list(product(*map(range, sizes))), dtype=np.int32)
    return ProbabilityTable(
        parents, listed.reshape(len(probabilities), len(parents)), probabilities
    )


def escape_name(name: str) -> str:
    """Escape a name, to letters, digits and underscores only; distinct names stay distinct.

    Examples
    --------
    >>> escape_name("petal width"), unescape_name("petal_x20_width")
    ('petal_x20_width', 'petal width')
    """
    escaped = re.sub("_(?=x)", "_x5f_", name)
    return re.sub(r"[^A-Za-z0-9_]", lambda match: f"_x{ord(match[0]):x}_", escaped) or "_x_"


def unescape_name(escaped: str) -> str:
    """Undo ``escape_name``."""
    if escaped in (PADDING, "_x_"):
        return PADDING_STATE if escaped == PADDING else ""
    return re.sub("_x([0-9a-f]+)_", lambda match: chr(int(match[1], 16)), escaped)


def write_bif(network: BayesNetwork) -> str:
    """Write a network as BIF.

    Some readers reject a node with a single state: it gets a second one, of probability zero, which
    ``read_bif`` removes.
    """
    states = {
        name: [*map(escape_name, own), *([PADDING] if len(own) == 1 else [])]
        for name, own in network.states.items()
    }
    lines = ["network unknown {", "}"]
    for name in network.nodes:
        listed = ", ".join(states[name])
        lines += [
            f"variable {escape_name(name)} {{",
            f"  type discrete [ {len(states[name])} ] {{ {listed} }};",
            "}",
        ]
    for name in network.nodes:
        lines += _write_table(network, name, states)
    return "\n".join([*lines, ""])


def _write_table(network: BayesNetwork, name: str, states: States) -> list[str]:
    parents, table = network.parents[name], network.table(name)
    for axis, each in enumerate(parents):  # for the padding state of a parent
        table = table.repeat(len(states[each]) if table.shape[axis] == 1 else 1, axis=axis)
    rows = table.reshape(-1, table.shape[-1])
    if rows.shape[1] == 1:
        rows = np.pad(rows, ((0, 0), (0, 1)))
    written = [", ".join(repr(float(value)) for value in row) for row in rows]
    if not parents:
        return [f"probability ( {escape_name(name)} ) {{", f"  table {written[0]};", "}"]
    given = ", ".join(map(escape_name, parents))
    lines = [f"probability ( {escape_name(name)} | {given} ) {{"]
    for values, row in zip(product(*(states[p] for p in parents)), written, strict=True):
        lines.append(f"  ({', '.join(values)}) {row};")
    return [*lines, "}"]


class _Reader:
    """Reads the tokens of a document in order."""

    def __init__(self, text: str) -> None:
        self.tokens = self._split(text)
        self.max_tokens = 1 + len(text) // 2
        self.end: Token = ("", 1 + text.count("\n"))
        self.next = next(self.tokens, self.end)

    @staticmethod
    def _split(text: str) -> Iterator[Token]:
        line, end = 1, 0
        for match in TOKEN.finditer(text):
            if match.start() != end:
                break
            end = match.end()
            if match.lastgroup != "space":
                yield match[0], line
            elif match[0].startswith("/*") and not match[0].endswith("*/", 2):
                raise fail(line, "unclosed comment.")
            line += match[0].count("\n")
        if end != len(text):
            raise fail(line, f"cannot read {text[end : end + 20]!r}.")

    def take(self, *wanted: str) -> Token:
        text, line = self.next
        if not text:
            raise fail(line, "unexpected end of the document.")
        if wanted and text not in wanted:
            raise fail(line, f"expected {' or '.join(wanted)}, got {text!r}.")
        self.next = next(self.tokens, self.end)
        return text, line

    def take_until(self, mark: str) -> list[Token]:
        """Take the items of a comma-separated list, and the mark that ends it."""
        items = []
        while self.next[0] != mark:
            token = self.take()
            if token[0] != ",":
                items.append(token)
        self.take(mark)
        return items

    def skip_property(self) -> bool:
        if self.next[0] != "property":
            return False
        while self.take()[0] != ";":
            pass
        return True


def _read_variable(reader: _Reader, states: States) -> None:
    name, start = reader.take()
    reader.take("{")
    found: list[Token] = []
    while reader.next[0] != "}":
        if reader.skip_property():
            continue
        for mark in ("type", "discrete", "["):
            reader.take(mark)
        count, line = reader.take()
        reader.take("]")
        reader.take("{")
        found = reader.take_until("}")
        reader.take(";")
        if not count.isdigit() or int(count) != len(found):
            raise fail(line, f"{count} states declared, {len(found)} listed.")
    reader.take("}")
    add_variable(states, unescape_name(name), [unescape_name(state) for state, _ in found], start)


def _read_probability(reader: _Reader, states: States) -> Definition:
    _, line = reader.take("(")
    head = [token for token, _ in reader.take_until(")")]
    if not head or head[0] == "|" or (len(head) > 1 and head[1] != "|"):
        raise fail(line, "expected ( node | parents ).")
    node, *parents = [unescape_name(name) for name in head if name != "|"]
    for name in (node, *parents):
        if name not in states:
            raise fail(line, f"a table names {name!r}, which is not a variable.")
    # checked before the rows are read: a small document can declare billions of entries
    entries = math.prod(len(states[name]) for name in (node, *parents))
    if entries > max(MAX_ENTRIES_OF_SMALL_DOCUMENT, reader.max_tokens):
        raise fail(
            line,
            f"a table of {entries} values in a document of at most {reader.max_tokens} tokens.",
        )
    reader.take("{")
    rows: dict[Any, list[float]] = {}
    while reader.next[0] != "}":
        if not reader.skip_property():
            key, values = _read_row(reader, parents, states)
            rows[key] = values
    reader.take("}")
    return node, parents, _flatten(node, parents, states, rows, line), line


def _read_row(reader: _Reader, parents: list[str], states: States) -> tuple[Any, list[float]]:
    """Read a row; its key is the indices of the parents' states, "default", or "table"."""
    head, line = reader.take("(", "table", "default")
    key: Any = head if parents or head == "default" else ()
    if head == "(":
        given = [unescape_name(token) for token, _ in reader.take_until(")")]
        if len(given) != len(parents) or any(
            value not in states[parent] for value, parent in zip(given, parents, strict=False)
        ):
            raise fail(line, f"({', '.join(given)}) are not states of {parents}.")
        key = tuple(states[p].index(value) for p, value in zip(parents, given, strict=True))
    return key, [read_probability(*token) for token in reader.take_until(";")]


def _flatten(
    node: str, parents: list[str], states: States, rows: dict[Any, list[float]], line: int
) -> list[float]:
    """Order the probabilities so that the node's own states change fastest."""
    own, *sizes = [len(states[name]) for name in (node, *parents)]
    if "table" in rows:
        values = np.array(rows["table"])
        if values.size != own * math.prod(sizes):
            expected = own * math.prod(sizes)
            raise fail(
                line, f"the table of {node!r} has {values.size} values, expected {expected}."
            )
        return [float(v) for v in values.reshape(own, -1).T.ravel()]
    flat: list[float] = []
    for key in product(*map(range, sizes)):
        row = rows.get(key, rows.get("default"))
        if row is None:
            raise fail(line, f"the table of {node!r} has a missing row.")
        flat += row
    return flat


def read_bif(text: str) -> tuple[States, Tables]:
    """Read a network from BIF."""
    reader = _Reader(text)
    states: States = {}
    definitions = []
    while reader.next[0]:
        block, _ = reader.take("network", "variable", "probability")
        if block == "network":
            reader.take()
            reader.take("{")
            while reader.skip_property():
                pass
            reader.take("}")
        elif block == "variable":
            _read_variable(reader, states)
        else:
            definitions.append(_read_probability(reader, states))
    return _without_padding(*assemble(states, definitions))


def _without_padding(states: States, tables: Tables) -> tuple[States, Tables]:
    """Remove the states that ``write_bif`` has added."""
    added = {name for name, found in states.items() if found[1:] == [PADDING_STATE]}
    kept = {}
    for name, (parents, configurations, probabilities) in tables.items():
        padded = [i for i, parent in enumerate(parents) if parent in added]
        rows = (configurations[:, padded] == 0).all(axis=1)
        own = probabilities[rows, :1] if name in added else probabilities[rows]
        kept[name] = ProbabilityTable(parents, configurations[rows], own)
    return {name: each[:1] if name in added else each for name, each in states.items()}, kept


def write_xmlbif(network: BayesNetwork) -> str:
    """Write a network as XMLBIF; names with characters that XML does not allow are rejected."""
    names = [*network.nodes, *(state for name in network.nodes for state in network.states[name])]
    bad = next((name for name in names if NOT_XML.search(name)), None)
    if bad is not None:
        raise ValueError(
            f"The name {bad!r} has characters that XML does not allow. Rename it, or use BIF."
        )
    lines = ['<?xml version="1.0"?>', '<BIF VERSION="0.3">', "<NETWORK>", "<NAME>network</NAME>"]
    for name in network.nodes:
        outcomes = "".join(f"<OUTCOME>{escape(s)}</OUTCOME>" for s in network.states[name])
        lines.append(f'<VARIABLE TYPE="nature"><NAME>{escape(name)}</NAME>{outcomes}</VARIABLE>')
    for name in network.nodes:
        given = "".join(f"<GIVEN>{escape(p)}</GIVEN>" for p in network.parents[name])
        values = " ".join(repr(float(value)) for value in network.table(name).ravel())
        lines.append(
            f"<DEFINITION><FOR>{escape(name)}</FOR>{given}<TABLE>{values}</TABLE></DEFINITION>"
        )
    return "\n".join([*lines, "</NETWORK>", "</BIF>", ""])


@dataclass
class _Element:
    tag: str
    line: int
    pieces: list[str] = field(default_factory=list)
    children: list[_Element] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.pieces).strip()

    def texts(self, tag: str) -> list[str]:
        return [child.text for child in self.children if child.tag == tag]


def _parse(text: str) -> _Element:
    root = _Element("", 0)
    stack = [root]
    parser = expat.ParserCreate()

    def start(tag: str, _: dict[str, str]) -> None:
        element = _Element(tag.upper(), parser.CurrentLineNumber)
        stack[-1].children.append(element)
        stack.append(element)

    def data(piece: str) -> None:
        stack[-1].pieces.append(piece)

    def entity(name: str, *_: Any) -> None:
        raise fail(
            parser.CurrentLineNumber,
            f"the document declares the entity {name!r}; entities are rejected, because their "
            "expansion can fill the memory.",
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: stack.pop()
    parser.CharacterDataHandler = data
    parser.EntityDeclHandler = entity
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise fail(
            error.lineno, f"not well-formed XML ({expat.ErrorString(error.code)})."
        ) from None
    return root


def _one(element: _Element, tag: str) -> str:
    texts = element.texts(tag)
    if len(texts) != 1 or not texts[0]:
        raise fail(element.line, f"a {element.tag} must have exactly one {tag}, got {len(texts)}.")
    return texts[0]


def read_xmlbif(text: str) -> tuple[States, Tables]:
    """Read a network from XMLBIF."""
    bif = [child for child in _parse(text).children if child.tag == "BIF"]
    networks = [child for root in bif for child in root.children if child.tag == "NETWORK"]
    if len(networks) != 1:
        raise fail(1, f"expected a BIF document with one NETWORK, got {len(networks)}.")
    states: States = {}
    definitions: list[Definition] = []
    for element in networks[0].children:
        if element.tag == "VARIABLE":
            name, outcomes = _one(element, "NAME"), element.texts("OUTCOME")
            add_variable(states, name, outcomes, element.line)
        elif element.tag == "DEFINITION":
            values = [
                read_probability(value, element.line) for value in _one(element, "TABLE").split()
            ]
            node, parents = _one(element, "FOR"), element.texts("GIVEN")
            definitions.append((node, parents, values, element.line))
    return assemble(states, definitions)
