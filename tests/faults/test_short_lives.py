"""Killed while writing, or with too little memory: the old file and model are intact."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from faults.short_lives import ESTIMATORS, STEPS, WRITERS

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")


def run(task, folder, *names):
    """Run a task in another process; return its outcomes."""
    done = subprocess.run(
        [sys.executable, "-m", "faults.short_lives", task, folder, *names],
        cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=240, check=False,
        env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]  # -11 is a segmentation fault
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_killed_while_writing_leaves_the_old_or_the_new_file(tmp_path):
    outcomes = run("kill", tmp_path)
    assert len(outcomes) == len(STEPS) * len(WRITERS)
    for each in outcomes:
        assert each["killed"], each
        assert each["new" if each["step"] == "after replace" else "old"], each
        assert each["files"] == [each["file"]], each


@pytest.mark.parametrize(
    "names", [ESTIMATORS[:1], pytest.param(ESTIMATORS, marks=pytest.mark.slow)]
)
def test_too_little_memory_leaves_model_and_file_unchanged(names, tmp_path):
    outcomes = run("low_memory", tmp_path, *names)
    assert [each["name"] for each in outcomes] == [*names, "save"]
    for each in outcomes:
        assert each["ended"].startswith("MemoryError: "), each
        assert each["same"], each
