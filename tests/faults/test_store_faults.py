"""A store of results: concurrent runs, damaged, newer, read-only, and data that change."""

import os
import sqlite3

import pytest

from faults.conftest import without_progress

DAMAGES = ["cut", "zeros", "newer", "read-only"]
pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups of POSIX")


@pytest.mark.parametrize(
    "times", [1, pytest.param(20, marks=[pytest.mark.slow, pytest.mark.timeout(1200)])]
)
def test_concurrent_runs_compute_each_cell_once(study, times):
    for number in range(times):
        one = study(f"one {number}", 2, jobs=1)
        both = [one.start(), one.start()]
        outputs = [process.communicate(timeout=240) for process in both]
        assert [process.returncode for process in both] == [0, 0], outputs
        assert len(one.cells()) == one.total
        assert {error for _, error in one.cells().values()} == {""}


@pytest.mark.parametrize(
    "damage",
    ["text", *(pytest.param(each, marks=pytest.mark.slow) for each in DAMAGES)],
)
def test_unusable_store_has_an_error_of_one_sentence(done_study, damage):
    one = done_study
    before = one.results.read_bytes()
    apply_damage(one.results, damage)
    kept = one.results.read_bytes()
    if damage == "read-only" and os.access(one.results, os.W_OK):
        pytest.skip("the superuser may write anywhere")
    code, output, errors = one.run()
    errors = without_progress(errors)
    if code == 0:  # stored results are intact, or computed again
        assert len(one.cells()) == one.total
        return
    assert (code, output) == (1, "")
    assert errors.startswith("Error: ")
    assert len(errors.splitlines()) == 1
    assert one.results.read_bytes() in {kept, before}


def apply_damage(path, damage):
    data = path.read_bytes()
    if damage == "newer":
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA user_version = 999")
        connection.close()
    elif damage == "read-only":
        path.chmod(0o400)
        path.parent.chmod(0o500)
    else:
        changed = {"cut": data[:5000], "zeros": data[:4096] + bytes(len(data) - 4096)}
        path.write_bytes(changed.get(damage, b"hello " * 1000))


def test_damaged_json_has_an_error_of_one_sentence(done_study):
    one = done_study
    with sqlite3.connect(one.results) as connection:
        connection.execute("UPDATE cells SET cell_values = '{broken'")
    connection.close()
    code, _, errors = one.run()
    errors = without_progress(errors)
    assert code == 1
    assert errors.startswith("Error: ")
    assert len(errors.splitlines()) == 1


@pytest.mark.slow  # tests/studies/test_store.py damages arrays each time
def test_damaged_fits_of_an_audit_are_computed_again(audited):
    one = audited("one", jobs=1)
    code, expected, _ = one.run()
    assert code == 0
    whole = one.cells()
    with sqlite3.connect(one.results) as connection:
        for number, text in enumerate(["{broken", "[]", '{"array":[[9,9]]}', '{"array":null}']):
            connection.execute(
                "UPDATE cells SET cell_values = ? WHERE key = ?", (text, list(whole)[number])
            )
    connection.close()
    code, output, errors = one.run()
    assert (code, output) == (0, expected)
    assert "Resuming: 8 of 12 fits stored in ensemblage-results.sqlite." in errors
    assert one.cells() == whole


def test_changed_rows_are_computed_again(study):
    one = study("one", 1, jobs=1)
    rows = one.folder / "rows.csv"
    text = (one.folder / "study.toml").read_text(encoding="utf-8")
    text = text.replace('name = "iris"', 'name = "mean"\nfile = "rows.csv"\ntarget = "class"')
    (one.folder / "study.toml").write_text(text, encoding="utf-8")
    table = "a,class\n" + "".join(f"{i},{'xy'[i % 2]}\n" for i in range(40))
    rows.write_text(table, encoding="utf-8")
    assert one.run()[0] == 0
    before = one.cells()
    rows.write_text(table.replace("7,y", "7,x"), encoding="utf-8")
    assert one.run()[0] == 0
    assert before.items() <= one.cells().items()
    assert len(one.cells()) == len(before) + 10
