"""The API pages name everything public, and nothing else."""

import re
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

import ensemblage

ROOT = Path(__file__).parents[1]
API_PAGES = [ROOT / "docs" / "api.md"]
PACKAGES = sorted(module.name for module in iter_modules(ensemblage.__path__) if module.ispkg)


def public_names(package):
    return set(getattr(import_module(f"ensemblage.{package}"), "__all__", ()))


def documented_names(package):
    """Names under the package's headings: table entries, and names in backticks."""
    pages = "\n## ".join(page.read_text(encoding="utf-8") for page in API_PAGES)
    sections = re.findall(rf"(?ms)^## ensemblage\.{package}$(.*?)(?=^## |\Z)", pages)
    entries = re.findall(r"(?m)^ +([A-Za-z]\w*)$|^- `(\w+)`", "".join(sections))
    names = [listed or described for listed, described in entries]
    assert len(names) == len(set(names)), "a name stands twice"
    return set(names)


def words_of_examples():
    """Words in examples that some test runs: of docstrings, of pages, of the gallery."""
    docs = ROOT / "docs"
    pages = [ROOT / "README.md", *docs.glob("*.md"), *(docs / "guide").glob("*.md")]
    modules = (ROOT / "src").rglob("*.py")
    shown = [
        line
        for path in [*pages, *modules]
        for line in re.findall(r"(?m)^ *(?:>>>|\.\.\.) (.*)$", path.read_text(encoding="utf-8"))
    ]
    shown += [path.read_text(encoding="utf-8") for path in (ROOT / "examples").glob("*.py")]
    return set(re.findall(r"\w+", "\n".join(shown)))


def test_no_public_name_is_without_an_example():
    known = words_of_examples()
    assert [name for each in PACKAGES for name in public_names(each) if name not in known] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_api_page_lists_what_is_public(package):
    assert documented_names(package) == public_names(package)
