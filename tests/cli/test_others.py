import json

import numpy as np
import pytest

from ensemblage.studies import _doctor


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    lines = ["age,site,outcome"]
    for number in range(180):
        age = rng.normal(60, 10)
        site = ("north", "south", "west")[number % 3]
        ill = (age - 60) / 10 + rng.logistic() / 2 > 0
        lines.append(f"{age:.1f},{site},{'ill' if ill else 'well'}")
    path = tmp_path / "sites.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_audit_summary_table_and_page(run, table, tmp_path):
    result = run(
        "audit", table, "--target", "outcome", "--source", "site", "-m", "logistic", "--jobs", 1,
        "--report", "audit.html",
    )  # fmt: skip
    assert result.exit_code == 0
    assert "logistic regression, 3 sources" in result.output
    assert "Expected error at a new source: 0." in result.output
    assert "north" in result.output
    assert "LSO: leave-source-out validation." in result.output
    page = (tmp_path / "audit.html").read_text(encoding="utf-8")
    assert "Leave-source-out error by source" in page


def test_json(run, table):
    result = run(
        "audit", table, "--target", "outcome", "--source", "site", "-m", "logistic", "--jobs", 1,
        "--json",
    )  # fmt: skip
    document = json.loads(result.stdout)
    assert [each["name"] for each in document["audit"]["sources"]] == ["north", "south", "west"]
    assert document["method"] == "logistic"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--source", "place"], "There is no column 'place'"),
        (["--source", "outcome"], "cannot be both target and source"),
        (["--source", "age"], "most have one row"),
        (["--source", "site", "-m", "svm"], "gives no probabilities"),
    ],
)
def test_what_cannot_be_audited_is_one_sentence(run, table, options, message):
    import re

    result = run("audit", table, "--target", "outcome", "--jobs", 1, *options)
    assert result.exit_code == 1
    assert re.search(message, " ".join(result.output.split()))


def test_datasets(run, table_file):
    result = run("datasets", "--data-dir", table_file.parent)
    assert result.exit_code == 0
    assert "people" in result.stdout
    assert "OpenML 54" in result.stdout
    facts = {each["name"]: each for each in json.loads(run("datasets", "--json").stdout)}
    assert facts["digits"] == {
        "name": "digits", "n_rows": 1797, "n_features": 64, "available": True,
        "origin": "scikit-learn",
    }  # fmt: skip


def test_it_shows_what_there_is(run):
    result = run("doctor")
    assert result.exit_code == 0
    assert "scikit-learn" in result.stdout
    assert 'pip install "ensemblage[report]"' in result.stdout
    assert result.stdout.rstrip().endswith("OK: all tests passed.")


def test_it_fails_when_something_is_wrong(run, monkeypatch):
    def bad():
        raise ArithmeticError("2 and 2 are 5")

    monkeypatch.setattr(_doctor, "TESTS", {"add": bad})
    result = run("doctor")
    assert result.exit_code == 1
    assert "add: ArithmeticError: 2 and 2 are 5" in result.stdout
    assert result.stdout.rstrip().endswith("Some tests failed: see above.")
