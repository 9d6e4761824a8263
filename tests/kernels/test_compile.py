import logging
import pickle
import subprocess
import sys

import numpy as np

from ensemblage.kernels import bin_masses, compiled, priced_memberships


@compiled
def double(x):
    """Twice x."""
    return 2 * x


@compiled(fastmath=True)
def triple(x):
    """Thrice x."""
    return 3 * x


def test_a_kernel_keeps_its_name_and_its_python():
    assert double.__name__ == "double"
    assert double.__doc__ == "Twice x."
    assert double.python(4) == double(4) == 8
    assert triple(2.0) == 6.0


def test_the_first_call_is_announced(caplog):
    fresh = compiled(double.python)
    with caplog.at_level(logging.INFO, logger="ensemblage"):
        fresh(1)
        fresh(2)
    assert [record.message for record in caplog.records] == [
        "Preparing kernel double; a new machine compiles it once."
    ]


def test_a_kernel_travels_by_name():
    assert pickle.loads(pickle.dumps(bin_masses)) is bin_masses  # noqa: S301


def test_numba_is_imported_by_the_first_call_only():
    code = (
        "import sys, numpy as np, ensemblage.strata as s; assert 'numba' not in sys.modules;"
        "s.HISS(n_strata=2).fit(np.random.rand(20, 2)); assert 'numba' in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)


def test_float32_stays_float32():
    tau, _ = priced_memberships(np.zeros((2, 3), dtype=np.float32), np.zeros(2))
    assert tau.dtype == np.float32
