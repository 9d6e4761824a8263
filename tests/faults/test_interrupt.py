"""Ctrl-C stops a run cleanly; the same command resumes."""

import os
import re
import signal

import pytest

from faults.conftest import signal_group, without_progress

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


def test_interrupted_run_resumes(study):
    one = study("one", 4)
    process = one.start()
    one.wait_for(21, process)
    output, errors = signal_group(process, signal.SIGINT)
    assert process.returncode == 130
    assert output == ""
    stopped = re.fullmatch(
        r"Interrupted after (\d+) of 120 cells; run the same command again to resume\.",
        without_progress(errors),
    )
    assert stopped, errors
    assert int(stopped[1]) == len(one.cells()) >= 20
    assert sorted(path.name for path in one.folder.iterdir()) == [
        "ensemblage-results.sqlite", "study.toml",
    ]  # fmt: skip

    code, output, errors = one.run()
    assert code == 0
    assert f"{stopped[1]} of 120 cells stored in ensemblage-results.sqlite." in errors
    assert "breast-cancer" in output
    assert len(one.cells()) == 120


@pytest.mark.slow  # tests/studies/test_audit.py interrupts one each time
def test_interrupted_audit_resumes(audited):
    one = audited("one")
    process = one.start()
    one.wait_for(3, process)
    output, errors = signal_group(process, signal.SIGINT)
    assert (process.returncode, output) == (130, "")
    stopped = re.search(
        r"^Interrupted after (\d+) of 12 fits; run the same command again to resume\.$",
        errors, re.MULTILINE,
    )  # fmt: skip
    assert stopped, errors
    assert int(stopped[1]) <= len(one.cells()) <= int(stopped[1]) + 1
    assert sorted(path.name for path in one.folder.iterdir()) == [
        "ensemblage-results.sqlite", "rows.csv",
    ]  # fmt: skip
    stored = len(one.cells())
    code, _, errors = one.run()
    assert code == 0
    assert f"Resuming: {stored} of 12 fits stored in ensemblage-results.sqlite." in errors
    assert len(one.cells()) == 12


@pytest.mark.slow  # the engine is that of `ensemblage run`, which is tested each time
def test_interrupted_comparison_resumes(comparison):
    one = comparison("one", 4)
    process = one.start("--output", "table.csv")
    one.wait_for(6, process)
    output, errors = signal_group(process, signal.SIGINT)
    assert (process.returncode, output) == (130, "")
    stopped = re.search(r"Interrupted after (\d+) of 40 cells; run the same command again", errors)
    assert int(stopped[1]) == len(one.cells()) >= 4
    assert [path.name for path in one.folder.iterdir()] == ["ensemblage-results.sqlite"]
    code, output, errors = one.run()
    assert code == 0
    assert f"{stopped[1]} of 40 cells stored in ensemblage-results.sqlite." in errors
    assert "logistic regression" in output
