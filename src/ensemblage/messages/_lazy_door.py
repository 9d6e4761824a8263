"""A door whose rooms are entered when something of them is first asked for."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any


def lazy_door(package: str, path: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Give a package ``__getattr__`` and ``__dir__`` that import its names at their first use.

    The names are those that its ``__init__`` imports under ``if TYPE_CHECKING:``, where type
    checkers and import-linter see them too; ``path`` is the ``__init__``'s own.
    """
    homes = dict(_imported(ast.parse(Path(path).read_text(encoding="utf-8"))))

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, attribute = homes[name]
        return getattr(import_module(module), attribute)

    def names() -> list[str]:
        return sorted(homes)

    return get, names


def _imported(tree: ast.Module) -> Iterator[tuple[str, tuple[str, str]]]:
    """Give each name under ``if TYPE_CHECKING:``, with its module and its name in there."""
    for block in tree.body:
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
            for line in block.body:
                if isinstance(line, ast.ImportFrom) and line.module:
                    for alias in line.names:
                        yield alias.asname or alias.name, (line.module, alias.name)
