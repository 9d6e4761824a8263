"""Ctrl-C ends a run cleanly; the same command goes on."""

import os
import re
import signal
from pathlib import Path

import pytest

from faults.conftest import signal_group

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


def test_an_interrupt_stores_says_and_resumes(study):
    one = study("one", 4)
    process = one.start()
    one.wait_for(20, process)
    output, errors = signal_group(process, signal.SIGINT)
    assert process.returncode == 130
    assert output == ""
    said = re.fullmatch(
        r"Stopped after (\d+) of 120 cells; run the same command again to go on\.", errors.strip()
    )
    assert said
    assert int(said[1]) == len(one.cells()) >= 20
    assert sorted(path.name for path in one.folder.iterdir()) == [
        "ensemblage-results.sqlite", "study.toml",
    ]  # fmt: skip
    assert _members_of_group(process.pid) == []

    code, output, errors = one.run()
    assert code == 0
    assert f"{said[1]} of 120 cells found in ensemblage-results.sqlite." in errors
    assert "breast-cancer" in output
    assert len(one.cells()) == 120


def _members_of_group(group):
    stats = [path.read_text().rsplit(")", 1)[1].split() for path in _processes()]
    return [fields for fields in stats if int(fields[2]) == group and fields[0] != "Z"]


def _processes():
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            path.read_text()
        except OSError:
            continue
        yield path
