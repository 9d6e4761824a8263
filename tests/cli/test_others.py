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


AUDIT = ("--target", "outcome", "--source", "site", "--jobs", 1)


def test_audit_summary_tables_and_files(run, table, tmp_path):
    result = run(
        "audit", table, *AUDIT, "-m", "logistic", "--report", "audit.html", "--csv", "audit.csv",
        "--latex", "audit.tex",
    )  # fmt: skip
    assert result.exit_code == 0
    assert "logistic regression, 3 sources" in result.output
    assert "Expected AUC at a new source: 0." in result.output
    assert "north" in result.output
    assert "CV: cross-validation, rows of every source in training." in result.output
    page = (tmp_path / "audit.html").read_text(encoding="utf-8")
    assert "Forest plots" in page
    assert (tmp_path / "audit.csv").read_text(encoding="utf-8").startswith("source,n,events,")
    assert "\\toprule" in (tmp_path / "audit.tex").read_text(encoding="utf-8")


def test_json(run, table):
    result = run("audit", table, *AUDIT, "-m", "logistic", "--event", "ill", "--json")
    document = json.loads(result.stdout)
    assert [each["source"] for each in document["sources"]] == ["north", "south", "west"]
    assert {"value", "low", "high"} <= document["sources"][0]["measures"]["auc"].keys()
    assert document["summary"][0].keys() == {
        "measure", "cross_validation", "mean", "low", "high", "new_low", "new_high", "tau", "i2",
        "n_sources",
    }  # fmt: skip
    assert [each["reference"] for each in document["references"]] == [
        "no-information", "logistic-regression",
    ]  # fmt: skip
    assert (document["method"], document["event"]) == ("logistic", "ill")


def test_stored_fits_are_not_computed_again(run, table, tmp_path):
    asked = ["audit", table, *AUDIT, "-m", "logistic", "--folds", 2, "--json"]
    plain = run(*asked)
    assert "Resuming" not in plain.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["sites.csv"]
    first = run(*asked, "--results", "r.sqlite")
    assert first.exit_code == 0, first.output
    assert "Resuming" not in first.stderr
    again = run(*asked, "--results", "r.sqlite")
    assert "Resuming: 10 of 10 fits stored in r.sqlite." in again.stderr
    other = run(*asked, "--results", "r.sqlite", "--seed", 1)
    assert "Resuming: 3 of 10 fits stored in r.sqlite." in other.stderr
    assert plain.stdout == first.stdout == again.stdout != other.stdout
    table.write_text(table.read_text(encoding="utf-8").replace("ill", "bad", 1), encoding="utf-8")
    assert "Resuming" not in run(*asked, "--results", "r.sqlite").stderr
    text = run(*asked, "--results", table)
    assert text.exit_code == 2
    assert "--results" in text.stderr
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    text = run(*asked, "--results", "notes.txt")
    assert (text.exit_code, text.stdout) == (1, "")
    assert "notes.txt is not a results file" in text.stderr


def test_the_method_of_a_model_file_is_audited(run, table):
    made = run("fit", table, "--target", "outcome", "--drop", "site", "-m", "logistic",
               "-o", "m.skops", "--jobs", 1)  # fmt: skip
    assert made.exit_code == 0
    result = run("audit", "m.skops", table, "--source", "site", "--jobs", 1)
    assert result.exit_code == 0
    assert "the method of m.skops, 3 sources" in result.output
    both = run("audit", "m.skops", table, "--source", "site", "-m", "logistic")
    assert both.exit_code == 1
    assert "Name a model file or --method, not both" in both.output
    assert run("audit", table, table, "--source", "site").exit_code == 2


def test_audit_over_time(run, tmp_path):
    rng = np.random.default_rng(0)
    lines = ["age,seen,outcome"]
    for number in range(200):
        age = rng.normal(60, 10)
        ill = (age - 60) / 10 + rng.logistic() / 2 > 0
        day = np.datetime64("2015-01-01") + 10 * number
        lines.append(f"{age:.1f},{day},{'ill' if ill else 'well'}")
    (tmp_path / "seen.csv").write_text("\n".join(lines), encoding="utf-8")
    result = run("audit", "seen.csv", "-t", "outcome", "--time", "seen", "-m", "logistic",
                 "--jobs", 1)  # fmt: skip
    assert result.exit_code == 0
    assert "Expected AUC in the next period: 0." in result.output
    assert "2017" in result.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--source", "place"], "There is no column 'place'"),
        (["--source", "outcome"], "cannot be both target and source"),
        (["--source", "age"], "most have one row"),
        (["--source", "site", "-m", "svm"], "gives no probabilities"),
        (["--source", "site", "-m", "logistic", "--time", "when"], "There is no column 'when'"),
        (["-m", "logistic"], "name the column by --source or --time"),
        (["--source", "site", "-m", "logistic", "--threshold", "2"], "expected risks between"),
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
