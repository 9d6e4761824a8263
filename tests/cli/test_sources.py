"""Sources on the command line: fit, predict and explain, one level and nested, and bad input."""

import json
from dataclasses import replace

import numpy as np
import pytest

from ensemblage.pool import EnsemblageClassifier, EnsemblageRegressor
from ensemblage.studies import METHODS

HOSPITALS = ["Aarau", "Basel", "Bern", "Chur", "Davos", "Genf", "Sion", "Zug"]
FIT = ["--folds", 2, "-j", 1, "-o", "m.skops"]


@pytest.fixture
def hospitals(tmp_path):
    """A file of eight hospitals and their wards, with missing values, a class and a number."""
    rng = np.random.default_rng(0)
    hospital, ward = np.arange(240) % 8, np.arange(240) // 8 % 2
    age, drug = rng.normal(60, 10, 240), rng.integers(0, 3, 240)
    line = 0.1 * (age - 60) + 2 * rng.normal(size=8)[hospital]
    line += 1.5 * rng.normal(size=(8, 2))[hospital, ward]
    cost = 1000 + 100 * (line + 0.5 * rng.normal(size=240))
    ill = np.where(line + rng.logistic(size=240) > 0, "yes", "no")
    columns = [
        [HOSPITALS[h] for h in hospital], [f"W{w}" for w in ward],
        [f"{each:.0f}" if i % 9 else "" for i, each in enumerate(age)],
        ["ABC"[d] for d in drug], ill, [f"{each:.1f}" for each in cost],
    ]  # fmt: skip
    lines = ["hospital,ward,age,drug,ill,cost", *(",".join(row) for row in zip(*columns))]  # noqa: B905
    path = tmp_path / "hospitals.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def small_pool(monkeypatch):
    """A pool of one member in place of the default ones."""
    made = {
        "classifier": lambda seed, n_jobs: EnsemblageClassifier(
            ["logistic"], random_state=seed, n_jobs=n_jobs
        ),
        "regressor": lambda seed, n_jobs: EnsemblageRegressor(
            ["ridge"], random_state=seed, n_jobs=n_jobs
        ),
    }
    monkeypatch.setitem(METHODS, "auto", replace(METHODS["auto"], **made))


def noted(done):
    return " ".join(done.stderr.split())


NEW = "hospital,age,drug\nBern,61,A\nThun,70,B\nThun,71,B\n,52,C\n"


def test_the_default_method_uses_the_source_of_a_numeric_target(run, hospitals, small_pool):
    asked = [hospitals, "-t", "cost", "--drop", "ward", "--drop", "ill", *FIT]
    done = run("fit", *asked, "--source", "hospital", "--json")
    assert done.exit_code == 0, done.output
    assert "8 sources, used by pool. The scores are for known sources" in noted(done)
    facts = json.loads(done.stdout)
    assert facts["learned"][1].startswith("known source (one of 8): out-of-fold log loss")
    blind = json.loads(run("fit", *asked[:-1], "n.skops", "--drop", "hospital", "--json").stdout)
    assert facts["rmse"] < 0.8 * blind["rmse"]
    told = run("predict", "m.skops", "-", "--json", stdin=NEW)
    document = json.loads(told.stdout)
    assert document["unknown_sources"] == {
        "rows": 3, "sources": {"Thun": 2}, "missing": 1, "inner_rows": 0, "inner_sources": {},
        "absent_columns": [],
    }  # fmt: skip
    assert len(document["intervals"]) == 4
    assert (
        "3 of 4 rows are of 2 unknown sources in column 'hospital', and predicted without the "
        "source: 'Thun' (2 rows), missing (1 row)."
    ) in noted(told)
    assert "`ensemblage adapt MODEL DATA` adapts the model to it." in noted(told)
    without = run("predict", "m.skops", "-", stdin="age,drug\n60,A\n")
    assert "There is no column 'hospital': all rows are predicted as of an unknown source." in (
        noted(without)
    )
    assert "ensemblage adapt" in noted(without)
    plain = run("predict", "n.skops", "-", "--json", stdin="age,drug\n60,A\n")
    assert json.loads(plain.stdout)["unknown_sources"] is None


def test_more_than_five_unknown_sources_are_counted(run, hospitals):
    run("fit", hospitals, "-t", "ill", "--drop", "ward", "--drop", "cost", "--source", "hospital",
        "-m", "partial-pooling", *FIT)  # fmt: skip
    rows = "".join(f"X{i},60,A\n" * (8 - i) for i in range(7))
    told = run("predict", "m.skops", "-", stdin=f"hospital,age,drug\n{rows}")
    assert "35 of 35 rows are of 7 unknown sources" in noted(told)
    assert "'X0' (8 rows), 'X1' (7 rows), 'X2' (6 rows), 'X3' (5 rows), 'X4' (4 rows) and 2" in (
        noted(told)
    )


def test_nested_sources(run, hospitals, small_pool):
    done = run("fit", hospitals, "-t", "ill", "--drop", "cost", "--source", "hospital",
               "--source", "ward", *FIT)  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "8 outer sources with 16 inner sources, used by pool." in noted(done)
    text = "Inner sources are not unique: 'W0' occurs in 8 of the outer sources"
    assert noted(done).count(text) == 1
    new = "hospital,ward,age,drug\nBern,W1,61,A\nBern,W7,70,B\nBern,,70,B\nThun,W1,71,B\n"
    told = run("predict", "m.skops", "-", "--json", stdin=new)
    found = json.loads(told.stdout)
    assert found["unknown_sources"]["sources"] == {"Thun": 1}
    assert found["unknown_sources"]["inner_sources"] == {"Bern / W7": 1, "Bern / missing": 1}
    # both unknown wards are predicted as of the hospital
    assert found["probabilities"][1] == pytest.approx(found["probabilities"][2], rel=1e-12)
    assert "2 of 4 rows are of a known 'hospital', but an unknown 'ward'" in noted(told)
    page = run("explain", "m.skops", "--report", "e.html", "--json")
    sources = json.loads(page.stdout)["sources"]
    assert [each["source"] for each in sources["scores"]][7:9] == ["Zug", "Aarau / W0"]
    row = run("explain", "m.skops", "-", "--row", 0, "--json", stdin=new)
    assert json.loads(row.stdout)["source"] == "Bern / W1"
    row = run("explain", "m.skops", "-", "--row", 1, "--json", stdin=new)
    assert json.loads(row.stdout)["source"] == "Bern"


def test_partial_pooling_is_a_method(run, hospitals):
    for target, other, kind in (("ill", "cost", "logistic"), ("cost", "ill", "linear")):
        done = run("fit", hospitals, "-t", target, "--drop", other, "--source", "hospital",
                   "--source", "ward", "-m", "partial-pooling", *FIT)  # fmt: skip
        assert done.exit_code == 0, done.output
        assert "the 95 % interval excludes zero for " in done.stdout
        shown = run("explain", "m.skops", "--report", "p.html")
        assert f"Partial pooling: {kind} regression on 5 features with" in shown.stdout
        assert "intercept of an inner source" in shown.stdout
        row = json.loads(run("explain", "m.skops", hospitals, "--row", 2, "--json").stdout)
        assert row["source"] == "Bern / W0"
        total = sum(each["contribution"] for each in row["decision"]["contributions"])
        assert row["decision"]["value"] == pytest.approx(row["decision"]["baseline"] + total)
    assert float(row["prediction"]) == pytest.approx(row["decision"]["value"], rel=1e-5)
    alone = run("fit", hospitals, "-t", "ill", "-m", "partial-pooling", *FIT)
    assert "'partial-pooling' needs the source of each row: name its column by --source." in (
        noted(alone)
    )


def test_compare_and_audit_of_nested_sources(run, hospitals):
    nested = ["--source", "hospital", "--source", "ward", "--drop", "cost", "-j", 1]
    done = run("compare", hospitals, "-t", "ill", *nested, "--folds", 2, "-m", "majority",
               "-m", "strata-sources", "-m", "partial-pooling", "--report", "c.html")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "Only the outer sources are used by strata of sources." in noted(done)
    audited = run("audit", hospitals, "-t", "ill", *nested, "-m", "logistic", "--folds", 2,
                  "--no-learning-curve")  # fmt: skip
    assert audited.exit_code == 0, audited.output
    assert "logistic regression, 8 sources" in audited.output
    assert "The outer sources are left out, each with all of its inner ones;" in noted(audited)
    refused = run("audit", hospitals, "-t", "ill", *nested, "-m", "partial-pooling")
    assert "'partial-pooling' needs the source of each row, which an audit leaves out" in (
        noted(refused)
    )


def test_a_method_of_one_level_ignores_the_inner_source(run, hospitals):
    done = run("fit", hospitals, "-t", "ill", "--drop", "cost", "--source", "hospital",
               "--source", "ward", "-m", "strata-sources", *FIT)  # fmt: skip
    assert "Only the outer sources are used by strata of sources." in noted(done)
    told = run("predict", "m.skops", hospitals)
    assert told.exit_code == 0, told.output
    assert "Columns ignored, as in training: 'cost', 'ward'." in noted(told)
    assert "unknown" not in noted(told)


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        (["--source", "hospitl"], "There is no column 'hospitl'. Did you mean 'hospital'?"),
        (["--source", "ill"], "'ill' cannot be both target and source"),
        (["--source", "age"], "The source column 'age' has 27 missing values: assign these rows"),
        (["--source", "hospital", "--source", "hospital"], "'hospital' is given twice"),
        (["--source", "hospital", "--source", "ward", "--source", "drug"],
         "3 source columns are given ('hospital', 'ward', 'drug'): give one, or two"),
        (["--source", "unit", "--source", "hospital"], "is given in the wrong order"),
        (["--source", "hospital", "--drop", "hospital"], "both the source and dropped: leave it"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["fit", "compare"])
def test_bad_sources_end_in_one_sentence(run, hospitals, command, asked, problem):
    head, *lines = hospitals.read_text(encoding="utf-8").splitlines()
    # units are nested in hospitals
    units = [f"{line},{line.split(',')[0]} {line.split(',')[1]}" for line in lines]
    hospitals.write_text("\n".join([f"{head},unit", *units]) + "\n", encoding="utf-8")
    options = FIT if command == "fit" else ["--folds", 2, "-j", 1]
    done = run(command, hospitals, "-t", "ill", "-m", "partial-pooling", *options, *asked)
    assert done.exit_code == 1
    assert problem in noted(done)
    assert done.stderr.count("Error:") == 1


def test_doubtful_sources_are_noted(run, hospitals):
    lines = hospitals.read_text(encoding="utf-8").splitlines()
    rare = ["7,W0,60,A,yes,1.0", *["8,W0,60,A,yes,1.0"] * 3]
    codes = [line.replace(name, str(k)) for line in lines[1:]
             for k, name in enumerate(HOSPITALS[:6]) if line.startswith(name)]  # fmt: skip
    hospitals.write_text("\n".join([lines[0], *codes, *rare]) + "\n", encoding="utf-8")
    done = run("fit", hospitals, "-t", "ill", "--source", "hospital", "--drop", "ward",
               "-m", "partial-pooling", *FIT)  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "Sources with one row: 1 of 8 ('7')." in noted(done)
    assert "Sources with one class only: 1 of 8 ('8')." in noted(done)
    assert "The sources are numbers: each of the 8 is used as a name." in noted(done)
    told = run("predict", "m.skops", "-", stdin="hospital,age,drug,cost\n1.0,60,A,5\n")
    assert "unknown" not in noted(told)
