import numpy as np
import pytest

from ensemblage.datasets import Dataset, load_dataset
from ensemblage.papers.flagship import _members as _flagship_members
from ensemblage.papers.flagship import _members as _flagship_rows
from ensemblage.papers.flagship._members import (
    ANCHORS,
    CALIBRATED,
    DEFAULT,
    FUSIONS,
    MEMBERS,
    PLAIN,
    SINGLES,
    THIRTY,
    TREES,
    _pooled,
    answers,
    draw_settings,
    everybody,
    floored,
    greedy_weights,
    outer_fold,
    timed,
)
from ensemblage.pool import CLASSIFIER_POOLS, EnsemblageClassifier
from papers.flagship.light_pool import light_pool


def test_outer_folds_share_their_rows_and_test_each_once(monkeypatch):
    monkeypatch.setattr(_flagship_rows, "MOST_ROWS", 60)
    folds = [outer_fold(load_dataset("iris"), k, 0) for k in range(5)]
    assert [len(each.asked.y) for each in folds] == [12] * 5
    assert all(len(each.learned.y) == 48 for each in folds)
    tested = np.concatenate([each.asked.X for each in folds])
    learned = np.concatenate([folds[0].learned.X, folds[0].asked.X])
    assert sorted(map(tuple, tested)) == sorted(map(tuple, learned))
    assert all((np.bincount(each.asked.y) == 4).all() for each in folds)


def test_many_classes_have_fewer_rows(monkeypatch):
    monkeypatch.setattr(_flagship_rows, "MOST_ROWS_OF_MANY", 200)
    fold = outer_fold(load_dataset("digits"), 0, 0)
    assert len(fold.asked.y) + len(fold.learned.y) == 200


def test_words_and_gaps_become_numbers_by_the_rows_that_are_learned():
    X = np.array([["a", 1.0], ["b", None]] * 20, dtype=object)
    data = Dataset("d", X, np.repeat(["no", "yes"], 20), ("w", "n"), ("categorical", "numeric"))
    fold = outer_fold(data, 0, 0)
    assert fold.asked.X.shape[1] == fold.learned.X.shape[1] > 2
    assert np.isfinite(fold.asked.X).all()
    assert len(fold.learned.folds) == 5


SEED = 3


@pytest.fixture(scope="module")
def mixed():
    """Three classes told by a number with gaps and a word."""
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 40)
    numbers = np.round(rng.normal(size=120) + np.repeat([0.0, 2.0, 2.0], 40), 3)
    words = np.where(rng.random(120) < 0.8, np.repeat(["x", "x", "z"], 40), "x")
    X = np.column_stack([numbers.astype(object), words.astype(object)])
    X[::10, 0] = None
    return outer_fold(Dataset("mixed", X, y, ("n", "w"), ("numeric", "categorical")), 0, SEED)


@pytest.fixture(scope="module")
def spoken(mixed):
    return everybody(mixed, SEED, 2)


def test_everybody_speaks_of_all_rows(mixed, spoken):
    assert list(spoken) == [*CLASSIFIER_POOLS["full"], PLAIN, DEFAULT, THIRTY]
    for each in spoken.values():
        assert each.held.shape == (len(mixed.learned.y), 3)
        assert each.new.shape == (len(mixed.asked.y), 3)
        assert np.isfinite(each.held).all()
        assert min(each[2:]) >= 0


def test_the_study_measures_what_users_get(mixed, spoken):
    rows = mixed.learned
    model = EnsemblageClassifier("full", random_state=SEED).fit(rows.table, rows.y)
    ours = _pooled([spoken[name] for name in MEMBERS["full"]], rows)
    np.testing.assert_allclose(
        ours.probabilities, model.predict_proba(mixed.asked.table), atol=1e-6
    )


def test_tuning_further_never_raises_the_held_out_loss(mixed, spoken):
    five, thirty = (spoken[name].candidate for name in ("boosting", THIRTY))
    losses = [each.spec.loss(each.outputs, mixed.learned) for each in (five, thirty)]
    assert losses[1] <= losses[0]
    assert sum(spoken[THIRTY][2:4]) > sum(spoken["boosting"][2:3])


def test_settings_are_drawn_from_their_ranges():
    drawn = draw_settings(40, 0)
    assert drawn == draw_settings(40, 0)
    assert len(set(drawn)) == 40
    assert all(0.08 <= each.learning_rate <= 0.3 for each in drawn)
    assert {each.max_leaf_nodes for each in drawn} == {4, 8, 15, 31, 63}


def test_time_is_that_of_the_processor():
    done, seconds = timed(sum, [1, 2])
    assert done == 3
    assert 0 <= seconds < 1


@pytest.fixture(scope="module")
def wine():
    return outer_fold(load_dataset("wine"), 0, 0)


@pytest.fixture(scope="module")
def spoken_flagship_methods(wine):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_flagship_members, "resolve_members", light_pool)
        return everybody(wine, 0, 2)


@pytest.fixture(scope="module")
def found(wine, spoken_flagship_methods):
    return dict(answers(wine, spoken_flagship_methods))


def test_every_method_gives_probabilities(wine, found):
    assert set(found) == {*SINGLES, *CALIBRATED.values(), *MEMBERS, *FUSIONS, *TREES}
    for name, each in found.items():
        assert each.probabilities.shape == (len(wine.asked.y), 3), name
        np.testing.assert_allclose(each.probabilities.sum(axis=1), 1, err_msg=name)
        assert each.fit_seconds >= 0
        assert each.predict_seconds >= 0


def test_the_plain_mean_is_one(found, spoken_flagship_methods):
    singles = {member: name for name, member in SINGLES.items()}
    said = [found[singles[name]].probabilities for name in ANCHORS]
    np.testing.assert_allclose(found["plain mean"].probabilities, np.mean(said, axis=0))


def test_a_single_is_what_the_member_says(found, spoken_flagship_methods):
    assert np.array_equal(
        found["random forest"].probabilities, spoken_flagship_methods["forest"].new
    )


def test_default_boosting_does_not_pay_for_trials(found, spoken_flagship_methods):
    own = spoken_flagship_methods[SINGLES["boosting, default"]]
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
