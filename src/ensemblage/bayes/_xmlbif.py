"""Networks in XMLBIF 0.3, written and read; a node's own states change fastest."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from xml.parsers import expat
from xml.sax.saxutils import escape

from ensemblage.bayes._interchange import (
    Definition,
    NetworkFormatError,
    NetworkParts,
    add_variable,
    assemble,
    fail,
    read_number,
)

if TYPE_CHECKING:
    from ensemblage.bayes._network import BayesNetwork

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
