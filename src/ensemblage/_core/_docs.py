"""Docstring parts that several estimators share, and the link to their page."""

from __future__ import annotations

import re
from collections.abc import Callable
from textwrap import indent
from typing import Any, TypeVar

T = TypeVar("T")

PLACEHOLDER = re.compile(r"^( *)\{(\w+(?:, \w+)*)\}$", re.MULTILINE)


def with_shared(words: str) -> Callable[[T], T]:
    """Fill a docstring's lines such as ``{max_iter, tol}`` with entries of these names.

    ``words`` are entries as numpydoc has them, at the margin; one entry may be of several names.
    A line that names anything else stays, as braces of a formula must.
    """
    # an entry's other lines are indented or blank
    parted = [each.rstrip() for each in re.split(r"\n(?=\S)", words.strip())]
    entries = {name: each for each in parted for name in each.partition(" :")[0].split(", ")}

    def fill(line: re.Match[str]) -> str:
        names = line[2].split(", ")
        if not entries.keys() >= set(names):
            return line[0]
        found = dict.fromkeys(entries[name] for name in names)
        return indent("\n".join(found), line[1])

    def decorate(described: T) -> T:
        owner: Any = described
        if owner.__doc__ is not None:  # python -OO leaves none
            owner.__doc__ = PLACEHOLDER.sub(fill, owner.__doc__)
        return described

    return decorate


DOCUMENTATION = "https://ensemblage.readthedocs.io/en/stable/"


class DocLinkMixin:
    """Let the question mark in an estimator's HTML representation lead to its page."""

    _doc_link_module = "ensemblage"
    _doc_link_template = DOCUMENTATION + "generated/{estimator_module}.{estimator_name}.html"


_Kind = TypeVar("_Kind", bound=type)


def set_module(module: str) -> Callable[[_Kind], _Kind]:
    """Give a class the package by which users import it as its module.

    Model files, pickles and pages then name ``ensemblage.strata.HISS``, wherever its file lies.
    Never for a named tuple that kernels take, since the cache of machine code reads its module's
    source, nor for a document, whose annotations msgspec evaluates in its module.
    """

    def named(kind: _Kind) -> _Kind:
        kind.__module__ = module
        return kind

    return named
