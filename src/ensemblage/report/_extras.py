"""What the extra ``report`` brings: asked for before work starts, imported when needed."""

from __future__ import annotations

from typing import Any

from ensemblage.messages import require


def need(module: str) -> Any:
    """Import a module of the extra ``report``."""
    return require(module, "A report", extra="report")


def check_installed() -> None:
    """Refuse to start what could not be written in the end.

    Raises
    ------
    ImportError
        If jinja2 or matplotlib is not installed; it names the extra to install.
    """
    need("jinja2")
    need("matplotlib")
