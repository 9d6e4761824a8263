"""Names that are formulas, markup or control characters: escaped, neutralised or refused."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from ensemblage.bayes import BayesNetClassifier, BayesNetwork
from ensemblage.cli import app
from made_estimators import attempt

HOSTILE = [
    "<script>alert(1)</script>", "=cmd|' /C calc'!A0", "+1+1", "@SUM(A1)", "\u202eevil", "\x1b[31m",
    "a\x07b", "a\nb", "'; DROP TABLE cells; --", "../../etc/passwd", "{{7*7}}", "x" * 500, "&amp;",
]  # fmt: skip
COLUMNS = [f"{name}{j}" for j, name in enumerate(HOSTILE[:4])]
TARGET = "\u202eclass"
CONTROL_CHARACTERS = ["\x1b[31m", "\x07", "\u202e"]


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(40, len(COLUMNS))), columns=COLUMNS)
    rows[TARGET] = np.array(HOSTILE)[np.arange(40) % 2]
    rows.to_csv("rows.csv", index=False)
    return tmp_path


def test_terminal_page_and_export(table):
    arguments = ["compare", "rows.csv", "-m", "majority", "--folds", "2", "--target", TARGET]
    done = CliRunner().invoke(app, [*arguments, "--output", "table.csv", "--report", "page.html"])
    assert done.exit_code == 0, done.output
    assert not [sign for sign in CONTROL_CHARACTERS if sign in done.output]
    page = (table / "page.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in page
    assert "\u202e" not in page
    with (table / "table.csv").open(encoding="utf-8", newline="") as file:
        fields = [field for row in csv.reader(file) for field in row]
    assert not [each for each in fields if each[:1] in {"=", "+", "@"}]


def test_predictions_are_not_formulas(table):
    done = CliRunner().invoke(
        app, ["fit", "rows.csv", "-m", "majority", "--output", "m.skops", "--target", TARGET]
    )
    assert done.exit_code == 0, done.output
    done = CliRunner().invoke(
        app, ["predict", "m.skops", "rows.csv", "--output", "predictions.csv"]
    )
    assert done.exit_code == 0, done.output
    rows = list(csv.reader(io.StringIO((table / "predictions.csv").read_text(encoding="utf-8"))))
    assert not [each for row in rows for each in row if each[:1] in {"=", "+", "@"}]


def test_kept_cells_are_not_formulas(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ids = ["=cmd|' /C calc'!A0", "-1.5", "-", "@SUM(A1)", "plain", "+41 44 000 00 00"]
    rows = pd.DataFrame({"=id": ids * 5, "x": np.arange(30.0), "y": ["+", "-mild"] * 15})
    rows.to_csv("rows.csv", index=False)
    fit = ["fit", "rows.csv", "-m", "majority", "-t", "y", "--drop", "=id", "-o", "m.skops"]
    assert CliRunner().invoke(app, fit).exit_code == 0

    def predict(*options):
        command = ["predict", "m.skops", "rows.csv", "--keep", "=id", *options]
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
        return done.stdout, done.stderr

    def kept(text):
        return [row[0] for row in csv.reader(io.StringIO(text))]

    text, said = predict()
    escaped = ["'=cmd|' /C calc'!A0", "-1.5", "-", "'@SUM(A1)", "plain", "'+41 44 000 00 00"]
    assert kept(text) == ["'=id", *escaped * 5]
    assert "before the text of 16 cells, which a spreadsheet would evaluate; --raw keeps" in said
    text, said = predict("--raw")
    assert kept(text) == ["=id", *ids * 5]
    assert "spreadsheet" not in said
    # neither Parquet nor JSON is evaluated
    assert "spreadsheet" not in predict("-o", "out.parquet")[1]
    assert pd.read_parquet("out.parquet")["=id"].tolist() == ids * 5
    text, said = predict("--json")
    assert json.loads(text)["kept"]["=id"] == ids * 5
    assert "spreadsheet" not in said


@pytest.mark.parametrize("name", HOSTILE)
def test_networks_with_any_names_round_trip(name):
    X = pd.DataFrame({name: ["u", "v"] * 10, "other": ["p", "q", "q", "p"] * 5})
    network = BayesNetClassifier(calibration=None).fit(X, ["yes", "no"] * 10).graph()
    for there, back in [("to_bif", BayesNetwork.from_bif), ("to_xmlbif", BayesNetwork.from_xmlbif)]:
        text, error = attempt(getattr(network, there))
        if error:
            assert "characters that XML does not allow" in error
            continue
        assert "<script>" not in text
        assert list(back(text).states) == list(network.states)


@pytest.mark.parametrize("name", ["no\x00thing.csv", "a" * 5000, "/dev/null/x.csv", "."])
def test_invalid_file_names(name):
    done = CliRunner().invoke(app, ["compare", name, "-m", "majority"])
    assert done.exit_code != 0
    assert done.exception is None or isinstance(done.exception, SystemExit)
