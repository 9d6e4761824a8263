"""Help that people can read who do not know Python."""

import re

import pytest

from ensemblage.cli import app

COMMANDS = [each.name for each in app.registered_commands]


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)], ids=str)
def test_no_types_of_python(run, command):
    shown = run(*command, "--help").output
    assert re.findall(r"<\w+>|\[0<=x", shown) == []
    assert re.search(r"--(debug|version) +\w", shown)
