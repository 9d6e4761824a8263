"""The real commands on real files, as a user would run them."""

import csv
import json
import subprocess
import zipfile

import pytest
from skops import io as skops_io
from typer.testing import CliRunner

from ensemblage import __version__
from ensemblage.cli import app
from ensemblage.cli._options import METHOD_NAMES
from ensemblage.methods import METHODS


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in an empty folder; whatever happens, no traceback."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ENSEMBLAGE_DATA", raising=False)

    def call(*arguments, stdin=None):
        result = CliRunner().invoke(app, [str(each) for each in arguments], input=stdin)
        assert result.exception is None or isinstance(result.exception, SystemExit)
        assert "Traceback" not in result.output
        return result

    return call


def read_csv(path):
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


@pytest.fixture
def model(run, table_file, tmp_path):
    result = run("fit", table_file, "-t", "class", "-m", "logistic", "-o", "m.skops", "-j", 1)
    assert result.exit_code == 0
    return tmp_path / "m.skops"


def test_version_and_help(run):
    assert run("--version").stdout == f"ensemblage {__version__}\n"
    assert run("--help").exit_code == 0
    assert ", ".join(METHODS) == METHOD_NAMES


def test_compare_shows_a_table_and_writes_it(run, table_file, tmp_path):
    names = ["majority", "logistic", "forest"]
    chosen = [part for name in names for part in ("-m", name)]
    result = run(
        "compare", table_file, "--target", "class", *chosen, "--folds", 3, "-j", 1,
        "--output", "table.csv",
    )  # fmt: skip
    assert result.exit_code == 0
    assert "people.csv: 40 rows, 3 columns, 2 classes; 3 folds, seed 0" in result.stdout
    assert "logistic regression" in result.stdout
    assert "Choose " in result.stdout.splitlines()[-1]
    assert "Written to table.csv." in result.stderr
    rows = read_csv(tmp_path / "table.csv")
    assert {row["method"] for row in rows} == set(names)
    assert all(0 <= float(row["accuracy"]) <= 1 for row in rows)


def test_compare_quickly_takes_three_folds_and_says_what_was_left_out(run, tmp_path):
    rows = [f"{i % 13},{i % 7},{'ab'[i % 3 > 0]}" for i in range(3200)]
    (tmp_path / "many.csv").write_text("\n".join(["x,z,y", *rows]), encoding="utf-8")
    result = run("compare", "many.csv", "-t", "y", "--quick", "-m", "strata-paper", "-j", 1)
    assert result.exit_code == 0
    assert "3 folds" in result.stdout
    assert "learned from 2000 of 2134 training rows" in " ".join(result.stderr.split())


def test_compare_without_data_uses_a_bundled_dataset(run):
    result = run("compare", "-m", "majority", "-j", 1)
    assert result.exit_code == 0
    assert "bundled dataset 'breast-cancer'" in result.stderr


def test_compare_marks_our_methods(run):
    result = run("compare", "iris", "-m", "strata", "-m", "majority", "--folds", 2, "-j", 1)
    assert "strata ensemble *" in result.stdout
    assert "* a method of this library" in result.stdout


def test_compare_json_is_all_of_standard_output(run, table_file):
    result = run("compare", table_file, "-t", "class", "-m", "svm", "--json", "-j", 1)
    facts = json.loads(result.stdout)
    assert facts["summary"][0]["method"] == "svm"
    assert facts["summary"][0]["log_loss"] is None
    assert len(facts["methods"][0]["accuracy"]) == 5


def test_compare_reads_standard_input(run, table_file):
    result = run(
        "compare", "-", "-t", "class", "-m", "majority", "-j", 1, stdin=table_file.read_text()
    )
    assert result.exit_code == 0
    assert "standard input: 40 rows" in result.stdout


def test_compare_uses_a_folder(run, table_file):
    result = run("compare", "people", "--data-dir", table_file.parent, "-m", "majority", "-j", 1)
    assert result.exit_code == 0


def test_compare_says_what_is_odd_about_the_rows(run, tmp_path):
    rows = [f"{i},{i % 5},{'ab'[i % 2]}" for i in range(30)] + ["31,1,c", "32,2,"]
    (tmp_path / "odd.csv").write_text("\n".join(["row,x,y", *rows]), encoding="utf-8")
    result = run("compare", "odd.csv", "-t", "y", "-m", "majority", "-j", 1)
    assert result.exit_code == 0
    assert "Note: Rows without a value of 'y', left out: 1." in result.stderr
    assert "Note: Class 'c' has 1 row, fewer than the 5 folds" in result.stderr
    clean = run("compare", "odd.csv", "-t", "y", "--drop", "row", "-m", "majority", "-j", 1)
    assert "31 rows, 1 column, 3 classes" in clean.stdout


def test_fit_says_what_was_learned(run, table_file):
    result = run("fit", table_file, "-t", "class", "-o", "s.skops", "-j", 1, "--folds", 2)
    assert result.exit_code == 0
    assert "strata ensemble: accuracy" in result.stdout
    assert "over 2 folds (the most frequent class alone: 0.6500)" in result.stdout
    assert "strata of" in result.stdout
    assert "one ScaledLogisticRegression per stratum, fused by gate" in result.stdout
    assert "Saved to s.skops." in result.stderr


def test_fit_json(run, table_file, tmp_path):
    result = run(
        "fit", table_file, "-t", "class", "-m", "majority", "-o", "m.skops", "--json", "-j", 1
    )
    facts = json.loads(result.stdout)
    assert facts["classes"] == {"no": 14, "yes": 26}
    assert (tmp_path / "m.skops").exists()


def test_predict_matches_columns_by_name(run, model, table_file, tmp_path):
    lines = [line.split(",") for line in table_file.read_text(encoding="utf-8").splitlines()]
    turned = "\n".join(f"{pay},{job},{age}" for age, job, pay, _ in lines)
    (tmp_path / "new.csv").write_text(turned, encoding="utf-8")
    result = run("predict", model, "new.csv", "-o", "out.csv")
    assert result.exit_code == 0
    assert "40 predictions written to out.csv." in result.stderr
    rows = read_csv(tmp_path / "out.csv")
    assert list(rows[0]) == ["prediction", "probability_no", "probability_yes"]
    assert len(rows) == 40
    with_target = run("predict", model, table_file)
    assert with_target.stdout == (tmp_path / "out.csv").read_text(encoding="utf-8")
    assert "'class' is not needed for predicting; " in with_target.stderr


def test_predict_json_and_standard_input(run, model):
    result = run("predict", model, "-", "--json", stdin="age,job,pay\n30,baker,\n")
    facts = json.loads(result.stdout)
    assert len(facts["predictions"]) == 1
    assert sum(facts["probabilities"][0]) == pytest.approx(1)


def test_predict_without_probabilities_says_so(run, table_file):
    run("fit", table_file, "-t", "class", "-m", "svm", "-o", "m.skops", "-j", 1, "--folds", 2)
    result = run("predict", "m.skops", table_file)
    assert result.stdout.startswith("prediction\n")
    assert "gives no probabilities" in result.stderr


def test_datasets(run, table_file):
    result = run("datasets", "--data-dir", table_file.parent)
    assert result.exit_code == 0
    assert "people" in result.stdout
    assert "OpenML 54" in result.stdout
    facts = {each["name"]: each for each in json.loads(run("datasets", "--json").stdout)}
    assert facts["digits"] == {
        "name": "digits", "n_rows": 1797, "n_features": 64, "at_hand": True,
        "origin": "scikit-learn",
    }  # fmt: skip


def test_every_command_takes_the_common_options(run, model, table_file):
    for arguments in (["datasets"], ["predict", model, table_file]):
        assert run(*arguments, "--seed", 1, "--jobs", 1, "--json", "--debug").exit_code == 0


BAD_FILES = {
    "empty.csv": "",
    "header.csv": "age,class\n",
    "ragged.csv": "age,class\n1,a\n2\n",
    "twice.csv": "age,age,class\n1,2,a\n3,4,b\n",
    "one.csv": "age,class\n1,a\n2,a\n",
    "amount.csv": "age,class\n" + "\n".join(f"{i},{i * 1.37}" for i in range(40)),
    "few.csv": "age,class\n1,a\n2,b\n",
    "table.xlsx": "PK",
}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["compare", "empty.csv", "-t", "class"], 1, "empty.csv is empty"),
        (["compare", "header.csv", "-t", "class"], 1, "a header line but no rows"),
        (["compare", "ragged.csv", "-t", "class"], 1, "Line 3 of ragged.csv has 1 values"),
        (["compare", "twice.csv", "-t", "class"], 1, "'age' occurs more than once"),
        (["compare", "one.csv", "-t", "class"], 1, "has only one class, 'a'"),
        (["compare", "amount.csv", "-t", "class"], 1, "looks like a quantity"),
        (["compare", "few.csv", "-t", "class"], 1, "No class has as many rows as there are folds"),
        (["compare", "few.csv", "-t", "clas"], 1, "no target column 'clas'. Did you mean 'class'?"),
        (["compare", "few.csv"], 2, "--target. The columns are: age, class."),
        (["compare", "absent.csv", "-t", "x"], 1, "There is no file absent.csv."),
        (["compare", ".", "-t", "x"], 1, ". is a folder; a CSV, TSV, ARFF or Parquet file"),
        (["compare", "../", "-t", "x"], 1, ".. is a folder; a CSV"),
        (["compare", "table.xlsx", "-t", "x"], 1, "of no known format"),
        (["compare", "irsi"], 1, "no dataset 'irsi' at hand. Did you mean 'iris'?"),
        (["compare", "iris", "--data-dir", "no"], 1, "--data-dir names no, which is not a folder"),
        (["compare", "iris", "-m", "forrest"], 2, "Did you mean 'forest'?"),
        (["compare", "iris", "-o", "no/out.csv"], 1, "there is no folder no"),
        (["compare", "iris", "-o", "."], 1, "The output . is a folder"),
        (["compare", "iris", "--folds", "1"], 2, "--folds"),
        (["compare", "iris", "--jobs", "0"], 2, "0 processes can do nothing"),
        (["fit", "iris"], 2, "--output"),
        (["fit", "iris", "-m", "x", "-o", "m.skops"], 2, "There is no method 'x'"),
        (["fit", "few.csv", "-o", "m.skops"], 2, "Name the column to predict by --target"),
        (["fit", "few.csv", "-t", "class", "-o", "no/m.skops"], 1, "there is no folder no"),
        (["predict", "absent.skops", "few.csv"], 1, "There is no model file absent.skops"),
        (["predict", "few.csv", "few.csv"], 1, "few.csv is not a model file"),
        (["predict", ".", "few.csv"], 1, "is a folder; a model file is expected"),
        (["kompare"], 2, "compare"),
    ],
)
def test_bad_input_ends_in_one_sentence(run, tmp_path, arguments, code, message):
    for name, content in BAD_FILES.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    before = sorted(path.name for path in tmp_path.iterdir())
    result = run(*arguments)
    assert result.exit_code == code
    assert message in " ".join(result.stderr.replace("│", " ").split())
    assert result.stdout == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("age,pay\n1,2\n", "needs columns that are not there: job."),
        ("age,job,pay,size,hue\n1,cook,2,3,4\n", "does not know: size, hue."),
        ("age,Job,pay\n1,cook,2\n", "not there: job. Did you mean 'Job'?"),
        ("age,job,pay\nold,cook,2\n", "Column 'age' holds 'old', which is not a finite number"),
        ("age,job,pay\n1e300,cook,2\n", "Column 'age' holds 1e+300"),
        ("", "new.csv is empty"),
    ],
)
def test_predict_refuses_rows_that_do_not_fit(run, model, tmp_path, content, message):
    (tmp_path / "new.csv").write_text(content, encoding="utf-8")
    result = run("predict", model, "new.csv", "-o", "out.csv")
    assert result.exit_code == 1
    assert message in result.stderr
    assert not (tmp_path / "out.csv").exists()


def test_predict_refuses_a_truncated_model(run, model, table_file):
    model.write_bytes(model.read_bytes()[:-100])
    result = run("predict", model, table_file, "-o", "out.csv")
    assert result.exit_code == 1
    assert "is truncated or damaged: copy it again" in result.stderr


def test_predict_refuses_an_untrusted_type(run, model, table_file):
    with zipfile.ZipFile(model) as archive:
        header = archive.read("ensemblage.json")
    model.write_bytes(skops_io.dumps({"model": subprocess.run}))
    with zipfile.ZipFile(model, "a") as archive:
        archive.writestr("ensemblage.json", header)
    result = run("predict", model, table_file, "-o", "out.csv")
    assert result.exit_code == 1
    assert "holds types that are not trusted: subprocess.run. " in result.stderr


def test_debug_shows_the_error_itself(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["compare", "absent.csv", "--debug"])
    assert isinstance(result.exception, ValueError)


def test_a_column_called_like_markup_is_text(run, tmp_path):
    rows = [f"{i},{'[red]x' if i % 2 else '[/red]'}" for i in range(12)]
    (tmp_path / "m.csv").write_text("\n".join(["[bold]a,[/]", *rows]), encoding="utf-8")
    result = run("fit", "m.csv", "-t", "[/]", "-m", "majority", "-o", "m.skops", "-j", 1)
    assert result.exit_code == 0
    assert "2 classes of '[/]'" in result.stdout
