import platform
import subprocess
import sys

import pytest

from ensemblage.blocks._worker_memory import keep_memory

COUNT = """
import resource
import numpy as np
from ensemblage.blocks._worker_memory import keep_memory

def fresh_pages():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        np.ones(500_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

given_back = fresh_pages()
keep_memory()
fresh_pages()
print(given_back, fresh_pages())
"""


def test_it_tells_once_whether_it_can():
    assert keep_memory() is keep_memory()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a matter of glibc")
def test_pages_are_used_again_where_a_worker_would_give_them_back():
    done = subprocess.run(
        [sys.executable, "-c", COUNT], capture_output=True, text=True, check=True,
        env={"MALLOC_TRIM_THRESHOLD_": "65536"},  # as Dask starts its workers
    )  # fmt: skip
    given_back, kept = map(int, done.stdout.split())
    assert kept < given_back / 20
