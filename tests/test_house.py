"""The house's own rules, as far as import-linter does not know them."""

import ast
import re
from collections import Counter
from configparser import ConfigParser
from pathlib import Path

import pytest

import ensemblage

ROOT = Path(__file__).parents[1]
HOME = Path(ensemblage.__file__).parent
MODULES = sorted(HOME.rglob("*.py"))
PACKAGES = sorted(path.parent.name for path in HOME.glob("*/__init__.py"))
SHARED_NAMES = {"__init__.py", "_base.py"}
TESTS = {path.name for path in (ROOT / "tests").rglob("test_*.py")}


def contracts():
    rules = ConfigParser()
    rules.read(ROOT / ".importlinter")
    return rules


def test_a_file_name_stands_once():
    counts = Counter(path.name for path in MODULES if path.name not in SHARED_NAMES)
    assert [name for name, count in counts.items() if count > 1] == []


def test_every_package_has_a_layer_and_a_door():
    rules = contracts()
    layers = rules["importlinter:contract:layers"]["layers"]
    named = set(layers.replace("|", " ").replace(":", " ").split())
    doors = {rules[section]["allowed_importers"] for section in rules if ":door-of-" in section}
    assert named == doors == {f"ensemblage.{name}" for name in PACKAGES}


def test_plots_and_clusters_are_forbidden_in_every_package_but_two():
    rule = contracts()["importlinter:contract:plots-and-clusters"]
    kept_out = set(rule["source_modules"].split())
    free = {"ensemblage.evaluation", "ensemblage.report"}
    assert kept_out == {f"ensemblage.{name}" for name in PACKAGES} - free


def test_plots_and_clusters_are_asked_for_by_name_in_their_own_rooms_only():
    """``require`` imports by a text, which import-linter does not see."""
    doors = {
        "matplotlib": {"evaluation", "report"},
        "distributed": {"blocks", "parallel"},
        "dask": {"blocks"},
    }
    found = {(name, room) for path in MODULES for name, room in required(path) if name in doors}
    assert [each for each in sorted(found) if each[1] not in doors[each[0]]] == []
    assert ("distributed", "parallel") in found


def required(path):
    """Give the packages that a module asks for by ``require``, with its room."""
    text = path.read_text(encoding="utf-8")
    for module in re.findall(r'\brequire\(\s*"([\w.]+)"', text):
        yield module.partition(".")[0], path.relative_to(HOME).parts[0]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(HOME)))
def test_every_module_says_what_it_is_for(path):
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


def test_every_module_has_a_test_file_of_its_name():
    private = [path for path in MODULES if path.stem.startswith("_") and path.stem[1] != "_"]
    missing = [path for path in private if f"test_{path.stem[1:]}.py" not in TESTS]
    assert [str(path.relative_to(HOME)) for path in missing] == []
