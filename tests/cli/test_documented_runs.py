"""Commands that pages show are run as they stand, in a folder that holds what they name."""

import contextlib
import re
import shlex
from pathlib import Path

import pytest
from pyarrow import csv, parquet
from sklearn.datasets import load_iris
from typer.testing import CliRunner

from ensemblage.cli import app

ROOT = Path(__file__).parents[2]
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
DOCS = ROOT / "docs"
GUIDES = [ROOT / "README.md", DOCS / "install.md", *sorted((DOCS / "guide").glob("*.md"))]
SHOWN = re.compile(r"^(?:    |\$ )(ensemblage [^#|\n]*[^#|\s])", re.MULTILINE)
# a scheduler, or datasets that are fetched, would be needed; tests/papers runs those tables
NEEDS_MORE = ("--scheduler", "reproduce")

pytestmark = pytest.mark.slow


def run(line):
    done = CliRunner().invoke(app, shlex.split(line)[1:], env={"COLUMNS": "120"})
    assert done.exit_code == 0, done.output
    return done.output


def masked(text):
    """Text without digits, rules and spaces, which does not depend on the machine."""
    return re.sub(r"[\d.]+|\W+", " ", text).split()


def test_the_tutorial_by_its_text_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    new_rows = re.search(r"(?ms)^```text\n(species,.*?)^```$", TUTORIAL)[1]
    (tmp_path / "new.csv").write_text(new_rows, encoding="utf-8")
    steps = re.findall(r"(?ms)^    (ensemblage [^\n]*)\n\n```text\n(.*?)^```$", TUTORIAL)
    assert len(steps) == len(SHOWN.findall(TUTORIAL)) == 6
    for line, expected in steps:
        printed = set(masked(run(line)))
        assert set(masked(expected)) <= printed, line


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files that the guide's commands name."""
    X, y = load_iris(return_X_y=True)
    rows = [
        ",".join(map(str, [*row, ["a", "b", "c"][label], label > 0, label > 0, place, place]))
        for i, (row, label) in enumerate(zip(X, y, strict=True))
        for place in ["north" if i % 2 else "south"]
    ]
    names = "length,width,petal_length,petal_width,species,outcome,ill,site,clinic"
    guide = (DOCS / "guide" / "experiments.md").read_text(encoding="utf-8")
    study = re.search(r"(?ms)^```toml\n(.*?)^```$", guide)[1]
    path = tmp_path_factory.mktemp("guide")
    with contextlib.chdir(path):
        Path("data.csv").write_text("\n".join([names, *rows]) + "\n", encoding="utf-8")
        Path("new.csv").write_text("\n".join([names, *rows[:5]]) + "\n", encoding="utf-8")
        for name in ("comparison.toml", "study.toml"):
            Path(name).write_text(study, encoding="utf-8")
        parquet.write_table(csv.read_csv("data.csv"), "big.parquet")
        run("ensemblage fit data.csv --target species --method logistic --output model.skops")
        run("ensemblage fit penguins --target sex --method logistic --output penguins.skops")
    return path


def documented():
    lines = [line for page in GUIDES for line in SHOWN.findall(page.read_text(encoding="utf-8"))]
    return [line for line in dict.fromkeys(lines) if not any(word in line for word in NEEDS_MORE)]


@pytest.mark.parametrize("line", documented())
def test_a_command_of_the_guide(line, folder):
    with contextlib.chdir(folder):
        run(line)
