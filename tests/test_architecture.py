"""Rules of the package as a whole that import-linter and ruff do not know."""

import ast
import doctest
import importlib
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ensemblage

HOME = Path(ensemblage.__file__).parent
MODULES = sorted(HOME.rglob("*.py"))
PACKAGES = sorted(path.parent.name for path in HOME.glob("*/__init__.py"))
PUBLIC = [
    (package, name)
    for package in ("ensemblage", *(f"ensemblage.{name}" for name in PACKAGES))
    for name in getattr(importlib.import_module(package), "__all__", [])
]


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ensemblage."):
            yield from ((node.module, alias.name) for alias in node.names)


def test_private_modules_are_imported_in_their_own_package_only():
    crossing = [
        (str(path.relative_to(HOME)), f"{module}.{name}")
        for path in MODULES
        for module, name in imports(path)
        if "._" in f"{module.removeprefix('ensemblage._core')}"
        and module.split(".")[1] != path.relative_to(HOME).parts[0]
    ]
    assert crossing == []


def test_plots_and_clusters_are_asked_for_in_their_own_modules_only():
    """``require`` imports by a text, which import-linter does not see."""
    allowed = {
        "matplotlib": re.compile(r"display|report/|_co_selection|_diversity|_stability|_residuals"),
        "distributed": re.compile(r"blocks/|studies/_workers"),
        "dask": re.compile(r"blocks/|studies/_predict"),
    }
    found = [
        (package, str(path.relative_to(HOME)))
        for path in MODULES
        for package in re.findall(r'\brequire\(\s*"(\w+)', path.read_text(encoding="utf-8"))
    ]
    assert [
        each for each in found if each[0] in allowed and not allowed[each[0]].search(each[1])
    ] == []
    assert ("distributed", "studies/_workers.py") in found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(HOME)))
def test_every_module_says_what_it_is_for(path):
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(("package", "name"), PUBLIC)
def test_examples_of_public_names(package, name):
    """Doctest passes over objects whose ``__module__`` is their package: here they run."""
    thing = getattr(importlib.import_module(package), name)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for test in doctest.DocTestFinder().find(thing, name, module=False, globs={name: thing}):
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


def test_lazy_names_are_all_there():
    code = "\n".join(f"import ensemblage.{name}" for name in PACKAGES)
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "EAGER_IMPORT": "1"}, check=False
    )
    assert done.returncode == 0


# Growth is a decision: whoever raises a bound says why in docs/decisions.
MOST_MODULES = 221
MOST_PUBLIC_NAMES = 145
WALKS = {"hiss": 11, "strata": 23, "network": 15, "compare": 31}
"""Files that a call may enter, by `benchmarks/count_walks.py`."""


def test_the_package_has_not_grown_by_accident():
    print(f"{len(MODULES)} modules, {len(PUBLIC)} public names")  # noqa: T201  to be seen with -s
    assert len(MODULES) <= MOST_MODULES
    assert len(PUBLIC) <= MOST_PUBLIC_NAMES


@pytest.mark.parametrize("walk", WALKS)
def test_a_call_is_followed_through_few_files(walk):
    script = Path(__file__).parents[1] / "benchmarks" / "count_walks.py"
    spec = importlib.util.spec_from_file_location("count_walks", script)
    counting = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(counting)
    files, hops = counting.count(walk)
    print(f"{walk}: {files} files, {hops} hops")  # noqa: T201  to be seen with -s
    assert files <= WALKS[walk]
