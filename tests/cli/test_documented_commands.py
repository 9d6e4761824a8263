"""Commands that the documentation shows can be typed: they exist, and so do their options."""

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from ensemblage.cli import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SHOWN = re.compile(r"^(?:    |\$ )(ensemblage [^#\n]*[^#\s])", re.MULTILINE)
COMMANDS = get_command(app).commands


def shown():
    for page in PAGES:
        for line in SHOWN.findall(page.read_text(encoding="utf-8")):
            yield pytest.param(line, id=f"{page.stem}: {line[11:60]}")


@pytest.mark.parametrize("line", list(shown()))
def test_it_can_be_typed(line):
    _, name, *words = shlex.split(line)
    known = {option for each in COMMANDS[name].params for option in each.opts}
    assert {word for word in words if re.match(r"--?[a-z]", word)} <= known | {"--help"}


def test_there_are_many():
    assert len(list(shown())) > 20
