"""``ensemblage run``, as a user would run it."""

import csv
import json

import pytest

from cli.conftest import STUDY

JSON_KEYS = {
    "experiment", "title", "scale", "seed", "cells", "tables", "results", "report", "finished",
}  # fmt: skip
ROW_KEYS = {
    "row", "column", "paper", "ours", "difference", "standard_error", "repeats", "failures",
    "note", "comparable", "is_mean",
}  # fmt: skip


def test_run_shows_a_table_keeps_the_cells_and_exports(run, study, tmp_path):
    shown = run("run", "study.toml", "-j", 1, "--export", "cells.csv")
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.startswith("A study: accuracy; ± is a standard error")
    assert "random forest (n_estimators=4)" in shown.stdout
    assert "over 2 datasets (p = " in shown.stdout
    assert "12 cells written to cells.csv." in shown.stderr
    lines = list(csv.DictReader((tmp_path / "cells.csv").read_text().splitlines()))
    assert len(lines) == 12
    assert lines[0]["params.dataset"] == "iris"
    assert (tmp_path / "ensemblage-results.sqlite").is_file()

    again = run("run", "study.toml", "--json")
    assert "12 of 12 cells found in ensemblage-results.sqlite." in again.stderr
    facts = json.loads(again.stdout)
    assert set(facts) == JSON_KEYS
    assert facts["cells"] == {"total": 12, "done": 12, "failed": 0}
    assert (facts["scale"], facts["seed"], facts["finished"]) == ("declared", 0, True)
    assert (facts["results"], facts["report"]) == ("ensemblage-results.sqlite", None)
    (table,) = facts["tables"]
    assert set(table["rows"][0]) == ROW_KEYS
    assert table["rows"][0]["paper"] is None


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["none.toml"], 2, "There is no file none.toml."),
        (["study.toml", "--budget", "soon"], 2, "'soon' is no time; write 90s, 10m, 2h"),
        (["study.toml", "--export", "cells.xlsx"], 1, "must end in .csv or .parquet"),
        (["study.toml", "--export", "no/cells.csv"], 1, "there is no folder no"),
        (["study.toml", "--results", "study.toml"], 1, "study.toml is not a file of results"),
        (["study.toml", "--scheduler", "tcp//x:1"], 1, "'tcp//x:1' is no address such as tcp://"),
        (["study.toml", "--jobs", "0"], 2, "0 processes can do nothing"),
    ],
)
def test_mistakes_end_with_a_sentence(run, study, arguments, code, message):
    before = study.read_text()
    result = run("run", *arguments)
    assert result.exit_code == code
    assert message in " ".join(result.stderr.replace("│", " ").split())
    assert study.read_text() == before


def test_a_bad_declaration_is_wrong_usage(run, study, tmp_path):
    study.write_text(STUDY.replace("majority", "majorty"), encoding="utf-8")
    result = run("run", "study.toml")
    assert result.exit_code == 2
    assert "methods[1]: name is 'majorty'. Did you mean 'majority'?" in result.stderr
    assert not (tmp_path / "ensemblage-results.sqlite").exists()
