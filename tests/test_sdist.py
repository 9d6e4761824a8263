"""The source distribution holds what its tests need."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
INCLUDED = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]


def test_what_is_included_is_there():
    assert [name for name in INCLUDED if not (ROOT / name).exists()] == []


def test_what_tests_read_is_included():
    read = {
        name
        for path in (ROOT / "tests").rglob("*.py")
        for name in re.findall(
            r'(?:ROOT|parents\[\d\]) / "([^"]+)"', path.read_text(encoding="utf-8")
        )
    }
    assert {"docs", "studies", "pyproject.toml"} <= read
    assert read - {name for name in read if (ROOT / "tests" / name).exists()} <= set(INCLUDED)


@pytest.mark.slow
def test_its_tests_are_collected(tmp_path):
    for name in INCLUDED:
        source = ROOT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, tmp_path / name)
    collected = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert collected.returncode == 0, collected.stdout[-2000:]
