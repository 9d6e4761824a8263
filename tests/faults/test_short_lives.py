"""Killed while it writes, or with too little memory: what was there before is whole."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from faults.short_lives import MOMENTS, STARVED, WRITERS

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")


def run(task, folder, *names):
    """Do a task in another process; give what it told, line by line."""
    done = subprocess.run(
        [sys.executable, "-m", "faults.short_lives", task, folder, *names],
        cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=240, check=False,
        env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]  # minus eleven would be a crash
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_process_that_is_killed_while_it_writes_leaves_the_old_file_or_the_new(tmp_path):
    told = run("kill", tmp_path)
    assert len(told) == len(MOMENTS) * len(WRITERS)
    for each in told:
        assert each["killed"], each
        assert each["new" if each["moment"] == "when it has its name" else "old"], each
        assert each["seen"] == [each["file"]], each


@pytest.mark.parametrize("names", [STARVED[:1], pytest.param(STARVED, marks=pytest.mark.slow)])
def test_too_little_memory_is_an_error_and_the_old_model_and_file_stay(names, tmp_path):
    told = run("starve", tmp_path, *names)
    assert [each["name"] for each in told] == [*names, "save"]
    for each in told:
        assert each["ended"].startswith("MemoryError: "), each
        assert each["same"], each
