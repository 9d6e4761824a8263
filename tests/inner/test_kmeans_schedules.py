import numpy as np
import pytest
from sklearn.datasets import load_iris

from ensemblage.blocks import MemoryBlocks
from ensemblage.inner._kmeans_loop import Voters
from ensemblage.inner._kmeans_schedules import Schedule, anneal, draw_voters
from ensemblage.kernels import Draws
from reference.inner_kmeans import algorithm_6

X = load_iris().data
DRAWS = Draws(7, 2, True, 3)


def run_anneal(rows, centers, voters, n_passes):
    return anneal(MemoryBlocks(rows), centers, voters, n_passes, lambda: False)


def test_a_pass_that_changes_no_row_is_the_last():
    rows = np.array([[0.0], [1.0], [10.0], [11.0]])
    run = run_anneal(rows, rows[[0, 3]], Voters(lambda _: np.ones((1, 1)), prune=False), 20)
    assert run.n_iter == 2
    np.testing.assert_array_equal(run.centers, [[0.5], [10.5]])


def test_centres_are_averaged_over_the_later_half_of_the_passes():
    voters, _ = draw_voters(4, DRAWS, Schedule(False, "iteration", 20, 0.0))
    start = X[[0, 60, 120]]
    run = run_anneal(X, start, voters, 5)
    trail = [algorithm_6(X, start, voters.crowd_of, n)[1] for n in (3, 4, 5)]
    assert run.n_iter == 5
    np.testing.assert_allclose(run.centers, np.mean(trail, axis=0), rtol=1e-14)


def test_no_pass_leaves_the_centres_where_they_are():
    np.testing.assert_array_equal(
        run_anneal(X, X[:3], Voters(lambda _: X, False), 0).centers, X[:3]
    )


@pytest.mark.parametrize("resample", ["fit", "iteration", "instance"])
def test_the_annealed_schedule_ends_with_four_times_the_views(resample):
    _, paper = draw_voters(4, DRAWS, Schedule(True, resample, 10, 0.0))
    voters, last = draw_voters(4, DRAWS, Schedule(False, resample, 10, 0.0))
    assert (paper.shape, last.shape) == ((7, 4), (28, 4))
    assert (last.sum(axis=1) == 2).all()
    assert voters.prune == (resample == "fit")
    same = voters.crowd_of(0) is voters.crowd_of(1)
    assert same == (resample == "fit")
