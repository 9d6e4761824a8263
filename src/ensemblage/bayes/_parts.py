"""Networks read from files: the parts checked and put together."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ensemblage.bayes._cells import MAX_CELLS, check_cells


class NetworkFormatError(ValueError):
    """A file that should hold a network does not; the message says where."""


class Definition(NamedTuple):
    """A node's table as a file gives it.

    Attributes
    ----------
    node : str
        Name.
    parents : list of str
        Names.
    values : list of float
        Probabilities, the node's own states changing fastest.
    line : int
        Where it begins.
    """

    node: str
    parents: list[str]
    values: list[float]
    line: int


def fail(line: int, problem: str) -> NetworkFormatError:
    """Make an error that names the line.

    Parameters
    ----------
    line : int
        Line of the file.
    problem : str
        What is wrong there.

    Returns
    -------
    NetworkFormatError
        To be raised.
    """
    return NetworkFormatError(f"Line {line}: {problem}")


def read_number(text: str, line: int) -> float:
    """Read a probability.

    Parameters
    ----------
    text : str
        Its digits.
    line : int
        Where it stands.

    Returns
    -------
    float
        Between zero and one.
    """
    try:
        value = float(text)
    except ValueError:
        raise fail(line, f"expected a probability, got {text!r}.") from None
    if not 0.0 <= value <= 1.0:
        raise fail(line, f"a probability lies between 0 and 1, got {text!r}.")
    return value


def assemble(
    states: dict[str, list[str]], definitions: list[Definition]
) -> tuple[dict[str, list[str]], dict[str, dict[str, Any]]]:
    """Check that variables and tables fit together.

    Parameters
    ----------
    states : dict of str to list of str
        States of each variable.
    definitions : list of Definition
        Tables.

    Returns
    -------
    states : dict of str to list of str
        As given.
    tables : dict of str to dict
        As :class:`BayesNetwork` takes them.
    """
    tables = {}
    for definition in definitions:
        if definition.node in tables:
            raise fail(definition.line, f"a second table of {definition.node!r}.")
        tables[definition.node] = _table(states, definition)
    without = [name for name in states if name not in tables]
    if without:
        raise NetworkFormatError(f"No table for {without}; each variable needs one.")
    return states, {name: tables[name] for name in states}


def _table(states: dict[str, list[str]], definition: Definition) -> dict[str, Any]:
    node, parents, values, line = definition
    for name in (node, *parents):
        if name not in states:
            raise fail(line, f"the table of {node!r} names {name!r}, which is no variable.")
    sizes = [len(states[name]) for name in parents]
    n_states = len(states[node])
    expected = int(np.prod([*sizes, n_states], dtype=object))
    check_cells(expected, MAX_CELLS, node, parents)
    if len(values) != expected:
        raise fail(line, f"the table of {node!r} has {len(values)} numbers, expected {expected}.")
    probabilities = np.array(values).reshape(-1, n_states)
    if np.abs(probabilities.sum(axis=1) - 1.0).max() > 1e-3:
        raise fail(line, f"the table of {node!r} has a distribution that does not add up to 1.")
    configurations = np.array(list(product(*map(range, sizes))), dtype=np.int32)
    return {
        "parents": parents,
        "configurations": configurations.reshape(len(probabilities), len(parents)),
        "probabilities": probabilities,
    }
