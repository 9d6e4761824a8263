"""The page on reliability names tests that exist, and every test of faults."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")


def test_each_row_names_tests_that_exist():
    rows = [line for line in PAGE.splitlines() if line.startswith("|")][2:]
    assert len(rows) == 14
    for row in rows:
        named = re.findall(r"`(tests/[^`]+\.py)`", row)
        assert named, row
        assert [name for name in named if not (ROOT / name).is_file()] == []


def test_every_test_of_faults_is_named():
    here = {path.name for path in Path(__file__).parent.glob("test_*.py")} - {Path(__file__).name}
    assert {name for name in here if name not in PAGE} == set()
