import os
import subprocess
import sys

import pytest

from ensemblage.parallel import memory_at_hand


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_the_least_of_machine_and_limit():
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < memory_at_hand() <= machine
    script = (
        "import resource; from ensemblage.parallel import memory_at_hand; "
        "resource.setrlimit(resource.RLIMIT_AS, (3 * 10**9,) * 2); print(memory_at_hand())"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert float(run.stdout) == min(3e9, machine)
