import logging
import os
import pickle
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

MODULE = """
import logging
from ensemblage.kernels import compiled

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
    assert logged.count("Compiled kernels cannot be kept") == 1


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


def test_what_was_mended_serves_another_process(kept, run_here):
    script, printed, cache = kept
    (damaged,) = cache.rglob("*.nbi")
    damaged.write_bytes(b"")
    run_here()
    again, logged = run(script, NUMBA_CACHE_DIR=str(cache))
    assert again == printed
    assert "damaged cache" not in logged


def test_without_compilation_kernels_are_plain_python(script):
    assert run(script, NUMBA_DISABLE_JIT="1")[0] == "8 None"
