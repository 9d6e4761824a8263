import pytest

from ensemblage.parallel import worth_workers
from ensemblage.parallel._worth import START_SECONDS, n_workers


def test_processes_are_counted_as_joblib_does():
    assert [n_workers(jobs) for jobs in (None, 1, 3)] == [1, 1, 3]
    assert n_workers(-1) >= 1
    assert n_workers(-1000) == 1
    with pytest.raises(ValueError, match="n_jobs must not be 0"):
        n_workers(0)


def test_one_process_is_never_worth_another():
    assert not worth_workers(1e6, None)
    assert not worth_workers(1e6, 1)


def test_two_processes_must_save_more_than_their_start():
    # half of the work is saved
    assert not worth_workers(2 * START_SECONDS, 2)
    assert worth_workers(2 * START_SECONDS + 0.01, 2)
    assert worth_workers(1.2 * START_SECONDS, 8)
