"""Packages that not everybody has installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def require(module: str, purpose: str, *, extra: str | None = None, otherwise: str = "") -> Any:
    """Import a module, or say what needs it, how to install it, and what to do otherwise.

    ``purpose`` begins the sentence ("Running on a cluster"); ``extra`` is the extra of
    Ensemblage that brings the package, if one does.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        remedy = f": pip install {package}."
        if extra is not None:
            remedy = f', which comes with the extra `{extra}`: pip install "ensemblage[{extra}]".'
        raise ImportError(f"{purpose} needs {package}{remedy} {otherwise}".rstrip()) from error
