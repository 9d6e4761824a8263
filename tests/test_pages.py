"""Everything that a page shows as code is run by some test, and every link leads somewhere."""

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
WRITTEN = [
    page
    for page in sorted(DOCS.rglob("*.md"))
    if not {"_build", "gallery", "generated"} & set(page.relative_to(DOCS).parts)
]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *WRITTEN]
BLOCK = re.compile(r"(?ms)^```(\w+)\n(.*?)^```$")
# run from the page by the slow tests of the command line
RUN_ELSEWHERE = {("experiments.md", "toml")}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_is_an_example_that_doctest_runs(page):
    for language, body in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language == "text" or (page.name, language) in RUN_ELSEWHERE:
            continue
        assert language in {"pycon", "python"}, language
        assert body.startswith(">>> "), body[:80]
        assert body.endswith("\n\n"), "doctest takes what follows for output"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = re.sub(r"(?ms)^```.*?^```$|`[^`\n]*`", "", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[\w-]+)?\)", text):
        made = target == "gallery/index" or (DOCS / target).suffix == ""
        assert made or (page.parent / target).exists(), target


def test_every_page_is_in_the_sidebar():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    listed = {
        name
        for body in re.findall(r"(?ms)^```\{toctree\}\n(.*?)^```$", index)
        for name in body.split()
    }
    pages = {page.relative_to(DOCS).with_suffix("").as_posix() for page in WRITTEN} - {"index"}
    missing = [name for name in pages if not any(fnmatch(name, each) for each in listed)]
    # decisions are listed on their own page
    assert [name for name in missing if not name.startswith("decisions/0")] == []
