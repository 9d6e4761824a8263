"""Repeated SIGKILL of the process group loses and corrupts no result."""

import csv
import json
import os
import random
import signal
import time

import pytest

from faults.conftest import signal_group

pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups of POSIX")


def kill_repeatedly(disturbed, times, seed=0):
    """Kill a run ``times`` times at random; return the number of stored cells after each."""
    rng = random.Random(seed)  # noqa: S311
    before, counts = {}, []
    while len(counts) < times:
        process = disturbed.start("--export", "cells.csv")
        disturbed.wait_for(rng.choice([1, 2, 5, 10]), process)
        # at a random time during a commit or a fit
        time.sleep(rng.random() * 0.05)
        assert process.poll() is None, f"the run was over before kill {len(counts) + 1}: {counts}"
        signal_group(process, signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL
        after = disturbed.cells()
        lost = [key for key, value in before.items() if after.get(key) != value]
        assert lost == []
        for values, error in after.values():
            assert error == ""
            assert 0.0 <= json.loads(values)["accuracy"] <= 1.0
        before = after
        counts.append(len(after))
    return counts


@pytest.mark.parametrize(
    ("times", "repeats", "jobs"),
    [(1, 2, 1), pytest.param(100, 70, 2, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])],
)
def test_killed_run_equals_an_undisturbed_one(study, times, repeats, jobs, capsys):
    undisturbed, disturbed = study("undisturbed", repeats, jobs), study("disturbed", repeats, jobs)
    expected = undisturbed.export()
    counts = kill_repeatedly(disturbed, times)
    assert counts[-1] < disturbed.total
    assert disturbed.export() == expected
    assert set(disturbed.cells()) == set(undisturbed.cells())
    assert len(disturbed.cells()) == disturbed.total == len(expected.splitlines()) - 1
    with capsys.disabled():
        print(  # noqa: T201
            f"\n{times} kills; cells committed after each: {counts}; {disturbed.total} in the end, "
            f"0 lost, 0 corrupt, export of {len(expected)} bytes equal"
        )


@pytest.mark.parametrize("times", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_killed_audit_resumes_to_the_same_bits(audited, times):
    undisturbed, disturbed = audited("undisturbed", jobs=1), audited("disturbed")
    stored = {}
    for _ in range(times):
        process = disturbed.start()
        disturbed.wait_for(2 if stored else 4, process)  # two make the store
        os.kill(process.pid, signal.SIGKILL)  # its workers end by themselves
        output, errors = process.communicate(timeout=60)
        assert (process.returncode, output) == (-signal.SIGKILL, "")
        assert not stored or f"Resuming: {len(stored)} of 12 fits stored in" in errors
        before, stored = stored, disturbed.cells()
        assert before.items() <= stored.items()
        assert len(before) < len(stored) < disturbed.total
    expected, found = undisturbed.run(), disturbed.run()
    assert (expected[0], found[0]) == (0, 0), found[2]
    assert f"Resuming: {len(stored)} of 12 fits stored in ensemblage-results.sqlite." in found[2]
    assert found[1] == expected[1]
    assert stored.items() <= disturbed.cells().items()
    assert disturbed.cells() == undisturbed.cells()


@pytest.mark.slow  # the engine is that of `ensemblage run`, which is tested each time
def test_killed_comparison_resumes_to_the_same_table(comparison):
    undisturbed, disturbed = comparison("undisturbed", 2), comparison("disturbed", 2)
    process = disturbed.start()
    disturbed.wait_for(4, process)
    signal_group(process, signal.SIGKILL)
    stored = disturbed.cells()
    assert 0 < len(stored) < disturbed.total
    tables = []
    for one in (undisturbed, disturbed):
        code, _, errors = one.run("--output", "table.csv")
        assert code == 0, errors
        with (one.folder / "table.csv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        tables.append([{key: row[key] for key in row if key != "seconds"} for row in rows])
    assert f"{len(stored)} of 20 cells stored in ensemblage-results.sqlite." in errors
    assert tables[0] == tables[1]
    assert stored.items() <= disturbed.cells().items()
    assert set(disturbed.cells()) == set(undisturbed.cells())
