from functools import partial

import numpy as np
import pytest

from bayes.coded import as_lists, draw
from ensemblage.bayes._k2_search import Structure, first_best, k2_search
from ensemblage.bayes._network_measures import make_measure
from ensemblage.inner import InnerEnsemble
from ensemblage.kernels import NO_EXTRA
from reference import k2 as slow


def test_of_equal_scores_the_first_is_best():
    assert first_best([0.5, 0.5 + 1e-11, 0.4]) == 0
    assert first_best([0.5, 0.5 + 1e-9, 0.6, 0.6]) == 2


def test_a_structure_grows_into_a_new_one():
    start = Structure.start(2, "naive")
    grown = start.add(2, 1)
    assert start.parents == ((), (0,), (0,))
    assert grown.parents == ((), (0,), (0, 1))
    assert grown.others(2) == (1,)
    assert list(grown.features) == [1, 2]
    assert Structure.start(2, "empty").parents == ((), (), ())


def test_a_step_that_is_true_keeps_what_there_is():
    """Each feature likes its last candidate best; the search is stopped after two of three."""
    steps = iter([False, True])

    def last(candidates):
        assert candidates.extras[0] == NO_EXTRA
        return np.arange(len(candidates.extras), dtype=float)

    found = k2_search(last, [3, 1, 2], "empty", 2, lambda: next(steps))
    assert found.parents == ((), (3, 0), (), (0,))


@pytest.mark.parametrize("metric", ["accuracy", "probability", "log"])
@pytest.mark.parametrize("init", ["naive", "empty"])
def test_structures_equal_algorithm_2(metric, init):
    for seed in range(4):
        rows = draw(seed)
        lists, sizes = as_lists(rows)
        view = np.ones(rows.n_rows)
        measure = make_measure(metric, rows, 0.5)
        found = k2_search(partial(measure, view=view), [1, 2, 3], init, 3).parents
        expected = slow.k2(
            lambda s, r=lists, z=sizes: slow.leave_one_out(r, [1.0] * len(r), z, s, metric),
            len(sizes), init, 3,
        )  # fmt: skip
        assert [list(parents) for parents in found] == expected


def test_inner_structures_equal_algorithm_4():
    for seed in range(3):
        rows = draw(seed)
        lists, sizes = as_lists(rows)
        views = (np.random.default_rng(seed).random((3, rows.n_rows)) < 0.6).astype(float)
        crowd = InnerEnsemble(make_measure("probability", rows, 0.5), lambda _, v=views: v)
        expected = slow.k2(
            lambda s, r=lists, v=views, z=sizes: slow.ensemble_leave_one_out(
                r, v.tolist(), z, s, "probability"
            ),
            len(sizes), "naive", 3,
        )  # fmt: skip
        found = k2_search(crowd, [1, 2, 3], "naive", 3).parents
        assert [list(parents) for parents in found] == expected
