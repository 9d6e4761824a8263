"""XMLBIF 0.3, written and read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from xml.parsers import expat
from xml.sax.saxutils import escape

from ensemblage.bayes._parts import Definition, NetworkFormatError, assemble, fail, read_number

if TYPE_CHECKING:
    from ensemblage.bayes._network import BayesNetwork


def write_xmlbif(network: BayesNetwork) -> str:
    """Write a network as XMLBIF.

    Parameters
    ----------
    network : BayesNetwork
        Any network whose tables fit under its cap.

    Returns
    -------
    str
        The document.
    """
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
    text: str = ""
    children: list[_Element] = field(default_factory=list)

    def texts(self, tag: str) -> list[str]:
        return [child.text.strip() for child in self.children if child.tag == tag]


def _parse(text: str) -> _Element:
    root = _Element("", 0)
    stack = [root]
    parser = expat.ParserCreate()

    def start(tag: str, _: dict[str, str]) -> None:
        element = _Element(tag.upper(), parser.CurrentLineNumber)
        stack[-1].children.append(element)
        stack.append(element)

    def data(piece: str) -> None:
        stack[-1].text += piece

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


def read_xmlbif(text: str) -> tuple[dict[str, list[str]], dict[str, dict[str, Any]]]:
    """Read a network from XMLBIF.

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
    states: dict[str, list[str]] = {}
    definitions = []
    for element in _network_element(text).children:
        if element.tag == "VARIABLE":
            name, outcomes = _one(element, "NAME"), element.texts("OUTCOME")
            if name in states or not outcomes or len(set(outcomes)) < len(outcomes):
                raise fail(element.line, f"variable {name!r} needs states, once, all different.")
            states[name] = outcomes
        elif element.tag == "DEFINITION":
            numbers = _one(element, "TABLE").split()
            values = [read_number(number, element.line) for number in numbers]
            definitions.append(
                Definition(_one(element, "FOR"), element.texts("GIVEN"), values, element.line)
            )
    return assemble(states, definitions)
