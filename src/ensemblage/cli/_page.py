"""The page that a command writes with ``--report``."""
# ruff: noqa: PLC0415  scikit-learn is imported inside the command, so that --help answers at once

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ensemblage.cli._console import say

if TYPE_CHECKING:
    from ensemblage.pages import Page


def check_page(path: Path | None) -> None:
    """Refuse a page that could not be written in the end, before any work is done for it."""
    if path is None:
        return
    from ensemblage.persistence import check_writable
    from ensemblage.report import check_installed

    check_writable(path)
    check_installed()


def write_page(path: Path, page: Page) -> None:
    """Render a page and write it."""
    from ensemblage.persistence import write_atomically
    from ensemblage.report import render

    write_atomically(path, render(page))
    say(f"Report written to {path}.", stderr=True)


def data_name(data: str) -> str:
    """Name data after their file, without its folder."""
    return "standard input" if data == "-" else Path(data).name
