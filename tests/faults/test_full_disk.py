"""A full disk: an error of one sentence; stored results are kept and the run resumes."""

import os
import resource

import pytest

from faults.conftest import without_progress

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")


def test_full_disk_keeps_stored_results(study):
    one = study("one", 3, jobs=1)
    max_bytes = 30_000

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (max_bytes, max_bytes))

    code, output, errors = one.run(preexec_fn=limit)
    assert code == 1
    assert output == ""
    errors = without_progress(errors)
    assert errors.startswith("Error: The results cannot be written to ensemblage-results.sqlite: ")
    assert errors.strip().endswith(
        "(is the disk full?). Stored results are intact: free some space and run the same "
        "command again."
    )
    assert len(errors.strip().splitlines()) == 1
    stored = one.cells()
    assert 10 < len(stored) < one.total

    # with free space it resumes
    code, _, errors = one.run()
    assert code == 0, errors
    assert f"{len(stored)} of {one.total} cells stored" in errors
    assert stored.items() <= one.cells().items()
    assert len(one.cells()) == one.total


@pytest.mark.slow  # the engine is that of `ensemblage run`, which is tested each time
def test_comparison_on_a_full_disk_keeps_stored_results(comparison):
    one = comparison("one", 10, jobs=1)

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))

    code, output, errors = one.run(preexec_fn=limit)
    assert (code, output) == (1, "")
    assert "Error: The results cannot be written to ensemblage-results.sqlite: " in errors
    assert 10 < len(one.cells()) < one.total
