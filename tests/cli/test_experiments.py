"""``ensemblage run`` and ``reproduce``, as a user would run them; papers with stand-in cells."""

import csv
import json
import re
from dataclasses import replace

import pytest

import ensemblage.papers
from cli.conftest import STUDY
from ensemblage.studies import ResultRow, ResultTable, RunDocument

JSON_KEYS = {
    "experiment", "title", "scale", "seed", "cells", "tables", "results", "report", "finished",
    "data",
}  # fmt: skip
ROW_KEYS = {
    "row", "column", "paper", "ours", "difference", "standard_error", "repeats", "failures",
    "note", "comparable", "is_mean",
}  # fmt: skip


def test_run_shows_a_table_keeps_the_cells_and_exports(run, study, tmp_path):
    shown = run("run", "study.toml", "-j", 1, "--export", "cells.csv")
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.startswith("A study: accuracy ± standard error")
    assert "random forest (n_estimators=4)" in shown.stdout
    assert "over 2 datasets (p = " in shown.stdout
    assert "12 cells written to cells.csv." in shown.stderr
    lines = list(csv.DictReader((tmp_path / "cells.csv").read_text().splitlines()))
    assert len(lines) == 12
    assert lines[0]["params.dataset"] == "iris"
    assert (tmp_path / "ensemblage-results.sqlite").is_file()

    again = run("run", "study.toml", "--json")
    assert "Resuming: 12 of 12 cells stored in ensemblage-results.sqlite." in again.stderr
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
        (["none.toml"], 2, "No such file: none.toml."),
        (["study.toml", "--budget", "soon"], 2, "'soon' is not a duration such as 90s, 10m, 2h"),
        (["study.toml", "--export", "cells.xlsx"], 1, "must end in .csv or .parquet"),
        (["study.toml", "--export", "no/cells.csv"], 1, "there is no folder no"),
        (["study.toml", "--results", "study.toml"], 2, "study.toml is also an input"),
        (["study.toml", "--scheduler", "tcp//x:1"], 1, "'tcp//x:1' is not an address such as"),
        (["study.toml", "--jobs", "0"], 2, "0 is not a number of processes"),
    ],
)
def test_errors_end_in_one_sentence(run, study, arguments, code, message):
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


def test_options_of_reproduce(run, papers, tmp_path):
    (tmp_path / "data").mkdir()
    usual = {"scale": "standard", "seed": 0, "data_dir": None, "datasets": None}
    assert run("reproduce", "hiss-table2", "-j", 1).exit_code == 0
    run("reproduce", "joint-figure1", "--quick", "--seed", 5, "--data-dir", "data")
    run("reproduce", "inner-noise", "--full", "--dataset", "a", "--dataset", "b")
    assert papers.asked == [
        ("hiss-table2", usual),
        ("joint-figure1", usual | {"scale": "quick", "seed": 5, "data_dir": "data"}),
        ("inner-noise", usual | {"scale": "full", "datasets": ["a", "b"]}),
    ]


def test_reproduce_shows_the_paper_beside_ours(run, papers):
    papers.special = {"x2": {"do": "fail"}}
    shown = run("reproduce", "hiss-table2", "-j", 1)
    assert shown.exit_code == 0
    heads = next(line for line in shown.stdout.splitlines() if "paper" in line).split()
    assert heads == ["row", "column", "paper", "ours", "difference", "values"]
    line = next(line for line in shown.stdout.splitlines() if "x = 1" in line)
    assert line.split()[4:] == ["0.3333", "0.3333", "+0.0000", "1"]
    assert "4 numbers were divided." in shown.stdout
    assert "±" not in shown.stdout
    assert "- Not in any paper." in shown.stdout
    assert "A cell failed (x 2, do fail): RuntimeError: x is 2, which is bad" in shown.stderr
    assert "1 cell of 4 failed; run the same command with --retry-failed" in shown.stderr
    facts = json.loads(run("reproduce", "hiss-table2", "--quick", "--json").stdout)
    assert set(facts) == set(RunDocument.__struct_fields__)
    assert facts["cells"] == {"total": 4, "done": 4, "failed": 1}
    assert facts["scale"] == "quick"
    assert facts["tables"][0]["rows"][1]["difference"] == pytest.approx(1 / 3 - 0.3333)


def test_quick_and_full_exclude_each_other(run):
    result = run("reproduce", "hiss-table2", "--quick", "--full")
    assert result.exit_code == 2
    assert "--quick and --full exclude each other" in result.stderr


def test_every_paper_table_has_a_name(run):
    shown = run("reproduce", "--help").stdout
    assert all(name in shown for name in ensemblage.papers.PAPER_EXPERIMENTS)
    result = run("reproduce", "hiss-table9")
    assert result.exit_code == 2
    assert "hiss-table2" in result.stderr


def test_a_run_fails_if_every_cell_failed(run, papers):
    papers.cells, papers.special = 1, {"x0": {"do": "fail"}}
    result = run("reproduce", "hiss-table2", "-j", 1)
    assert result.exit_code == 1
    assert "all 1 cells failed; first error: RuntimeError: x is 0" in result.stderr
    assert "--retry-failed" in result.stderr


def test_a_run_stops_at_the_end_of_the_budget(run, papers):
    papers.cells = 40
    papers.special = {f"x{x}": {"sleep": 0.3} for x in range(40)}
    shown = run("reproduce", "inner-table1", "-j", 1, "--budget", "3s", "--json")
    assert shown.exit_code == 0
    facts = json.loads(shown.stdout)
    assert facts["finished"] is False
    done = facts["cells"]["done"]
    assert 0 < done < 40
    assert (
        f"Stopped at the end of the budget after {done} of 40 cells; run the same" in shown.stderr
    )


def test_a_screen_gets_a_bar_with_the_time_left(on_screen, study):
    shown, output = on_screen("-m", "ensemblage", "run", study.name, "--jobs", "1", "--json")
    assert "Running study" in shown
    assert re.search(r"\d of \d+.{1,20}0:00:\d\d.{1,20}0:00:\d\d", shown)
    assert json.loads(output)["finished"] is True


def test_numbers_of_a_table_have_the_same_decimals_and_tables_are_apart(run, papers, monkeypatch):
    rows = [ResultRow("labor", "plain", 88.25, 87.9167, 1.5892, 4),
            ResultRow("labor", "inner", None, 9.25, None, 1)]  # fmt: skip
    tables = [ResultTable(name, f"Table {name}", "accuracy (%)", rows) for name in "ab"]

    def declared(name, **options):
        return replace(papers(name, **options), summarise=lambda _: tables)

    monkeypatch.setattr(ensemblage.papers, "paper_experiment", declared)
    shown = run("reproduce", "hiss-table2", "-j", 1).stdout
    assert "88.25  87.92 ± 1.59       -0.33       4" in shown
    assert "-          9.25           -       1" in shown
    assert "\n\nTable b: accuracy (%) ± standard error\n" in shown
