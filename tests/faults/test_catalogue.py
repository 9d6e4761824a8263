"""The reliability page lists tests that exist, and every test module of faults."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")


def test_listed_tests_exist():
    rows = [line for line in PAGE.splitlines() if line.startswith("|")][2:]
    assert len(rows) == 22
    for row in rows:
        named = re.findall(r"`(tests/[^`]+\.py)`", row)
        assert named, row
        assert [name for name in named if not (ROOT / name).is_file()] == []


def test_every_module_is_listed():
    here = {path.name for path in Path(__file__).parent.glob("test_*.py")} - {Path(__file__).name}
    assert {name for name in here if name not in PAGE} == set()
