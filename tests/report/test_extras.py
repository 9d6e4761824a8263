"""What a report needs beside the library."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("missing", ["jinja2", "matplotlib"])
def test_a_missing_package_is_named(missing):
    script = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from ensemblage.report import check_installed\n"
        "try: check_installed()\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == (
        f"A report needs {missing}, which comes with the extra `report`: "
        'pip install "ensemblage[report]".'
    )
