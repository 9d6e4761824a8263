"""What the extra ``report`` brings: asked for before work starts, imported when needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def need(module: str) -> Any:
    """Import a module of the extra ``report``.

    Parameters
    ----------
    module : str
        Its name.

    Returns
    -------
    module
        Imported.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(
            f"A report needs {package}, which comes with the extra `report`: "
            'pip install "ensemblage[report]".'
        ) from error


def check_installed() -> None:
    """Refuse to start what could not be written in the end.

    Raises
    ------
    ImportError
        If jinja2 or matplotlib is not installed; it names the extra to install.
    """
    need("jinja2")
    need("matplotlib")
