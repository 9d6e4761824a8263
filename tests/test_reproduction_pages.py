"""The reproduction pages show the committed results, and nothing else."""

import json
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace

import pytest

from ensemblage import __version__
from ensemblage.papers import PAPER_EXPERIMENTS

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "reproduction").glob("*.md"))


@pytest.fixture(scope="module")
def pages():
    spec = spec_from_file_location("pages", ROOT / "docs" / "reproduction_pages.py")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_and_results_agree(pages, page):
    text = page.read_text("utf-8")
    assert pages.rewritten(text, pages.read_results()) == text


def test_every_table_of_the_results_is_shown(pages):
    shown = {match[3] for page in PAGES for match in pages.MARK.finditer(page.read_text("utf-8"))}
    for name, run in pages.read_results().items():
        assert name in PAPER_EXPERIMENTS
        assert name in shown  # its command and seed
        assert {table["name"] for table in run["tables"]} <= shown
        assert run["command"].startswith(f"ensemblage reproduce {name} ")


def test_results_survive_being_written(pages):
    for run in pages.read_results().values():
        assert json.loads(pages.written(run)) == run


def test_a_table_of_a_run(pages):
    row = {"row": "iris", "column": "a", "paper": 0.5, "ours": 0.25, "standard_error": 0.125,
           "repeats": 2, "failures": 1, "note": "", "comparable": True,
           "is_mean": False}  # fmt: skip
    mean = row | {"row": "mean", "paper": None, "standard_error": None, "failures": 0,
                  "is_mean": True}  # fmt: skip
    table = {"name": "t", "measure": "error", "rows": [row, mean]}
    text = pages.table_text(table)
    assert "| iris | 0.250 ± 0.125 (1 failed) / 0.500 |" in text
    assert text.endswith("| mean | 0.250 / - |")
    assert "iris" not in pages.means_text(table)


def test_a_run_is_kept_with_what_computed_it(pages, monkeypatch, tmp_path):
    run = pages.read_results()["joint-figure2"] | {"finished": True}
    printed = tmp_path / "printed.json"
    printed.write_text(json.dumps(run), "utf-8")
    monkeypatch.setattr(pages, "PAGES", tmp_path)
    monkeypatch.setattr(pages, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(pages, "git", lambda *arguments: " ".join(arguments))
    pages.main([printed])
    kept = json.loads((tmp_path / "results" / "joint-figure2.json").read_text("utf-8"))
    assert (kept["version"], kept["commit"]) == (__version__, "rev-parse --short HEAD")
    assert kept["tables"] == run["tables"]
    assert pages.commit_of("joint-figure2", kept) == kept["commit"]


def entries_of(run):
    """The stored entries, as a new run would give them."""
    return {
        (table["name"], row["row"], row["column"]): SimpleNamespace(**row)
        for table in run["tables"]
        for row in table["rows"]
    }


def checked(pages, monkeypatch, name, change=0.0, done=1):
    """Verdicts of a check whose new run has the stored values and, if asked for, a change."""
    run = pages.read_results()[name]
    entries = entries_of(run)
    for entry in entries.values():
        entry.ours = None if entry.ours is None else entry.ours + change
    monkeypatch.setattr(pages, "datasets_of", lambda run, folder: ["labor", "glass"])  # noqa: ARG005
    monkeypatch.setattr(pages, "recomputed", lambda *arguments: (entries, done, 1))  # noqa: ARG005
    return list(pages.compared(name, run, None, 60.0))


def test_a_check_compares_one_row_of_each_table(pages, monkeypatch):
    lines = checked(pages, monkeypatch, "inner-table1")
    rows = {line[0]: line[1] for line in lines}
    assert rows["inner-table1"] == rows["inner-table1-improved"] == "labor"
    assert rows["inner-table1-grid-with-replacement"] == ""  # means over datasets
    verdicts = [line[5] for line in lines]
    assert verdicts[:11] == ["equal"] * 11
    assert verdicts[11:] == ["not compared: means over datasets"] * 2
    assert all(len(line[6]) >= 7 for line in lines)  # a commit


def test_a_check_finds_a_stale_figure(pages, monkeypatch):
    assert {line[5] for line in checked(pages, monkeypatch, "hiss-table2", 0.001)} == {"DIFFERENT"}
    small = checked(pages, monkeypatch, "hiss-table2", 1e-9)  # below the digits that are printed
    assert {line[5] for line in small} == {"equal"}


def test_a_check_compares_nothing_that_is_unfinished(pages, monkeypatch):
    lines = checked(pages, monkeypatch, "hiss-table2", 0.1, done=0)
    assert {line[5] for line in lines} == {"not compared: 0 of 1 cells in time"}


def test_times_are_not_compared(pages, monkeypatch):
    (line,) = checked(pages, monkeypatch, "inner-figure2")
    assert line[5] == "not compared: times, which differ between machines"


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", ["joint-figure2", "hiss-table3"])
def test_figures_are_not_stale(pages, shared, name):
    run = pages.read_results()[name]
    lines = list(pages.compared(name, run, str(shared / "data"), None))
    assert {line[5] for line in lines} == {"equal"}
