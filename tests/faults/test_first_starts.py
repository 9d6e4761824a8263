"""Compiled code without cache, with a damaged one, without compiler, in concurrent processes."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import numpy as np
from ensemblage.bayes import MDLPDiscretizer
X = np.random.default_rng(0).normal(size=(40, 1)); y = (X[:, 0] > 0).astype(int)
print(MDLPDiscretizer().fit(X, y).n_bins_.tolist())
"""


def start(**environment):
    kept = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**kept, **environment},
    )  # fmt: skip


def output_of(process):
    output, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    return output.strip()


@pytest.mark.slow  # each of the four compiles
def test_concurrent_first_starts_share_a_cache(tmp_path):
    started = [start(NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(4)]
    assert {output_of(process) for process in started} == {"[2]"}
    cached = [path for path in tmp_path.rglob("*.nb?") if path.stat().st_size]
    assert cached
    for path in cached:
        path.write_bytes(b"damaged")
    assert output_of(start(NUMBA_CACHE_DIR=str(tmp_path))) == "[2]"


@pytest.mark.slow  # the fast tests cover the cache of one kernel
@pytest.mark.parametrize(
    "environment",
    [{"NUMBA_DISABLE_JIT": "1"},
     {"NUMBA_CACHE_DIR": os.devnull, "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator"}],
    ids=["no compiler", "no cache"],
)  # fmt: skip
def test_no_compiler_and_no_cache(environment):
    assert output_of(start(**environment)) == "[2]"
