"""The map of the papers: nothing is missing, and every target exists."""

import re
from pathlib import Path
from pkgutil import resolve_name

import numpy as np
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


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([\w/-]+\.md)[)#]", MAP))))
def test_every_page_exists(target):
    assert (ROOT / "docs" / target).is_file()


KINDS = ("behaviour", "parameters", "experiments and findings", "limitations", "future work")
STATES = ("implemented", "in part", "not built")


def statements(paper, kind):
    """Number, text, names, page and state of each row of a kind."""
    section = re.search(rf"(?ms)^## {paper}$(.*?)(?=^## |\Z)", MAP)[1]
    part = re.search(rf"(?ms)^### Statements: {kind}$(.*?)(?=^### |\Z)", section)[1]
    rows = [line.strip("|").split("|") for line in re.findall(r"(?m)^\| \d+ \|.*$", part)]
    return [(int(number), *(each.strip() for each in rest)) for number, *rest in rows]


def counts_of(heading):
    """The numbers of a row of a table of counts."""
    line = re.search(rf"(?m)^\| {heading} \|(.*)\|$", MAP)[1]
    return [int(number) for number in line.split("|")]


@pytest.mark.parametrize("paper", NUMBERED)
@pytest.mark.parametrize("kind", KINDS)
def test_every_paper_has_rows_of_each_kind(paper, kind):
    rows = statements(paper, kind)
    assert rows
    for row in rows:
        number, text, here, page, state = row
        assert number > 0
        assert re.search(r"\((abstract|\d)", text), f"no section: {text}"
        assert state.startswith(STATES), row
        # what is not built at all has neither a name nor a page
        assert (here == "-") == (page == "") or state.startswith("not built"), row


@pytest.mark.parametrize("paper", NUMBERED)
def test_numbers_of_statements_add_up(paper):
    found = [sum(row[0] for row in statements(paper, kind)) for kind in KINDS]
    assert counts_of(paper) == [*found, sum(found)]


def test_numbers_of_all_papers_add_up():
    papers = np.array([counts_of(paper) for paper in NUMBERED])
    assert counts_of("all papers") == papers.sum(axis=0).tolist()
    rows = [row for paper in NUMBERED for kind in KINDS for row in statements(paper, kind)]
    by_state = [sum(row[0] for row in rows if row[-1].startswith(state)) for state in STATES]
    assert counts_of("statements") == [*by_state, sum(by_state)]
    assert sum(by_state) == counts_of("all papers")[-1]


def anchors(page):
    """Anchors of a page: its labels, and its headings as Sphinx writes them."""
    text = page.read_text(encoding="utf-8")
    headings = [title.lower() for title in re.findall(r"(?m)^#{1,3} (.+)$", text)]
    slugs = {re.sub(r"[^\w -]", "", title).replace(" ", "-") for title in headings}
    return slugs | set(re.findall(r"(?m)^\(([\w-]+)\)=$", text))


def test_every_anchor_exists():
    found = re.findall(r"\]\(([\w/-]+\.md)#([\w-]+)\)", MAP)
    assert len(found) > 50
    for target, anchor in found:
        assert anchor in anchors(ROOT / "docs" / target), f"{target}#{anchor}"


def test_every_script_exists():
    for script in re.findall(r"`python ([\w/.]+\.py)", MAP):
        assert (ROOT / script).is_file(), script
