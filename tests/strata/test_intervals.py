import numpy as np
import pytest

from ensemblage.messages import DamagedStateError
from ensemblage.strata._intervals import HeldOutScores, interval_factors


def test_strata_have_their_own_reach_and_few_rows_borrow():
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.uniform(0, 1, 500), rng.uniform(0, 4, 500), [9.0]])
    held_out = HeldOutScores(scores, np.repeat([0, 1, 2], [500, 500, 1]), np.ones(1001), 3)
    narrow, wide, few = interval_factors(held_out, 0.9)
    assert narrow == pytest.approx(0.94, abs=0.05)
    assert wide == pytest.approx(3.6, abs=0.15)
    assert narrow < few <= 9.0


def test_a_coverage_beyond_the_rows_reaches_the_farthest():
    held_out = HeldOutScores(np.array([1.0, 2.0, 3.0]), np.zeros(3, int), np.ones(3), 2)
    assert interval_factors(held_out, 0.99).tolist() == [3.0, 3.0]


def test_scores_of_no_stratum_are_refused():
    with pytest.raises(DamagedStateError):
        HeldOutScores(np.ones(2), np.array([0, 5]), np.ones(2), 2).__check_state__()
