import importlib
import linecache
import logging
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ensemblage.kernels import bin_masses, compiled, priced_memberships


@compiled
def double(x):
    """Twice x."""
    return 2 * x


@compiled(fastmath=True)
def triple(x):
    """Thrice x."""
    return 3 * x


@compiled
def double_then_triple(x):
    """Six times each x, by kernels from this module."""
    return [triple(double(value)) for value in x]


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


def test_a_kernel_calls_kernels():
    assert double_then_triple(np.array([1.0, 2.0])) == [6.0, 12.0]
    assert double_then_triple.python([1.0, 2.0]) == [6.0, 12.0]


def test_a_kernel_calls_kernels_of_a_closure():
    def factory(kernel):
        @compiled
        def again(x):
            return kernel(kernel(x))

        return again

    assert factory(double)(3) == 12
    assert factory(triple)(3) == 27


MODULES = {
    "__init__": "",
    "low": "from ensemblage.kernels import compiled\n@compiled\ndef low(x):\n    return x + 1\n",
    "middle": "from ensemblage.kernels import compiled\nfrom house.low import low\n"
    "@compiled\ndef middle(x):\n    return 10 * low(x)\n",
    "numbers": "WEIGHT = 100\n",
    "pair": "from typing import NamedTuple\n"
    "class Pair(NamedTuple):\n    left: int\n    right: int\n",
    "top": "from ensemblage.kernels import compiled\nfrom house.middle import middle\n"
    "from house.numbers import WEIGHT\nfrom house.pair import Pair\n"
    "@compiled\ndef top(pair: Pair, x):\n    return WEIGHT * middle(x) + pair.left\n",
}


@pytest.fixture
def house(tmp_path):
    """A package of three kernels, each calling the next, that a test may edit."""
    folder = tmp_path / "house"
    folder.mkdir()
    for name, text in MODULES.items():
        (folder / f"{name}.py").write_text(text)
    return folder


@pytest.fixture
def run_top(house, monkeypatch):
    """Import the top kernel anew and call it: its value, and how often it was compiled."""
    monkeypatch.syspath_prepend(house.parent)
    # without bytecode files, whose time stamps are too coarse for quick edits
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def call():
        linecache.checkcache()
        importlib.invalidate_caches()
        top = importlib.import_module("house.top")
        value = top.top(top.Pair(3, 4), 5)
        for name in [each for each in sys.modules if each.partition(".")[0] == "house"]:
            del sys.modules[name]
        return value, sum(top.top.dispatcher.stats.cache_misses.values())

    return call


def run_top_apart(house: Path) -> tuple[int, int]:
    """Do so in a fresh process."""
    code = (
        "from house.top import top; from house.pair import Pair;"
        "value = top(Pair(3, 4), 5); print(value, sum(top.dispatcher.stats.cache_misses.values()))"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", code],
        cwd=house.parent, check=True, capture_output=True, text=True,
    )  # fmt: skip
    value, misses = done.stdout.split()
    return int(value), int(misses)


def test_machine_code_is_reused_until_something_imported_is_edited(house, run_top):
    def edit(module, old, new):
        path = house / f"{module}.py"
        path.write_text(path.read_text().replace(old, new))

    assert run_top() == (6003, 1)
    assert run_top_apart(house) == (6003, 0)
    edit("low", "x + 1", "x + 2")
    assert run_top() == (7003, 1)
    edit("middle", "10 * low", "20 * low")
    assert run_top() == (14003, 1)
    edit("numbers", "100", "200")
    assert run_top() == (28003, 1)
    edit("pair", "left: int\n    right", "right: int\n    left")
    assert run_top() == (28004, 1)
