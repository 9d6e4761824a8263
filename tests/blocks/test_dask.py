import errno
import platform
import subprocess
import sys

import numpy as np
import pytest

from ensemblage.blocks import _dask as _state_files
from ensemblage.blocks._dask import StateFiles, read_state, tune_malloc, write_state

COUNT = """
import resource
import numpy as np
from ensemblage.blocks._dask import tune_malloc

def fresh_pages():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        np.ones(500_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

before_tuning = fresh_pages()
tune_malloc()
fresh_pages()
print(before_tuning, fresh_pages())
"""


def test_tune_malloc_is_cached():
    assert tune_malloc() is tune_malloc()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
def test_freed_pages_are_reused_on_a_worker():
    done = subprocess.run(
        [sys.executable, "-c", COUNT], capture_output=True, text=True, check=True,
        env={"MALLOC_TRIM_THRESHOLD_": "65536"},  # as Dask starts its workers
    )  # fmt: skip
    before, after = map(int, done.stdout.split())
    assert after < before / 20


ROW_STATE = np.dtype([("label", np.int32), ("bound", np.float64)])


def test_states_of_any_shape_and_dtype_are_restored(tmp_path):
    states = [
        np.arange(6, dtype=np.float32).reshape(2, 3).T,
        np.zeros((4, 0)),
        np.array([(1, 0.5), (2, -np.inf)], dtype=ROW_STATE),
    ]
    write_state(tmp_path / "part.npy", states)
    again = read_state(tmp_path / "part.npy")
    assert len(again) == 3
    for before, after in zip(states, again, strict=True):
        assert before.dtype == after.dtype
        np.testing.assert_array_equal(before, after)
    assert [path.name for path in tmp_path.iterdir()] == ["part.npy"]


def test_a_pass_writes_other_files_than_it_reads(tmp_path):
    files = StateFiles(tmp_path)
    first, second, third = (files.next_paths(2) for _ in range(3))
    assert not set(first) & set(second)
    assert third == first


def test_the_folder_is_removed_with_its_owner(tmp_path):
    files = StateFiles(tmp_path)
    (path,) = files.next_paths(1)
    write_state(path, [np.zeros(3)])
    assert len(list(tmp_path.iterdir())) == 1
    del files
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_raises_and_keeps_the_last_state(tmp_path, monkeypatch):
    path = tmp_path / "part.npy"
    write_state(path, [np.ones(3)])

    def full(*args, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(_state_files.np.lib.format, "write_array", full)
    with pytest.raises(
        OSError, match=r"cannot be stored in .* \(No space left on device\): free disk space"
    ):
        write_state(path, [np.zeros(3)])
    assert [each.name for each in tmp_path.iterdir()] == ["part.npy"]
    np.testing.assert_array_equal(read_state(path)[0], 1.0)
