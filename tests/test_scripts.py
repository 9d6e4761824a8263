"""Benchmarks, studies and examples use names and parameters that exist."""

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("benchmarks", "studies", "examples", "docs", ".ci")
SCRIPTS = sorted(path for folder in FOLDERS for path in (ROOT / folder).glob("*.py"))


def imported(tree):
    """What a script imports from the package, by the name that it has there."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                if each.name.partition(".")[0] == "ensemblage":
                    import_module(each.name)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ensemblage"):
            module = import_module(node.module)
            for each in node.names:
                assert hasattr(module, each.name), f"{node.module} has no {each.name}"
                found[each.asname or each.name] = getattr(module, each.name)
    return found


def calls(tree):
    """Line, function, number of positional arguments and keywords, where all of them are spelt."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and not any(
            isinstance(arg, ast.Starred) for arg in node.args
        ):
            function, *arguments = [node.func, *node.args]
            if isinstance(function, ast.Name) and function.id == "partial" and arguments:
                function, *arguments = arguments
            if isinstance(function, ast.Name):
                names = [each.arg for each in node.keywords if each.arg is not None]
                yield node.lineno, function.id, len(arguments), names


def test_there_are_scripts():
    assert {path.parent.name for path in SCRIPTS} == set(FOLDERS)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_names_and_parameters_exist(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    ours = imported(tree)
    for line, name, n_positional, names in calls(tree):
        if callable(ours.get(name)):
            try:
                inspect.signature(ours[name]).bind_partial(
                    *range(n_positional), **dict.fromkeys(names)
                )
            except TypeError as error:
                pytest.fail(f"line {line}: {name}: {error}")
