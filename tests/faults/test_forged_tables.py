"""Forged tables, studies and networks: an error of one sentence, fast, in little memory."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from faults.forged_tables import write_files

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")

MAX_SECONDS = 5.0
MAX_BYTES = 500e6
# Memory limit of the process, in bytes.
MEMORY_LIMIT = 4_000_000_000


def limit():
    """Limit the memory of the process."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))


def test_forged_tables_studies_and_networks(tmp_path):
    count = write_files(tmp_path)
    assert count > 80
    done = subprocess.run(
        [sys.executable, "-m", "faults.forged_tables", tmp_path], cwd=Path(__file__).parents[1],
        capture_output=True, text=True, timeout=280, check=False, preexec_fn=limit,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(outcomes) == count
    for each in outcomes:
        assert each["seconds"] < MAX_SECONDS, each
        assert each["bytes"] < MAX_BYTES, each
        assert len(each["error"].splitlines()) <= 1, each
        assert len(each["error"]) < 1000, each
    fine = [each["file"] for each in outcomes if not each["error"]]
    assert [name for name in fine if not name.startswith("fine")] == []
