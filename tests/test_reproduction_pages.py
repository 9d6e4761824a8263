"""The reproduction pages show the committed results, and nothing else."""

import json
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

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
