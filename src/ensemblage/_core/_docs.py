"""Shared docstring entries, links to the documentation, and public module names."""

from __future__ import annotations

import re
from collections.abc import Callable
from textwrap import indent
from typing import Any, TypeVar

T = TypeVar("T")

PLACEHOLDER = re.compile(r"^( *)\{(\w+(?:, \w+)*)\}$", re.MULTILINE)


def with_shared(shared: str) -> Callable[[T], T]:
    """Replace a docstring's lines such as ``{max_iter, tol}`` by entries of these names.

    ``shared`` has numpydoc entries without indentation; one entry may have several names. Lines
    with other names are not changed, so that formulas keep their braces.
    """
    # further lines of an entry are indented or blank
    texts = [each.rstrip() for each in re.split(r"\n(?=\S)", shared.strip())]
    entries = {name: each for each in texts for name in each.partition(" :")[0].split(", ")}

    def fill(line: re.Match[str]) -> str:
        names = line[2].split(", ")
        if not entries.keys() >= set(names):
            return line[0]
        found = dict.fromkeys(entries[name] for name in names)
        return indent("\n".join(found), line[1])

    def decorate(described: T) -> T:
        owner: Any = described
        if owner.__doc__ is not None:  # python -OO removes docstrings
            owner.__doc__ = PLACEHOLDER.sub(fill, owner.__doc__)
        return described

    return decorate


DOCUMENTATION = "https://ensemblage.readthedocs.io/en/stable/"


class DocLinkMixin:
    """Link an estimator's HTML representation to its documentation page."""

    _doc_link_module = "ensemblage"
    _doc_link_template = DOCUMENTATION + "generated/{estimator_module}.{estimator_name}.html"


_Kind = TypeVar("_Kind", bound=type)


def set_module(module: str) -> Callable[[_Kind], _Kind]:
    """Set the module of a class to the package from which users import it.

    Model files, pickles and pages then have ``ensemblage.strata.HISS``, whatever its file. Not for
    named tuples in kernels, since the cache of machine code reads the source of their module, nor
    for msgspec Structs, whose annotations are evaluated in their module.
    """

    def named(kind: _Kind) -> _Kind:
        kind.__module__ = module
        return kind

    return named
