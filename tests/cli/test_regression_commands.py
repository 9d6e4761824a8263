"""Regression: compare, fit, predict, explain, run, and what is refused."""

import json

import pytest

from studies.homes import write_homes

SOME = ["-m", "mean", "-m", "ridge", "--folds", 2, "-j", 1]


@pytest.fixture
def homes(tmp_path):
    return write_homes(tmp_path / "homes.csv", 80)


@pytest.fixture
def model(run, homes):
    done = run("fit", homes, "-t", "price", "--drop", "id", "-m", "ridge", "--folds", 2, "-j", 1,
               "-o", "m.skops")  # fmt: skip
    assert done.exit_code == 0, done.output
    return "m.skops"


def test_compare_shows_the_task_and_its_reason(run, homes):
    done = run("compare", homes, "-t", "price", "--drop", "id", *SOME)
    assert done.exit_code == 0
    assert "78 rows, 5 columns, regression; 2 folds" in done.output
    assert "'price' has 78 distinct numeric values: treated as regression" in done.output
    assert "use --task classification for classes." in " ".join(done.output.split())
    assert "Recommended: ridge regression (RMSE " in done.output
    assert "Removed the sign '$' from the values of column 'price'." in done.output


def test_compare_writes_a_table_a_report_and_a_document(run, homes, tmp_path):
    done = run("compare", homes, "-t", "price", "--drop", "id", "--source", "site", *SOME,
               "-o", "t.csv", "--report", "r.html", "--json")  # fmt: skip
    document = json.loads(done.stdout)
    assert (document["task"], document["measure"]) == ("regression", "rmse")
    assert document["data"]["task_reason"].startswith("'price' has")
    assert len(document["residuals"]["sources"]) == 4
    head = (tmp_path / "t.csv").read_text(encoding="utf-8").partition("\n")[0].split(",")
    assert "rmse" in head
    assert "accuracy" not in head
    assert "Residuals by source" in (tmp_path / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("asked", [["fit", "-m", "ridge"], ["compare", *SOME]])
def test_a_source_that_is_not_used_is_named(run, homes, asked):
    command, *options = asked
    place = ["-o", "s.skops"] if command == "fit" else []
    done = run(command, homes, "-t", "price", "--drop", "id", "--source", "site", "--folds", 2,
               "-j", 1, *options, *place)  # fmt: skip
    assert done.exit_code == 0, done.output
    noted = " ".join(done.stderr.split())
    assert "4 sources, used by no method here, and not a feature:" in noted
    assert (
        "of the methods for regression, strata-sources, partial-pooling and auto use the source."
    ) in noted
    assert "Without --source, the source is a feature like any other." in noted


@pytest.mark.parametrize("measure", ["mae", "r2"])
def test_another_measure_can_decide(run, homes, measure):
    done = run(
        "compare", homes, "-t", "price", "--drop", "id", *SOME, "--measure", measure, "--json"
    )
    assert json.loads(done.stdout)["choice"]["measure"] == measure


def test_fit_shows_the_rmse_of_the_mean(run, homes):
    done = run("fit", homes, "-t", "price", "--drop", "id", "-m", "ridge", "--folds", 2, "-j", 1,
               "-o", "m.skops", "--json")  # fmt: skip
    document = json.loads(done.stdout)
    assert (document["task"], document["classes"], document["accuracy"]) == ("regression", {}, None)
    assert document["rmse"] < document["target_std"]
    again = run("fit", homes, "-t", "price", "--drop", "id", "-m", "mean", "--folds", 2, "-j", 1,
                "-o", "n.skops")  # fmt: skip
    assert "target 'price' (regression)" in again.output
    assert "mean: RMSE " in again.output
    assert "(2-fold CV; predicting the mean " in again.output


def test_predict_writes_values(run, homes, model):
    done = run("predict", model, homes, "--keep", "id")
    lines = done.stdout.splitlines()
    assert lines[0] == "id,prediction"
    assert len(lines) == 81
    assert float(lines[1].partition(",")[2]) > 1000
    assert "The target 'price' was not used; RMSE " in done.output
    assert "probabilities" not in done.output
    document = json.loads(run("predict", model, homes, "--json").stdout)
    assert isinstance(document["predictions"][0], float)
    assert (document["classes"], document["std"], document["intervals"]) == ([], None, None)


def test_predict_ignores_an_unreadable_target(run, model, tmp_path):
    lines = (tmp_path / "homes.csv").read_text(encoding="utf-8").splitlines()
    (tmp_path / "new.csv").write_text("\n".join([lines[0], "H1,90,3,flat,2020-01-01,hill,soon"]))
    done = run("predict", model, "new.csv")
    assert done.exit_code == 0
    assert "The target 'price' was not used." in done.output


def test_contributions_add_up_to_the_prediction(run, homes, model):
    document = json.loads(run("explain", model, homes, "--row", 3, "--json").stdout)
    decision = document["decision"]
    amounts = sum(each["contribution"] for each in decision["contributions"])
    assert decision["value"] == pytest.approx(decision["baseline"] + amounts)
    assert float(document["prediction"]) == pytest.approx(decision["value"], rel=1e-4)
    done = run("explain", model, homes, "--row", 3)
    assert "unit of the target" in done.output
    page = run("explain", model, homes, "--row", 3, "--report", "e.html")
    assert page.exit_code == 0


def test_permutation_importance_of_boosting(run, homes, tmp_path):
    run("fit", homes, "-t", "price", "--drop", "id", "-m", "boosting", "--folds", 2, "-j", 1,
        "-o", "b.skops")  # fmt: skip
    lines = (tmp_path / "homes.csv").read_text(encoding="utf-8").splitlines()
    whole = [line for line in lines if not line.endswith("n/a")]
    (tmp_path / "known.csv").write_text("\n".join(whole), encoding="utf-8")
    done = run("explain", "b.skops", "known.csv")
    assert "increase of RMSE" in done.output
    assert run("explain", "b.skops", "known.csv", "-o", "e.html").exit_code == 0
    assert "give rows with their target" in run("explain", "b.skops").output


def test_a_regression_study(run, homes, tmp_path):
    (tmp_path / "study.toml").write_text(
        'folds = 2\n[[datasets]]\nname = "diabetes"\n[[datasets]]\nfile = "homes.csv"\n'
        'target = "price"\ndrop = ["id"]\n[[methods]]\nname = "mean"\n[[methods]]\nname = "ridge"\n'
        'params = { alpha = [1.0, 10.0] }\n',
        encoding="utf-8",
    )  # fmt: skip
    done = run("run", "study.toml", "-j", 1, "--report", "s.html", "--json")
    assert done.exit_code == 0, done.output
    (table,) = json.loads(done.stdout)["tables"]
    assert (table["measure"], table["greater_is_better"]) == ("RMSE", False)
    assert len(table["rows"]) == 6
    assert ">target</th>" in (tmp_path / "s.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('datasets = [{name = "iris"}, {name = "diabetes"}]\nmethods = [{name = "forest"}]',
         "all datasets of a study must have the same task"),
        ('[[datasets]]\nname = "diabetes"\n[[methods]]\nname = "logistic"',
         "for regression, name is 'logistic'"),
        ('measure = "auc"\n[[datasets]]\nname = "diabetes"\n[[methods]]\nname = "ridge"',
         "measure is 'auc'"),
        ('[[datasets]]\nname = "diabetes"\ntask = "regression"\n[[methods]]\nname = "ridge"',
         "task is only for a file"),
    ],
)  # fmt: skip
def test_an_invalid_study_is_refused(run, tmp_path, text, problem):
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    done = run("run", "study.toml", "-j", 1)
    assert done.exit_code == 2
    assert problem in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["compare", "homes.csv", "-t", "price", "--task", "classification", "--drop", "id"],
         "--folds=5 is too large, as no class has that many rows: use at most 2 folds"),
        (["compare", "homes.csv", "-t", "kind", "--task", "regression"],
         "contains 'loft', which is not a finite number, and --task is regression"),
        (["compare", "homes.csv", "-t", "price", "-m", "logistic"], "'logistic' is for class"),
        (["compare", "homes.csv", "-t", "price", "--measure", "auc"], "is not for regression"),
        (["audit", "homes.csv", "-t", "price", "--source", "site", "--threshold", ".5"],
         "is for classes, and the target is numeric: leave it out"),
    ],
)  # fmt: skip
def test_invalid_options_end_in_one_sentence(run, homes, arguments, problem):
    done = run(*arguments)
    assert done.exit_code in {1, 2}
    assert problem in done.output
    assert done.stderr.count("Error:") == 1


def test_labels_that_are_numbers_stay_classes(run, tmp_path):
    rows = "\n".join(f"{i % 7},{i % 3},{'012'[i % 3]}" for i in range(60))
    (tmp_path / "c.csv").write_text(f"a,b,label\n{rows}\n", encoding="utf-8")
    done = run("compare", "c.csv", "-t", "label", "-m", "majority", "--folds", 2, "-j", 1)
    assert "60 rows, 2 columns, 3 classes" in done.output
    expected = "treated as classification; use --task regression for a numeric target."
    assert f"'label' has 3 distinct numeric values: {expected}" in " ".join(done.output.split())
