"""``ensemblage reproduce``, with stand-ins for the papers' cells."""

import json

import pytest

import ensemblage.papers
from ensemblage.runs import RunDocument


def test_reproduce_asks_for_what_the_options_say(run, papers):
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
    assert heads == ["row", "column", "paper", "ours", "difference", "repeats", "note"]
    line = next(line for line in shown.stdout.splitlines() if "x = 1" in line)
    assert line.split()[4:] == ["0.3333", "0.3333", "+0.0000", "1"]
    assert "4 numbers were divided." in shown.stdout
    assert "- Not in any paper." in shown.stdout
    assert "a cell failed (x 2, do fail): RuntimeError: x is 2, which is bad" in shown.stderr
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
