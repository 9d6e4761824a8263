"""The map of the papers: nothing is missing, and every target exists."""

import re
from pathlib import Path
from pkgutil import resolve_name

import pytest

from ensemblage.papers import PAPER_EXPERIMENTS

ROOT = Path(__file__).parents[1]
MAP = (ROOT / "docs" / "map.md").read_text(encoding="utf-8")
# what each paper numbers: equations, algorithms, tables, figures
NUMBERED = {
    "HISS": {"Equation": 8, "Algorithm": 0, "Table": 3, "Figure": 1},
    "Joint feature subsets": {"Equation": 15, "Algorithm": 1, "Table": 2, "Figure": 2},
    "Inner ensembles": {"Equation": 2, "Algorithm": 6, "Table": 3, "Figure": 2},
}
TEXTS = {
    "HISS": "hiss-two-column.txt",
    "Joint feature subsets": "joint-feature-subsets.txt",
    "Inner ensembles": "inner-ensembles.txt",
}


def items(paper):
    section = re.search(rf"(?ms)^## {paper}$(.*?)(?=^## |\Z)", MAP)[1]
    return re.findall(r"(?m)^\| ((?:Equation|Algorithm|Table|Figure) \d+) \|", section)


@pytest.mark.parametrize("paper", NUMBERED)
def test_every_numbered_thing_has_one_entry(paper):
    expected = [f"{kind} {i + 1}" for kind, n in NUMBERED[paper].items() for i in range(n)]
    assert sorted(items(paper)) == sorted(expected)


@pytest.mark.parametrize("paper", NUMBERED)
def test_the_papers_number_no_more(paper, shared):
    text = (shared / "papers" / TEXTS[paper]).read_text(encoding="utf-8")
    found = {
        "Equation": re.findall(r"\\tag\{(\d+)\}|\((\d{1,2})\) *$", text, flags=re.MULTILINE),
        "Algorithm": re.findall(r"^()Algorithm (\d+)", text, flags=re.MULTILINE),
        "Table": re.findall(r"()Table[ ~](\d+)", text),
        "Figure": re.findall(r"()(?:Figure|Fig[.]) ?(\d+)", text),
    }
    for kind, numbers in found.items():
        largest = max((int(a or b) for a, b in numbers), default=0)
        assert largest == NUMBERED[paper][kind], kind


def test_every_name_exists():
    names = set(re.findall(r"`(ensemblage\.[\w.]+)`", MAP))
    assert len(names) > 40
    for name in names:
        resolve_name(name)


def test_every_experiment_is_named_and_exists():
    named = set(re.findall(r"`ensemblage reproduce ([\w-]+)`", MAP))
    assert named == set(PAPER_EXPERIMENTS)


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([\w/-]+\.md)\)", MAP))))
def test_every_page_exists(target):
    assert (ROOT / "docs" / target).is_file()
