"""Ensembles whose diversity is placed on purpose: in rows, columns and decisions.

The subpackages are imported when they are first used, so that the command line answers
at once: ``ensemblage.strata``, ``ensemblage.fusion``, ``ensemblage.datasets`` and so on.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

__version__ = "0.1.0"

__all__ = [
    "__version__",
    "bayes",
    "consensus",
    "datasets",
    "evaluation",
    "explain",
    "fusion",
    "inner",
    "methods",
    "papers",
    "persistence",
    "pool",
    "runs",
    "strata",
    "subspace",
    "tables",
]


def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        return import_module(f"ensemblage.{name}")
    raise AttributeError(f"module 'ensemblage' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
