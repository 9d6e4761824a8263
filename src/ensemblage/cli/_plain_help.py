"""Help without types of Python: a flag takes no value, and an argument is called by its name."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup


class PlainCommand(TyperCommand):
    """A command with plain help."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Give the parameters, as users should read of them."""
        return _plain(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """Commands behind one name, with plain help."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Give the parameters, as users should read of them."""
        return _plain(super().get_params(ctx))


def _plain(params: list[Any]) -> list[Any]:
    for each in params:
        if each.param_type_name == "argument":
            # typer's only way to a label that is no type
            each.display_type_rich = _no_type
        elif each.is_flag and each.metavar is None:
            each.metavar = ""
    return params


def _no_type(ctx: Any) -> None:
    """Show nothing in the place of a type."""
    del ctx
