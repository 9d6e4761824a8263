"""Forged and damaged model files: an error of one sentence, fast, in little memory."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from faults.forging import KINDS, write_archives

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")

MAX_SECONDS = 2.0
MAX_BYTES = 300e6
TESTS = Path(__file__).parents[1]
# attributes that other fits may have with these values, or that no later call reads
UNCHECKED = (
    "n_iter_", "_num_iter", "_seeds", "_n_samples", "_max_", "memberships_: short",
    "partitions_: short", "partitions_: huge", "objective_path_: short", "z_scores_: short",
    "views_: short", "rows: huge", "member_sizes_: huge", "member_report_", "ranking_: huge",
    "classes_: floats", "classes_: huge", "classes_: negative", "classes_: list",
    "sources_: floats", "sources_: huge", "sources_: negative", "names_: floats", "names_: huge",
    "names_: negative", "seconds: nan", "log_loss: nan", "score: nan", "log_loss_se: nan",
    "score_se: nan", "weight: nan", "configurations: huge", "stratum_variances_: none",
    "labels_: none", "votes_: none",
)  # fmt: skip


def run(folder, *task):
    """Forge and load in another process; return its outcomes."""
    done = subprocess.run(
        [sys.executable, "-m", "faults.forging", task[0], folder, *map(str, task[1:])],
        cwd=TESTS, capture_output=True, text=True, timeout=1200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]  # -11 is a segmentation fault
    return [json.loads(line) for line in done.stdout.splitlines()]


def assert_within_limits(outcome):
    assert outcome["seconds"] < MAX_SECONDS, outcome
    assert outcome["bytes"] < MAX_BYTES, outcome
    assert len(outcome["error"].splitlines()) <= 1, outcome


def test_forged_archives_headers_and_schemas(tmp_path):
    write_archives(tmp_path)  # here, so that the other process only loads
    outcomes = run(tmp_path, "files")
    assert len(outcomes) >= 60
    for each in outcomes:
        assert_within_limits(each)
    assert [each["file"] for each in outcomes if not each["error"]] == []
    assert not (tmp_path / "proof").exists()


def assert_refused_or_unchecked(outcomes):
    for each in outcomes:
        assert_within_limits(each)
    loaded = [each["file"] for each in outcomes if not each["error"]]
    assert [name for name in loaded if not any(part in name for part in UNCHECKED)] == []


def test_forged_attributes(tmp_path):
    """Every twentieth forgery; the slow test has all."""
    outcomes = run(tmp_path, "attributes", 20)
    assert len(outcomes) > 100
    assert_refused_or_unchecked(outcomes)


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_all_forged_attributes(tmp_path):
    outcomes = run(tmp_path, "attributes", 1)
    # 2,331 are tried, less those that `save` cannot write; there have never been 3,000
    assert len(outcomes) > 2200
    assert_refused_or_unchecked(outcomes)


FLIPS = [pytest.param("ScaledRidge", 50)] + [
    pytest.param(kind, 2000, marks=[pytest.mark.slow, pytest.mark.timeout(900)]) for kind in KINDS
]


@pytest.mark.parametrize(("kind", "times"), FLIPS)
def test_flipped_bits(kind, times, tmp_path):
    outcomes = run(tmp_path, "flip_bits", kind, times)
    assert len(outcomes) == times
    for each in outcomes:
        assert_within_limits(each)
    assert [each["file"] for each in outcomes if not (each["error"] or each["equal"])] == []
