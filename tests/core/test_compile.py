import gc
import importlib
import linecache
import logging
import os
import pickle
import runpy
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from ensemblage._core import compiled, seem_compiling
from ensemblage.strata._hiss_kernels import bin_masses, bound_row_sums

MODULE = """
import logging
from ensemblage._core import compiled

@compiled
def double(x):
    return 2 * x

logging.basicConfig(level=logging.INFO, format="%(message)s")
print(double(4), double.cache_folder)
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "kernel_of_its_own.py"
    path.write_text(MODULE)
    return path


def run(script: Path, **environment: str) -> tuple[str, str]:
    """Call the kernel in a fresh process: what it prints, and what it logs."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
    done = subprocess.run(
        [sys.executable, str(script)], check=True, capture_output=True, text=True,
        env={**kept, **environment},
    )  # fmt: skip
    return done.stdout.strip(), done.stderr


def test_without_a_folder_to_write_each_process_compiles(script):
    # the one folder that is tried cannot be made; Numba before 0.62 tries two more
    nowhere = {
        "NUMBA_CACHE_DIR": os.devnull,
        "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator",
        "XDG_CACHE_HOME": os.devnull,
    }
    (script.parent / "__pycache__").touch()
    printed, logged = run(script, **nowhere)
    assert printed == "8 None"
    assert logged.count("Compiled kernels cannot be cached") == 1


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A kernel that was called, what it printed, and the folder that has its machine code."""
    folder = tmp_path_factory.mktemp("kept")
    script = folder / "kernel_of_its_own.py"
    script.write_text(MODULE)
    printed, _ = run(script, NUMBA_CACHE_DIR=str(folder / "cache"))
    return script, printed, folder / "cache"


@pytest.fixture
def run_here(kept, monkeypatch, capsys, caplog):
    """Call the kernel in this process, where it is as new: what it prints, and what it logs."""
    config = pytest.importorskip("numba.core.config")
    script, _, cache = kept
    monkeypatch.setattr(config, "CACHE_DIR", str(cache))

    def call():
        caplog.clear()
        with caplog.at_level(logging.INFO, logger="ensemblage"):
            runpy.run_path(str(script), run_name="__main__")
        return capsys.readouterr().out.strip(), caplog.text

    return call


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [b"", b"no pickle at all", b"\x80\x05."])
def test_a_damaged_cache_is_discarded_and_written_again(kept, run_here, ending, damage):
    _, printed, cache = kept
    (damaged,) = cache.rglob(f"*.{ending}")
    damaged.write_bytes(damage)
    again, logged = run_here()
    assert again == printed
    assert "damaged cache" in logged
    assert pickle.loads(damaged.read_bytes())  # noqa: S301  written by this test
    assert "damaged cache" not in run_here()[1]


def test_a_repaired_cache_is_used_by_another_process(kept, run_here):
    script, printed, cache = kept
    (damaged,) = cache.rglob("*.nbi")
    damaged.write_bytes(b"")
    run_here()
    again, logged = run(script, NUMBA_CACHE_DIR=str(cache))
    assert again == printed
    assert "damaged cache" not in logged


def test_without_compilation_kernels_are_plain_python(script):
    assert run(script, NUMBA_DISABLE_JIT="1")[0] == "8 None"


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
        "Preparing kernel double; compiled once per machine."
    ]


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_is_collected_after_the_first_call_if_it_was_before(enabled):
    fresh, was_enabled = compiled(double.python), gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        assert fresh(1) == 2
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if was_enabled else gc.disable)()


def test_a_kernel_is_pickled_by_name():
    assert pickle.loads(pickle.dumps(bin_masses)) is bin_masses  # noqa: S301


def test_numba_is_imported_by_the_first_call_only():
    code = (
        "import sys, numpy as np, ensemblage.strata as s; assert 'numba' not in sys.modules;"
        "s.HISS(n_strata=2).fit(np.random.rand(20, 2)); assert 'numba' in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)


def test_float32_stays_float32():
    tau, _ = bound_row_sums(np.zeros((2, 3), dtype=np.float32), np.zeros(2))
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
    "low": "from ensemblage._core import compiled\n@compiled\ndef low(x):\n    return x + 1\n",
    "middle": "from ensemblage._core import compiled\nfrom package.low import low\n"
    "@compiled\ndef middle(x):\n    return 10 * low(x)\n",
    "numbers": "WEIGHT = 100\n",
    "pair": "from typing import NamedTuple\n"
    "class Pair(NamedTuple):\n    left: int\n    right: int\n",
    "top": "from ensemblage._core import compiled\nfrom package.middle import middle\n"
    "from package.numbers import WEIGHT\nfrom package.pair import Pair\n"
    "@compiled\ndef top(pair: Pair, x):\n    return WEIGHT * middle(x) + pair.left\n",
}


@pytest.fixture
def package(tmp_path):
    """A package of three kernels, each calling the next, that a test may edit."""
    folder = tmp_path / "package"
    folder.mkdir()
    for name, text in MODULES.items():
        (folder / f"{name}.py").write_text(text)
    return folder


@pytest.fixture
def run_top(package, monkeypatch):
    """Import the top kernel anew and call it: its value, and how often it was compiled."""
    monkeypatch.syspath_prepend(package.parent)
    # without bytecode files, whose time stamps are too coarse for quick edits
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def call():
        linecache.checkcache()
        importlib.invalidate_caches()
        top = importlib.import_module("package.top")
        value = top.top(top.Pair(3, 4), 5)
        for name in [each for each in sys.modules if each.partition(".")[0] == "package"]:
            del sys.modules[name]
        return value, sum(top.top.dispatcher.stats.cache_misses.values())

    return call


def run_top_apart(package: Path) -> tuple[int, int]:
    """Do so in a fresh process."""
    code = (
        "from package.top import top; from package.pair import Pair;"
        "value = top(Pair(3, 4), 5); print(value, sum(top.dispatcher.stats.cache_misses.values()))"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", code],
        cwd=package.parent, check=True, capture_output=True, text=True,
    )  # fmt: skip
    value, misses = done.stdout.split()
    return int(value), int(misses)


def test_machine_code_is_reused_until_something_imported_is_edited(package, run_top):
    def edit(module, old, new):
        path = package / f"{module}.py"
        path.write_text(path.read_text().replace(old, new))

    assert run_top() == (6003, 1)
    assert run_top_apart(package) == (6003, 0)
    edit("low", "x + 1", "x + 2")
    assert run_top() == (7003, 1)
    edit("middle", "10 * low", "20 * low")
    assert run_top() == (14003, 1)
    edit("numbers", "100", "200")
    assert run_top() == (28003, 1)
    edit("pair", "left: int\n    right", "right: int\n    left")
    assert run_top() == (28004, 1)


def test_by_what_lies_in_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    start = time.time()
    assert seem_compiling(start)  # never compiled
    (tmp_path / "bayes_0a1b").mkdir()
    made = tmp_path / "bayes_0a1b" / "_score_kernels.score-1.py311.nbi"
    made.touch()
    assert seem_compiling(start - 1)  # one just now, the next is on its way
    os.utime(made, (start - 60, start - 60))
    assert not seem_compiling(start)  # all there before
    assert not seem_compiling(start - 90)  # the last one a minute ago


def test_without_a_folder_of_ones_own_it_is_beside_the_source(monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    assert seem_compiling(time.time()) in {True, False}
