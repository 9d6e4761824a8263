"""``ensemblage adapt`` and ``ensemblage recalibrate`` on real files."""

import csv
import json
from functools import cache

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

from ensemblage.cli import app
from ensemblage.persistence import load, save


def hospitals(seed, names, n_rows, shift=0.0, *, label=True):
    rng = np.random.default_rng(seed)
    lines = ["age,job,hospital" + (",state,stay" if label else "")]
    for name in names:
        for _ in range(n_rows):
            age, job = rng.normal(50, 10), rng.choice(["cook", "smith"])
            risk = (age - 50) / 5 + (job == "cook") + shift + rng.logistic()
            stay = age / 10 + 3 * shift + rng.normal()
            own = f",{'ill' if risk > 0 else 'well'},{stay:.3f}" if label else ""
            lines.append(f"{age:.2f},{job},{name}{own}")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="session")
def fit_hospitals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hospitals")
    rows = folder / "train.csv"
    rows.write_text(hospitals(0, ["Bern", "Basel", "Genf"], 60), encoding="utf-8")

    @cache
    def fitted(target, method):
        path, other = folder / "m.skops", {"state": "stay", "stay": "state"}[target]
        asked = ["fit", rows, "-t", target, "--drop", other, "--drop", "hospital", "-m", method,
                 "-o", path, "-j", 1, "--folds", 2, "--force"]  # fmt: skip
        assert CliRunner().invoke(app, [str(each) for each in asked]).exit_code == 0
        return path.read_bytes()

    return fitted


@pytest.fixture
def files(run, fit_hospitals, tmp_path):
    """A model of three hospitals, their rows, and those of a fourth with and without labels."""
    (tmp_path / "m.skops").write_bytes(fit_hospitals("state", "logistic"))
    (tmp_path / "stay.skops").write_bytes(fit_hospitals("stay", "ridge"))
    train = hospitals(0, ["Bern", "Basel", "Genf"], 60)
    (tmp_path / "train.csv").write_text(train, encoding="utf-8")
    (tmp_path / "site.csv").write_text(hospitals(1, ["Chur"], 60, 3.0), encoding="utf-8")
    (tmp_path / "rows.csv").write_text(
        hospitals(2, ["Chur"], 50, 3.0, label=False), encoding="utf-8"
    )
    return tmp_path


def risks(run, model):
    result = run("predict", model, "rows.csv")
    assert result.exit_code == 0
    return [float(row["probability_ill"]) for row in csv.DictReader(result.stdout.splitlines())]


@pytest.mark.parametrize(
    "asked",
    [["adapt", "--train", "train.csv"], ["adapt"], ["recalibrate"]],
    ids=["refit", "adapt", "recalibrate"],
)
def test_a_model_is_adapted(run, files, asked):
    command, *options = asked
    result = run(command, "m.skops", "site.csv", "-o", "new.skops", *options)
    assert result.exit_code == 0
    assert result.stdout.startswith("60 labelled rows")
    assert "Saved to new.skops." in result.stderr
    assert np.mean(risks(run, "new.skops")) > np.mean(risks(run, "m.skops")) + 0.1
    old, new = load(files / "m.skops"), load(files / "new.skops")
    assert (old.columns, old.kinds, old.target) == (new.columns, new.kinds, new.target)
    assert old.training_ranges == new.training_ranges
    adapted = new.details["adapted"]
    assert (adapted["rows"], adapted["file"]) == (60, "site.csv")
    assert adapted["time"].endswith("+00:00")
    assert {**new.details, "adapted": None} == {**old.details, "adapted": None}


@pytest.mark.parametrize("command", ["adapt", "recalibrate"])
def test_adapted_models_are_explained(run, files, command):
    run(command, "m.skops", "site.csv", "-o", "new.skops")
    whole = run("explain", "new.skops")
    assert whole.stdout.startswith("This model was adapted to a source; what follows describes")
    assert "Logistic regression" in whole.stdout
    row = run("explain", "new.skops", "site.csv", "--row", 0, "--report", "row.html")
    assert "This model was adapted to a source" in row.stdout
    assert "Row 0: predicted" in row.stdout
    predicted = next(csv.DictReader(run("predict", "new.skops", "site.csv").stdout.splitlines()))
    found = float(predicted["probability_ill"])
    whole = f"the adapted model predicts ill (ill {found:.3f}, well {1 - found:.3f})."
    assert row.stdout.startswith(f"Row 0: {whole}")
    assert (files / "row.html").read_text(encoding="utf-8").count("was adapted to a source") == 1


def test_numbers(run, files):
    result = run("adapt", "stay.skops", "site.csv", "-o", "new.skops", "--train", "train.csv")
    assert result.exit_code == 0
    assert "predictions are shifted by " in result.stdout
    assert "with a weight; the mean of both is used." in result.stdout
    assert "An adapted model gives no prediction intervals." in result.stderr
    old, new = (
        run("predict", name, "rows.csv").stdout.splitlines()[1:]
        for name in ("stay.skops", "new.skops")
    )
    means = [np.mean([float(line.split(",")[0]) for line in each]) for each in (old, new)]
    assert means[1] > means[0] + 8
    light = run("recalibrate", "stay.skops", "site.csv", "-o", "light.skops")
    assert light.exit_code == 0
    assert run("explain", "new.skops").exit_code == 0


def test_without_labels(run, files):
    given = ["rows.csv", "-o", "new.skops", "--train", "train.csv", "--source", "hospital"]
    result = run("adapt", "m.skops", *given)
    assert result.exit_code == 0
    assert "leaving sources out (3 sources), the log loss is" in result.stdout
    assert len(risks(run, "new.skops")) == 50


def test_json(run, files):
    result = run("adapt", "m.skops", "site.csv", "-o", "new.skops", "--json")
    found = json.loads(result.stdout)
    assert found["rows"] == sum(found["classes"].values()) == 60
    assert found["ways"] == ["recalibration"]
    assert found["intercepts"]["ill"] > 0
    assert found["model"] == "new.skops"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["adapt", "m.skops", "rows.csv"], "rows.csv has no column 'state', the target."),
        (["adapt", "m.skops", "site.csv", "-t", "stat"], "Did you mean 'state'?"),
        (["adapt", "m.skops", "site.csv", "-t", "age"], "is one of the model's columns"),
        (
            ["adapt", "m.skops", "new.csv"],
            "'dead' in 'state', and the model knows only the classes",
        ),
        (
            ["adapt", "stay.skops", "text.csv"],
            "text.csv holds 'long' in 'stay', which is no number",
        ),
        (["adapt", "m.skops", "rows.csv", "--train", "train.csv"], "name their column by --source"),
        (["adapt", "m.skops", "gap.csv"], "no value of 'state' in 1 of 2 rows"),
        (["adapt", "m.skops", "odd.csv"], "are missing: job"),
        (["adapt", "m.skops", "site.csv", "--source", "hospital"], "give --train too"),
        (
            ["adapt", "m.skops", "site.csv", "--train", "train.csv", "--source", "ward"],
            "train.csv has no column 'ward' with the sources",
        ),
        (["recalibrate", "m.skops", "rows.csv"], "has no column 'state'"),
    ],
)
def test_bad_input(run, files, asked, message):
    (files / "new.csv").write_text("age,job,state\n50,cook,ill\n60,smith,dead\n")
    (files / "gap.csv").write_text("age,job,state\n50,cook,ill\n60,smith,\n")
    (files / "odd.csv").write_text("age,state\n50,ill\n60,well\n")
    (files / "text.csv").write_text("age,job,stay\n50,cook,8.3\n60,smith,long\n")
    result = run(*asked, "-o", "new.skops")
    assert result.exit_code != 0
    assert message in " ".join(result.stderr.replace("│", " ").split())
    assert not (files / "new.skops").exists()


def test_several_sources_are_noted(run, files):
    (files / "site.csv").write_text(hospitals(1, ["Chur", "Zug"], 20, 3.0), encoding="utf-8")
    given = ["site.csv", "-o", "new.skops", "--train", "train.csv", "--source", "hospital"]
    result = run("adapt", "m.skops", *given)
    assert result.exit_code == 0
    assert "rows of 2 sources (Chur, Zug), counted as one." in " ".join(result.stderr.split())


def test_rows_of_other_sources_are_noted(run, files):
    fit = ["fit", "train.csv", "-t", "state", "--drop", "stay", "--source", "hospital"]
    run(*fit, "-m", "partial-pooling", "-o", "pooled.skops", "-j", 1, "--folds", 2)
    run("adapt", "pooled.skops", "site.csv", "-o", "new.skops")
    own, others = (
        " ".join(run("predict", "new.skops", name, "-o", "p.csv", "--force").stderr.split())
        for name in ("rows.csv", "train.csv")
    )
    assert "hospital" not in own
    assert (
        "The model was adapted to 'Chur' in column 'hospital', but 180 of 180 rows are of other "
        "sources, and predicted as if of that one: 'Bern' (60 rows), 'Basel' (60 rows), 'Genf'"
    ) in others
    assert "ignored, as in training: 'stay'" in others
    assert load(files / "new.skops").ignored == ("stay", "hospital")


def test_a_known_source_counts_as_new(run, files):
    fit = ["fit", "train.csv", "-t", "state", "--drop", "stay", "--source", "hospital"]
    run(*fit, "-m", "partial-pooling", "-o", "pooled.skops", "-j", 1, "--folds", 2)
    lines = (files / "train.csv").read_text(encoding="utf-8").splitlines()[:30]
    missing = lines[-1].replace("Bern", "")
    (files / "bern.csv").write_text("\n".join([*lines, missing]) + "\n", encoding="utf-8")
    (files / "part.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    result = run("adapt", "pooled.skops", "bern.csv", "-o", "new.skops", "--train", "part.csv")
    noted = " ".join(result.stderr.split())
    assert "The model knows 'Bern' from training, but these rows count as of a new source." in noted
    assert "part.csv has 29 rows, but the model was fitted on 180." in noted
    assert "counted as one" not in noted


def test_an_adapted_model_is_not_fitted_again(run, files):
    run("adapt", "m.skops", "site.csv", "-o", "new.skops")
    again = run("adapt", "new.skops", "site.csv", "-o", "two.skops", "--train", "train.csv")
    assert again.exit_code == 1
    assert "recalibrate this one by leaving --train out." in " ".join(again.stderr.split())
    assert run("adapt", "new.skops", "site.csv", "-o", "two.skops").exit_code == 0


def test_classes_that_are_numbers(run, files):
    rows = np.random.default_rng(0).normal(size=(100, 1))
    model = LogisticRegression().fit(rows, (rows[:, 0] > 0).astype(int))
    save(model, files / "own.skops", columns=["size"], kinds=["numeric"], target="big")
    lines = [f"{size:.3f},{int(size > -1)}" for size in rows[:, 0]]
    (files / "sizes.csv").write_text("\n".join(["size,big", *lines]) + "\n")
    result = run("adapt", "own.skops", "sizes.csv", "-o", "new.skops", "--json")
    n_big = int((rows > -1).sum())
    assert json.loads(result.stdout)["classes"] == {"0": 100 - n_big, "1": n_big}


def test_an_adapted_model_is_not_audited(run, files):
    run("adapt", "m.skops", "site.csv", "-o", "new.skops")
    given = ["train.csv", "-t", "state", "--source", "hospital"]
    result = run("audit", "new.skops", *given)
    assert result.exit_code == 1
    assert "adapted to one source: audit the model before that" in " ".join(result.stderr.split())


@pytest.mark.slow
def test_a_source_aware_pool(run, files):
    fit = ["fit", "train.csv", "-t", "state", "--drop", "stay", "--source", "hospital"]
    assert run(*fit, "-o", "pool.skops", "-j", 1).exit_code == 0
    new = run("predict", "pool.skops", "rows.csv", "-o", "p.csv")
    assert "`ensemblage adapt MODEL DATA` adapts the model to it" in " ".join(new.stderr.split())
    given = ["site.csv", "-o", "new.skops", "--train", "train.csv"]
    result = run("adapt", "pool.skops", *given)
    assert result.exit_code == 0
    assert np.mean(risks(run, "new.skops")) > np.mean(risks(run, "pool.skops")) + 0.1
    assert run("explain", "new.skops").exit_code == 0
