import os
import subprocess
import sys

import pytest

from ensemblage._core import free_memory
from ensemblage.strata._gaussian import available_memory


def test_memory_of_the_system(tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal: 900 kB\nMemAvailable:   300 kB\n")
    assert free_memory(tmp_path / "meminfo", tmp_path) == 300 * 1024


def test_a_container_has_less(tmp_path):
    (tmp_path / "meminfo").write_text("MemAvailable: 300 kB\n")
    (tmp_path / "memory.max").write_text("5000\n")
    (tmp_path / "memory.current").write_text("4000\n")
    (tmp_path / "memory.stat").write_text("anon 3000\ninactive_file 700\n")
    assert free_memory(tmp_path / "meminfo", tmp_path) == 1700
    (tmp_path / "memory.max").write_text("max\n")
    assert free_memory(tmp_path / "meminfo", tmp_path) == 300 * 1024


def test_elsewhere_there_is_some(tmp_path):
    assert free_memory(tmp_path / "none", tmp_path) > 0


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_the_least_of_machine_and_limit():
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < available_memory() <= machine
    script = (
        "import resource; from ensemblage.strata._gaussian import available_memory; "
        "resource.setrlimit(resource.RLIMIT_AS, (3 * 10**9,) * 2); print(available_memory())"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert float(run.stdout) == min(3e9, machine)
