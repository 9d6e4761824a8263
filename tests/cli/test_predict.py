"""``ensemblage predict`` on real files."""

import csv
import json
import subprocess
import zipfile

import pytest
from skops import io as skops_io

from ensemblage.datasets import _chunked as _table_blocks
from ensemblage.datasets import _chunked as _text_stream
from persistence.archives import claim_versions


def test_predict_matches_columns_by_name(run, people_model, table_file, tmp_path):
    lines = [line.split(",") for line in table_file.read_text(encoding="utf-8").splitlines()]
    turned = "\n".join(f"{pay},{job},{age}" for age, job, pay, _ in lines)
    (tmp_path / "new.csv").write_text(turned, encoding="utf-8")
    result = run("predict", people_model, "new.csv", "-o", "out.csv")
    assert result.exit_code == 0
    assert "40 predictions written to out.csv." in result.stderr
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    assert list(rows[0]) == ["prediction", "probability_no", "probability_yes"]
    assert len(rows) == 40
    with_target = run("predict", people_model, table_file)
    assert with_target.stdout == (tmp_path / "out.csv").read_text(encoding="utf-8")
    assert "Note: The target 'class' was not used; accuracy " in with_target.stderr


def test_predict_json_and_standard_input(run, people_model):
    result = run("predict", people_model, "-", "--json", stdin="age,job,pay\n30,baker,\n")
    facts = json.loads(result.stdout)
    assert len(facts["predictions"]) == 1
    assert sum(facts["probabilities"][0]) == pytest.approx(1)


def test_predict_without_probabilities_says_so(run, table_file):
    run("fit", table_file, "-t", "class", "-m", "svm", "-o", "m.skops", "-j", 1, "--folds", 2)
    result = run("predict", "m.skops", table_file)
    assert result.stdout.startswith("prediction\n")
    assert "gives no probabilities" in result.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("age,pay\n1,2\n", "model requires are missing: job."),
        ("age,job,pay,size,hue\n1,cook,2,3,4\n", "was not fitted on: size, hue."),
        ("age,Job,pay\n1,cook,2\n", "are missing: job. Did you mean 'Job'?"),
        ("age,job,pay\nold,cook,2\n", "Column 'age' contains 'old', which is not a finite"),
        ("age,job,pay\n1e300,cook,2\n", "Column 'age' contains 1e+300"),
        ("", "new.csv is empty"),
    ],
)
def test_predict_refuses_rows_that_do_not_fit(run, people_model, tmp_path, content, message):
    (tmp_path / "new.csv").write_text(content, encoding="utf-8")
    result = run("predict", people_model, "new.csv", "-o", "out.csv")
    assert result.exit_code == 1
    assert message in result.stderr
    assert not (tmp_path / "out.csv").exists()


def test_predict_refuses_a_truncated_model(run, people_model, table_file):
    people_model.write_bytes(people_model.read_bytes()[:-100])
    result = run("predict", people_model, table_file, "-o", "out.csv")
    assert result.exit_code == 1
    assert "is truncated or damaged: copy it again" in result.stderr


@pytest.mark.parametrize("command", ["predict", "explain"])
def test_other_versions_are_one_note(run, people_model, table_file, command):
    usual = run(command, people_model, table_file).stdout
    claim_versions(people_model, {"scikit-learn": "1.0.2", "ensemblage": "99.0"})
    result = run(command, people_model, table_file)
    assert (result.exit_code, result.stdout) == (0, usual)
    said = [line for line in result.stderr.splitlines() if "was written with" in line]
    assert len(said) == 1
    assert said[0].startswith(f"Note: {people_model} was written with Ensemblage 99.0 (here ")
    assert "Warning" not in result.stderr


def test_predict_refuses_an_untrusted_type(run, people_model, table_file):
    with zipfile.ZipFile(people_model) as archive:
        header = archive.read("ensemblage.json")
    people_model.write_bytes(skops_io.dumps({"model": subprocess.run}))
    with zipfile.ZipFile(people_model, "a") as archive:
        archive.writestr("ensemblage.json", header)
    result = run("predict", people_model, table_file, "-o", "out.csv")
    assert result.exit_code == 1
    assert "contains types that are not trusted: subprocess.run. " in result.stderr


def test_predict_keeps_columns_and_notes_unseen_values(run, people_model, tmp_path):
    lines = ["id,age,job,pay", "007,25,cook,9.5", "008,26,pilot,9.5", "009,99,cook,9.5"]
    (tmp_path / "new.csv").write_text("\n".join(lines), encoding="utf-8")
    result = run("predict", people_model, "new.csv", "--keep", "id", "--keep", "age")
    assert result.exit_code == 0
    header, *rows = result.stdout.splitlines()
    assert header == "id,age,prediction,probability_no,probability_yes"
    assert [row.split(",")[:2] for row in rows] == [["007", "25"], ["008", "26"], ["009", "99"]]
    shown = " ".join(result.stderr.split())
    assert "Note: Unseen categories in column 'job': 'pilot' (1 row)." in shown
    assert "mostly in column 'age': 1 of 3 rows (indices from 0: 2)" in shown
    refused = run("predict", people_model, "new.csv")
    assert "the model was not fitted on: id" in " ".join(refused.stderr.split())
    facts = json.loads(run("predict", people_model, "new.csv", "--keep", "id", "--json").stdout)
    assert facts["kept"] == {"id": ["007", "008", "009"]}
    assert len(facts["notes"]) == 2


def test_a_source_aware_model_uses_the_source_column(run, tmp_path):
    lines = [
        f"{'Bern' if i % 2 else 'Basel'},{i % 7},{'yes' if (i % 7 > 3) == i % 2 else 'no'}"
        for i in range(84)
    ]
    (tmp_path / "sites.csv").write_text("\n".join(["site,dose,well", *lines]), encoding="utf-8")
    fitted = run(
        "fit", "sites.csv", "-t", "well", "--source", "site", "-m", "strata-sources", "-o",
        "m.skops", "-j", 1, "--folds", 2,
    )  # fmt: skip
    assert fitted.exit_code == 0
    again = run("predict", "m.skops", "sites.csv")
    assert "accuracy 1.0000 (84 of 84 rows)." in again.stderr
    assert "Columns ignored" not in again.stderr
    new = run("predict", "m.skops", "-", stdin="site,dose\nThun,5\n")
    noted = " ".join(new.stderr.split())
    assert "1 of 1 row is of 1 unknown source in column 'site', and predicted without" in noted
    assert "the source: 'Thun' (1 row)." in noted


def test_predict_writes_parquet_and_blocks_show_no_difference(
    run, people_model, table_file, monkeypatch
):
    parquet = pytest.importorskip("pyarrow.parquet")
    whole = run("predict", people_model, table_file)
    run("predict", people_model, table_file, "-o", "out.parquet")
    stored = parquet.read_table("out.parquet")
    assert stored.column_names == whole.stdout.splitlines()[0].split(",")
    monkeypatch.setattr(_table_blocks, "LARGE_FILE_BYTES", 1)
    monkeypatch.setattr(_table_blocks, "MAX_BLOCK_ROWS", 8)
    monkeypatch.setattr(_table_blocks, "MIN_BLOCK_ROWS", 8)
    monkeypatch.setattr(_text_stream, "HEAD_LINES", 4)
    monkeypatch.setattr(_text_stream, "LONG_TEXT", 1)
    blocks = run("predict", people_model, table_file)
    assert (blocks.stdout, blocks.stderr) == (whole.stdout, whole.stderr)
    again = run("predict", people_model, table_file, "-o", "again.parquet")
    assert "40 predictions written to again.parquet." in again.stderr
    found = parquet.read_table("again.parquet")
    assert found.column("prediction").to_pylist() == stored.column("prediction").to_pylist()
    shares = [table.column("probability_no").to_pylist() for table in (found, stored)]
    assert shares[0] == pytest.approx(shares[1], rel=1e-12)
