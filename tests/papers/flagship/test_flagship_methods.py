import numpy as np
import pytest

from ensemblage.datasets import load_dataset
from ensemblage.papers.flagship import _flagship_members
from ensemblage.papers.flagship._flagship_members import everybody
from ensemblage.papers.flagship._flagship_methods import (
    ANCHORS,
    CALIBRATED,
    FUSIONS,
    MEMBERS,
    SINGLES,
    TREES,
    answers,
    floored,
    greedy_weights,
)
from ensemblage.papers.flagship._flagship_rows import outer_fold
from papers.flagship.light_pool import light_pool


@pytest.fixture(scope="module")
def wine():
    return outer_fold(load_dataset("wine"), 0, 0)


@pytest.fixture(scope="module")
def spoken(wine):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_flagship_members, "resolve_pool", light_pool)
        return everybody(wine, 0, 2)


@pytest.fixture(scope="module")
def found(wine, spoken):
    return dict(answers(wine, spoken))


def test_every_method_gives_probabilities(wine, found):
    assert set(found) == {*SINGLES, *CALIBRATED.values(), *MEMBERS, *FUSIONS, *TREES}
    for name, each in found.items():
        assert each.probabilities.shape == (len(wine.asked.y), 3), name
        np.testing.assert_allclose(each.probabilities.sum(axis=1), 1, err_msg=name)
        assert each.fit_seconds >= 0
        assert each.predict_seconds >= 0


def test_the_plain_mean_is_one(found, spoken):
    singles = {member: name for name, member in SINGLES.items()}
    said = [found[singles[name]].probabilities for name in ANCHORS]
    np.testing.assert_allclose(found["plain mean"].probabilities, np.mean(said, axis=0))


def test_a_single_is_what_the_member_says(found, spoken):
    assert np.array_equal(found["random forest"].probabilities, spoken["forest"].new)


def test_default_boosting_does_not_pay_for_trials(found, spoken):
    own = spoken[SINGLES["boosting, default"]]
    assert found["boosting, default"].fit_seconds == own.refit_seconds
    assert found["boosting, default, calibrated"].fit_seconds >= own.trial_seconds


def test_every_place_is_left_out_once():
    full, ours = set(MEMBERS["full"]), set(MEMBERS["ours"])
    assert full - set(MEMBERS["lean"]) == ours - set(MEMBERS["ours without rows"]) == {"strata"}
    for place in ("columns", "decisions"):
        left = full - set(MEMBERS[f"full without {place}"])
        assert left == ours - set(MEMBERS[f"ours without {place}"])
        assert len(left) == 1


def test_greedy_selection_by_hand():
    y = np.array([0, 1])
    knows = np.array([[0.8, 0.2], [0.2, 0.8]])
    guesses, errs = np.full((2, 2), 0.5), knows[::-1]
    assert greedy_weights(np.stack([guesses, knows, errs]), y).tolist() == [0, 1, 0]
    # each knows one row only: half of both is the best there is
    first, second = np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([[0.4, 0.6], [0.1, 0.9]])
    assert greedy_weights(np.stack([first, second]), y).tolist() == [0.5, 0.5]


def test_the_floor_is_the_pool_s(wine):
    zeros = np.eye(3)[[0]]
    shares = np.bincount(wine.learned.y) / len(wine.learned.y)
    np.testing.assert_allclose(floored(zeros, wine.learned)[0], 0.999 * zeros[0] + 0.001 * shares)
