"""Networks in the formats of other programs: BIF and XMLBIF."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.parsers import expat
from xml.sax.saxutils import escape

import numpy as np

from ensemblage._core import set_module
from ensemblage.bayes._coding import MAX_ENTRIES, ProbabilityTable, check_entries

if TYPE_CHECKING:
    from ensemblage.bayes._network import BayesNetwork


LONGEST_PROBLEM = 400


@set_module("ensemblage.bayes")
class NetworkFormatError(ValueError):
    """A file that should hold a network does not; the message says where."""


class NetworkParts(NamedTuple):
    """States and tables of all nodes, as :class:`BayesNetwork` takes them."""

    states: dict[str, list[str]]
    tables: dict[str, ProbabilityTable]


class Definition(NamedTuple):
    """A node's table as a file gives it, beginning at a line."""

    node: str
    parents: list[str]
    values: list[float]
    line: int


def fail(line: int, problem: str) -> NetworkFormatError:
    """Make an error that names the line, and not all of a name that fills the document."""
    if len(problem) > LONGEST_PROBLEM:
        problem = f"{problem[: LONGEST_PROBLEM // 2]} … {problem[-LONGEST_PROBLEM // 2 :]}"
    return NetworkFormatError(f"Line {line}: {problem}")


def read_number(text: str, line: int) -> float:
    """Read a probability."""
    try:
        value = float(text)
    except ValueError:
        raise fail(line, f"expected a probability, got {text!r}.") from None
    if not 0.0 <= value <= 1.0:
        raise fail(line, f"a probability lies between 0 and 1, got {text!r}.")
    return value


def add_variable(states: dict[str, list[str]], name: str, found: list[str], line: int) -> None:
    """Take in a variable, in place."""
    if name in states or not found or len(set(found)) < len(found):
        raise fail(line, f"variable {name!r} needs states, once, all different.")
    states[name] = found


def assemble(states: dict[str, list[str]], definitions: list[Definition]) -> NetworkParts:
    """Check that variables and tables fit together."""
    if not states:
        raise fail(1, "the document declares no variable.")
    tables: dict[str, ProbabilityTable] = {}
    for definition in definitions:
        if definition.node in tables:
            raise fail(definition.line, f"a second table of {definition.node!r}.")
        tables[definition.node] = _make_table(states, definition)
    without = [name for name in states if name not in tables]
    if without:
        raise fail(1, f"no table for {without}; each variable needs one.")
    try:
        TopologicalSorter({name: table.parents for name, table in tables.items()}).prepare()
    except CycleError as error:
        raise fail(1, f"the nodes {error.args[1][1:]} form a cycle.") from None
    return NetworkParts(states, {name: tables[name] for name in states})


def n_entries(states: dict[str, list[str]], names: list[str]) -> int:
    """Count the numbers in the table of the first of these nodes, given the others."""
    return math.prod(len(states[name]) for name in names)


def _make_table(states: dict[str, list[str]], definition: Definition) -> ProbabilityTable:
    node, parents, values, line = definition
    for name in (node, *parents):
        if name not in states:
            raise fail(line, f"the table of {node!r} names {name!r}, which is no variable.")
    sizes = [len(states[name]) for name in parents]
    n_states = len(states[node])
    expected = n_entries(states, [node, *parents])
    check_entries(expected, MAX_ENTRIES, node, parents)
    if len(values) != expected:
        raise fail(line, f"the table of {node!r} has {len(values)} numbers, expected {expected}.")
    probabilities = np.array(values).reshape(-1, n_states)
    if np.abs(probabilities.sum(axis=1) - 1.0).max() > 1e-3:
        raise fail(line, f"the table of {node!r} has a distribution that does not add up to 1.")
    listed = np.array(list(product(*map(range, sizes))), dtype=np.int32)
    return ProbabilityTable(
        parents, listed.reshape(len(probabilities), len(parents)), probabilities
    )


TOKEN = re.compile(
    # a comment without an end reaches to the end, lest the next one be looked for from here again
    r"(?P<space>\s+|//[^\n]*|/\*.*?(?:\*/|\Z))|(?P<text>\"[^\"]*\")|(?P<mark>[{}()\[\];,|])"
    r"|(?P<word>[^\s{}()\[\];,|\"]+)",
    re.DOTALL,
)

NEVER, NEVER_STATE = "_xx_", "\0 never"
"""In BIF, and once read: the second state of a node that has but one; no name is written so."""

USUAL_ENTRIES = 2**20
"""A table may have so many numbers, or as many as the document has words."""


def escape_name(name: str) -> str:
    """Write a name with letters, digits and underscores only; different names stay different.

    Examples
    --------
    >>> escape_name("petal width"), unescape_name("petal_x20_width")
    ('petal_x20_width', 'petal width')
    """
    escaped = re.sub("_(?=x)", "_x5f_", name)
    return re.sub(r"[^A-Za-z0-9_]", lambda match: f"_x{ord(match[0]):x}_", escaped) or "_x_"


def unescape_name(word: str) -> str:
    """Undo ``escape_name``."""
    if word in (NEVER, "_x_"):
        return NEVER_STATE if word == NEVER else ""
    return re.sub("_x([0-9a-f]+)_", lambda match: chr(int(match[1], 16)), word)


def write_bif(network: BayesNetwork) -> str:
    """Write a network in the interchange format.

    Some readers refuse a node of one state: it gets a second one, of probability zero, which
    ``read_bif`` takes away again.
    """
    words = {
        name: [*map(escape_name, states), *([NEVER] if len(states) == 1 else [])]
        for name, states in network.states.items()
    }
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
    for axis, each in enumerate(parents):  # a parent's state that never occurs changes nothing
        table = table.repeat(len(words[each]) if table.shape[axis] == 1 else 1, axis=axis)
    rows = table.reshape(-1, table.shape[-1])
    if rows.shape[1] == 1:
        rows = np.pad(rows, ((0, 0), (0, 1)))
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
        self.tokens = self._split(text)
        self.most_words = 1 + len(text) // 2
        self.last = _Token("", 1 + text.count("\n"))
        self.next = next(self.tokens, self.last)

    @staticmethod
    def _split(text: str) -> Iterator[_Token]:
        line, end = 1, 0
        for match in TOKEN.finditer(text):
            if match.start() != end:
                break
            end = match.end()
            if match.lastgroup != "space":
                yield _Token(match[0], line)
            elif match[0].startswith("/*") and not match[0].endswith("*/", 2):
                raise fail(line, "the comment that begins here has no end.")
            line += match[0].count("\n")
        if end != len(text):
            raise fail(line, f"cannot read {text[end : end + 20]!r}.")

    def peek(self) -> _Token:
        return self.next

    def take(self, *wanted: str) -> _Token:
        token = self.peek()
        if not token.text:
            raise fail(token.line, "the document ends too early.")
        if wanted and token.text not in wanted:
            raise fail(token.line, f"expected {' or '.join(wanted)}, got {token.text!r}.")
        self.next = next(self.tokens, self.last)
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
    add_variable(states, unescape_name(name.text), found, name.line)


@dataclass
class _TableRows:
    """The rows of a BIF table: by the parents' states, as a whole, or for all that is not given."""

    given: dict[tuple[int, ...], list[float]] = field(default_factory=dict)
    whole: list[float] | None = None
    default: list[float] | None = None


def _read_probability(reader: _Reader, states: dict[str, list[str]]) -> Definition:
    start = reader.take("(")
    words = [token.text for token in reader.take_until(")")]
    if not words or words[0] == "|" or (len(words) > 1 and words[1] != "|"):
        raise fail(start.line, "expected ( node | parents ).")
    names = [unescape_name(word) for word in words if word != "|"]
    for name in names:
        if name not in states:
            raise fail(start.line, f"a table names {name!r}, which is no variable.")
    _check_declared(n_entries(states, names), reader.most_words, start.line)
    reader.take("{")
    rows = _TableRows()
    while reader.peek().text != "}":
        if not reader.skip_property():
            _read_row(reader, names[1:], states, rows)
    reader.take("}")
    return Definition(names[0], names[1:], _flatten(names, states, rows, start.line), start.line)


def _check_declared(entries: int, n_words: int, line: int) -> None:
    """Refuse a table before its rows are gone through: a few words can declare billions."""
    if entries > max(USUAL_ENTRIES, n_words):
        raise fail(line, f"a table of {entries} numbers, in a document of {n_words} words.")


def _read_row(
    reader: _Reader,
    parents: list[str],
    states: dict[str, list[str]],
    rows: _TableRows,
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
    values = [read_number(token.text, token.line) for token in reader.take_until(";")]
    if head.text == "default":
        rows.default = values
    elif parents and head.text == "table":
        rows.whole = values
    else:
        rows.given[key] = values


def _flatten(
    names: list[str], states: dict[str, list[str]], rows: _TableRows, line: int
) -> list[float]:
    """Order the numbers so that the node's own states change fastest."""
    sizes = [len(states[name]) for name in names]
    if rows.whole is not None:
        values = np.array(rows.whole)
        if values.size != int(np.prod(sizes, dtype=object)):
            raise fail(line, f"the table of {names[0]!r} has {values.size} numbers.")
        return [float(v) for v in values.reshape(sizes[0], -1).T.ravel()]
    flat: list[float] = []
    for key in product(*map(range, sizes[1:])):
        row = rows.given.get(key, rows.default)
        if row is None:
            raise fail(line, f"the table of {names[0]!r} lacks a row.")
        flat += row
    return flat


def read_bif(text: str) -> NetworkParts:
    """Read a network from the interchange format."""
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
    return _without_never(assemble(states, definitions))


def _without_never(parts: NetworkParts) -> NetworkParts:
    """Take away the states that ``write_bif`` has added."""
    added = {name for name, found in parts.states.items() if found[1:] == [NEVER_STATE]}
    tables = dict(parts.tables)
    for name, (parents, configurations, probabilities) in parts.tables.items():
        padded = [i for i, parent in enumerate(parents) if parent in added]
        rows = (configurations[:, padded] == 0).all(axis=1)
        own = probabilities[rows, :1] if name in added else probabilities[rows]
        tables[name] = ProbabilityTable(parents, configurations[rows], own)
    states = {name: found[:1] if name in added else found for name, found in parts.states.items()}
    return NetworkParts(states, tables)


NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def write_xmlbif(network: BayesNetwork) -> str:
    """Write a network as XMLBIF; names with signs that XML does not have are refused."""
    words = [*network.nodes, *(state for name in network.nodes for state in network.states[name])]
    bad = next((word for word in words if NOT_XML.search(word)), None)
    if bad is not None:
        raise ValueError(f"XML has no sign for a part of the name {bad!r}. Rename it, or use BIF.")
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
            f"the document declares the entity {name!r}; documents with entities are refused, "
            "since a few lines of them can fill the memory.",
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
        raise fail(element.line, f"a {element.tag} needs exactly one {tag}, got {len(texts)}.")
    return texts[0]


def _network_element(text: str) -> _Element:
    bif = [child for child in _parse(text).children if child.tag == "BIF"]
    networks = [child for root in bif for child in root.children if child.tag == "NETWORK"]
    if len(networks) != 1:
        raise NetworkFormatError(
            f"Line 1: expected a BIF document with one NETWORK, got {len(networks)}."
        )
    return networks[0]


def read_xmlbif(text: str) -> NetworkParts:
    """Read a network from XMLBIF."""
    states: dict[str, list[str]] = {}
    definitions = []
    for element in _network_element(text).children:
        if element.tag == "VARIABLE":
            name, outcomes = _one(element, "NAME"), element.texts("OUTCOME")
            add_variable(states, name, outcomes, element.line)
        elif element.tag == "DEFINITION":
            numbers = _one(element, "TABLE").split()
            values = [read_number(number, element.line) for number in numbers]
            definitions.append(
                Definition(_one(element, "FOR"), element.texts("GIVEN"), values, element.line)
            )
    return assemble(states, definitions)
