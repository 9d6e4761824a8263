"""The API page names everything public, and nothing else."""

import re
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

import ensemblage

API_PAGE = Path(__file__).parents[1] / "docs" / "api.md"
PACKAGES = sorted(module.name for module in iter_modules(ensemblage.__path__) if module.ispkg)


def public_names(package):
    return set(getattr(import_module(f"ensemblage.{package}"), "__all__", ()))


def documented_names(package):
    """Names under the package's heading: table entries, and names in backticks."""
    page = API_PAGE.read_text(encoding="utf-8")
    section = re.search(rf"(?ms)^## ensemblage\.{package}$(.*?)(?=^## |\Z)", page)
    if section is None:
        return set()
    entries = re.findall(r"(?m)^ +([A-Za-z]\w*)$|^- `(\w+)`", section[1])
    return {listed or described for listed, described in entries}


@pytest.mark.parametrize("package", PACKAGES)
def test_api_page_lists_what_is_public(package):
    assert documented_names(package) == public_names(package)
