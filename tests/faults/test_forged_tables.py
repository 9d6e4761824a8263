"""Forged tables, studies and networks: one sentence, soon, in little memory."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from faults.forged_tables import write_files

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")

SECONDS, BYTES = 5.0, 500e6
ALL = 4_000_000_000


def limit():
    """Let what goes wrong end in a MemoryError of its own, not of the whole machine."""
    resource.setrlimit(resource.RLIMIT_AS, (ALL, ALL))


def test_forged_tables_studies_and_networks(tmp_path):
    count = write_files(tmp_path)
    assert count > 80
    done = subprocess.run(
        [sys.executable, "-m", "faults.forged_tables", tmp_path], cwd=Path(__file__).parents[1],
        capture_output=True, text=True, timeout=280, check=False, preexec_fn=limit,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(told) == count
    for each in told:
        assert each["seconds"] < SECONDS, each
        assert each["bytes"] < BYTES, each
        assert len(each["said"].splitlines()) <= 1, each
        assert len(each["said"]) < 1000, each
    fine = [each["file"] for each in told if not each["said"]]
    assert [name for name in fine if not name.startswith("fine")] == []
