"""Without extras: commands that need one name it in one sentence; the others work."""

import json
import subprocess
import sys

import pytest

HIDDEN = [
    "matplotlib", "jinja2", "markupsafe", "pandas", "pyarrow", "polars", "python_calamine",
    "openpyxl", "distributed", "dask", "pymetis", "mtkahypar", "lightgbm", "networkx",
]  # fmt: skip
SCRIPT = """
import json, sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {hidden}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hidden())
from typer.testing import CliRunner
from ensemblage.cli import app
results = {{}}
for line in {commands}:
    result = CliRunner().invoke(app, line.split())
    text = " ".join((result.stderr or result.stdout).split())
    results[line] = [result.exit_code, text, repr(result.exception)]
print(json.dumps(results))
"""
FIT = "fit iris -m bayesnet -o m.skops -j 1 --folds 2"
NEEDS = {
    "explain m.skops -o m.png": "plot",
    "explain m.skops --report m.html": "report",
    "compare iris -m majority -j 1 --report c.html": "report",
    "predict m.skops rows.parquet": "all",
    "predict m.skops rows.xlsx": "excel",
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("core")
    for name in ("rows.parquet", "rows.xlsx"):
        (folder / name).write_bytes(b"PK")
    commands = [FIT, "explain m.skops", "doctor", *NEEDS]
    script = SCRIPT.format(hidden=HIDDEN, commands=commands)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("command", [FIT, "explain m.skops", "doctor"])
def test_what_needs_no_extra_works(results, command):
    code, text, error = results[command]
    assert code == 0, (text, error)


@pytest.mark.parametrize("command", NEEDS)
def test_what_needs_an_extra_names_it(results, command):
    code, text, error = results[command]
    assert (code, error) == (1, "SystemExit(1)"), text
    assert f'the extra `{NEEDS[command]}`: pip install "ensemblage[{NEEDS[command]}]".' in text
    assert text.startswith("Error: ")
