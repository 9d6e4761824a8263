"""Terminals of 80, 100 and 140 columns: no text is truncated or broken within a word."""

import numpy as np
import pytest
from rich.console import Console
from sklearn.pipeline import make_pipeline

from ensemblage._core import display_width
from ensemblage.cli import _console
from ensemblage.datasets import TableEncoder, open_dataset
from ensemblage.persistence import save
from ensemblage.strata import HISS, StrataEnsembleClassifier

NAMES = ["age in years", "systolic_blood_pressure_at_rest", "smokes", "distance_to_the_clinic_km"]


@pytest.fixture(params=[80, 100, 140])
def screen(request, monkeypatch):
    """Make every console a terminal of so many columns."""

    def console(*, stderr=False):
        return Console(
            stderr=stderr, highlight=False, width=request.param, force_terminal=True,
            color_system=None,
        )  # fmt: skip

    monkeypatch.setattr(_console, "console", console)
    return request.param


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A table with long names, and a model of strata on it."""
    folder = tmp_path_factory.mktemp("screens")
    rng = np.random.default_rng(0)
    lines = [",".join([*NAMES, "class"])]
    for i in range(90):
        age, pressure, distance = rng.normal([50, 130, 20], [9, 12, 6])
        smokes = "yes" if rng.random() < 0.4 else "no"
        label = "ill" if age + pressure / 2 + rng.normal(0, 9) > 115 else "well"
        shown = "" if i % 9 == 0 else f"{pressure:.0f}"
        lines.append(f"{age:.0f},{shown},{smokes},{distance:.1f},{label}")
    (folder / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    data = open_dataset(str(folder / "people.csv"), "class")
    ensemble = StrataEnsembleClassifier(HISS(4, 0.4), random_state=0)
    model = make_pipeline(TableEncoder(kinds=list(data.kinds)), ensemble).fit(data.X, data.y)
    save(
        model, folder / "strata.skops", columns=data.feature_names, kinds=data.kinds,
        target="class",
    )  # fmt: skip
    return folder


@pytest.mark.parametrize(
    "command",
    [
        ["explain", "strata.skops", "people.csv"],
        ["explain", "strata.skops", "people.csv", "--row", "3"],
        ["cluster", "people.csv", "-k", "3", "--drop", "class"],
    ],
    ids=["explain", "row", "cluster"],
)
def test_every_column_is_there_and_no_line_too_long(screen, people, run, monkeypatch, command):
    monkeypatch.chdir(people)
    done = run(*command)
    assert done.exit_code == 0
    check(done.output, screen)
    words = set(done.output.replace(":", " ").replace("(", " ").split())
    assert words >= {word for name in NAMES for word in name.split()}


def test_lists_and_sentences(screen, run):
    check(run("datasets").output, screen)
    missing = run("explain", f"{'a_very_long_name_' * 3}.skops").output
    check(missing, screen)
    assert missing.startswith("Error: There is no model file")


def check(shown, width):
    lines = shown.splitlines()
    assert [line for line in lines if display_width(line) > width] == []
    assert "…" not in shown
    assert [line for line in lines if line.strip() and not any(map(str.isalnum, line))
            and set(line.strip()) != {"─"}] == []  # fmt: skip
