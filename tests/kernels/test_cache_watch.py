"""Whether kernels are being compiled."""

import os
import time

from ensemblage.kernels import seem_compiling


def test_by_what_lies_in_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    start = time.time()
    assert seem_compiling(start)  # never compiled
    (tmp_path / "kernels_0a1b").mkdir()
    made = tmp_path / "kernels_0a1b" / "_k2.score-1.py311.nbi"
    made.touch()
    assert seem_compiling(start - 1)  # one just now, the next is on its way
    os.utime(made, (start - 60, start - 60))
    assert not seem_compiling(start)  # all there before
    assert not seem_compiling(start - 90)  # the last one a minute ago


def test_without_a_folder_of_ones_own_it_is_beside_the_source(monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    assert seem_compiling(time.time()) in {True, False}
