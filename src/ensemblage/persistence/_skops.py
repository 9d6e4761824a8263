"""skops without the wait: a copy of its own reader and writer that trusts plain values only.

When skops is imported it lists the types that it trusts by itself, and imports all of scikit-learn
to do so: a third of the time that a small prediction takes. Here these lists are left empty, and
types are judged by their names when a file holds them (``_trusted``). A second copy, to read
models that hold no trees, does not import what skops would tell trees by. The copies are ours
alone: whoever imports skops in the same process gets it as it is.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

READER, LISTS = "skops.io", "skops.io._trusted_types"
# They import scikit-learn's trees, clusterings and linear models for the types to dispatch on.
OF_TREES = ("skops.io._sklearn", "skops.io._quantile_forest")


@cache
def skops_io(*, trees: bool = True) -> Any:
    """Import a copy; the one without trees and compiled losses cannot write."""
    package = import_module("skops")
    theirs = _take_out()
    attribute = vars(package).pop("io", None)
    sys.modules[LISTS] = _plain_lists()
    sys.modules.update({} if trees else {name: _no_nodes(name) for name in OF_TREES})
    try:
        return import_module(READER)
    finally:
        _take_out()
        sys.modules.update(theirs)
        vars(package).pop("io", None)
        if attribute is not None:
            vars(package)["io"] = attribute


def _take_out() -> dict[str, ModuleType]:
    names = [name for name in sys.modules if name == READER or name.startswith(f"{READER}.")]
    return {name: sys.modules.pop(name) for name in names}


def _plain_lists() -> ModuleType:
    """Make the module of trusted types: plain Python values, and what NumPy's arrays consist of."""
    random = [name for name, kind in vars(np.random).items() if _is_bit_generator(kind)]
    lists = ModuleType(LISTS)
    vars(lists).update(
        PRIMITIVE_TYPE_NAMES=["builtins.int", "builtins.float", "builtins.str", "builtins.bool"],
        CONTAINER_TYPE_NAMES=["builtins.list", "builtins.set", "builtins.map", "builtins.tuple"],
        NUMPY_DTYPE_TYPE_NAMES=sorted({f"numpy.{t.__name__}" for t in np.sctypeDict.values()}),
        NUMPY_RANDOM_BIT_GENERATOR_TYPE_NAMES=[f"numpy.random.{name}" for name in random],
        __getattr__=_empty,
    )
    return lists


def _no_nodes(name: str) -> ModuleType:
    """Make a module of skops's that reads no nodes."""
    module = ModuleType(name)
    vars(module)["NODE_TYPE_MAPPING"] = {}
    return module


def _is_bit_generator(kind: Any) -> bool:
    base = np.random.BitGenerator
    return isinstance(kind, type) and issubclass(kind, base) and kind is not base


def _empty(name: str) -> list[str]:
    """Trust nothing of any other list."""
    if not name.endswith("_NAMES"):
        raise AttributeError(name)
    return []
