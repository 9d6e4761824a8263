"""Values of the command line that are what they should be without a check.

typer checks every value by pydantic, whose import takes longer than all else that a wrong file
name needs. Texts, paths and values that have their type already, as defaults do, pass here
without it; whatever else is typed in, numbers above all, is checked by typer as ever.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ensemblage.cli._plain_help import PlainCommand, PlainGroup

UNKNOWN = object()


class QuickCommand(PlainCommand):
    """A command that asks typer to check values only where there is something to check."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Give the parameters, each with the values that need no check."""
        return _let_pass(super().get_params(ctx))


class QuickGroup(PlainGroup):
    """Commands behind one name, whose own options are checked as theirs are."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Give the parameters, each with the values that need no check."""
        return _let_pass(super().get_params(ctx))


def _let_pass(params: list[Any]) -> list[Any]:
    for each in params:
        # older versions of typer have none of these, and no pydantic either
        usual = getattr(each, "get_runtime_param", None)
        if usual is not None and not isinstance(usual, UncheckedValues):
            each.get_runtime_param = UncheckedValues(usual)
    return params


class UncheckedValues:
    """Stands for what typer checks a parameter's values by, which is made if it is needed."""

    def __init__(self, usual: Any) -> None:
        self._usual = usual

    def __call__(self) -> UncheckedValues:
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Give a value the parameter's type."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        wanted = param.type_descriptor
        known = UNKNOWN if wanted.parameter_info.parser else unchecked(value, wanted.annotation)
        return self._usual().coerce(value, param=param, ctx=ctx) if known is UNKNOWN else known


def unchecked(value: Any, kind: Any) -> Any:
    """Give a value its type if there is nothing to check about it, or else ``UNKNOWN``."""
    if kind is Path and isinstance(value, str):
        path = Path(value)
        return UNKNOWN if path.exists() and not os.access(path, os.R_OK) else path
    if kind == list[str] and all(isinstance(item, str) for item in value):
        return list(value)
    return value if isinstance(kind, type) and type(value) is kind else UNKNOWN
