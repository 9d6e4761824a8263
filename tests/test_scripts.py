"""Benchmarks, studies and examples import names that exist."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("benchmarks", "studies", "examples", "docs", ".ci")
SCRIPTS = sorted(path for folder in FOLDERS for path in (ROOT / folder).glob("*.py"))


def test_there_are_scripts():
    assert {path.parent.name for path in SCRIPTS} == set(FOLDERS)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_imports_resolve(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                if each.name.partition(".")[0] == "ensemblage":
                    import_module(each.name)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ensemblage"):
            module = import_module(node.module)
            for each in node.names:
                assert hasattr(module, each.name), f"{node.module} has no {each.name}"
