import numpy as np
import pytest

from ensemblage.datasets import Dataset, load_dataset
from ensemblage.papers.flagship import _members as _flagship_members
from ensemblage.papers.flagship import _members as _flagship_rows
from ensemblage.papers.flagship._members import (
    CALIBRATED,
    DEFAULT,
    FUSIONS,
    MEMBERS,
    PLAIN,
    SINGLES,
    STANDARD,
    THIRTY,
    TREES,
    _pool_outputs,
    draw_settings,
    fit_members,
    greedy_weights,
    method_outputs,
    mix_with_prior,
    outer_fold,
    timed,
)
from ensemblage.pool import CLASSIFIER_POOLS, EnsemblageClassifier
from papers.flagship.light_pool import light_pool


def test_outer_folds_share_their_rows_and_test_each_once(monkeypatch):
    monkeypatch.setattr(_flagship_rows, "MAX_ROWS", 60)
    folds = [outer_fold(load_dataset("iris"), k, 0) for k in range(5)]
    assert [len(each.test.y) for each in folds] == [12] * 5
    assert all(len(each.train.y) == 48 for each in folds)
    tested = np.concatenate([each.test.X for each in folds])
    train = np.concatenate([folds[0].train.X, folds[0].test.X])
    assert sorted(map(tuple, tested)) == sorted(map(tuple, train))
    assert all((np.bincount(each.test.y) == 4).all() for each in folds)


def test_many_classes_have_fewer_rows(monkeypatch):
    monkeypatch.setattr(_flagship_rows, "MAX_ROWS_MANY_CLASSES", 200)
    fold = outer_fold(load_dataset("digits"), 0, 0)
    assert len(fold.test.y) + len(fold.train.y) == 200


def test_encoding_is_fitted_to_the_training_rows():
    X = np.array([["a", 1.0], ["b", None]] * 20, dtype=object)
    data = Dataset("d", X, np.repeat(["no", "yes"], 20), ("w", "n"), ("categorical", "numeric"))
    fold = outer_fold(data, 0, 0)
    assert fold.test.X.shape[1] == fold.train.X.shape[1] > 2
    assert np.isfinite(fold.test.X).all()
    assert len(fold.train.folds) == 5


SEED = 3


@pytest.fixture(scope="module")
def mixed():
    """Three classes that depend on a numeric column with missing values and a categorical one."""
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 40)
    numeric = np.round(rng.normal(size=120) + np.repeat([0.0, 2.0, 2.0], 40), 3)
    categorical = np.where(rng.random(120) < 0.8, np.repeat(["x", "x", "z"], 40), "x")
    X = np.column_stack([numeric.astype(object), categorical.astype(object)])
    X[::10, 0] = None
    return outer_fold(Dataset("mixed", X, y, ("n", "w"), ("numeric", "categorical")), 0, SEED)


@pytest.fixture(scope="module")
def members(mixed):
    return fit_members(mixed, SEED, 2)


def test_members_predict_all_rows(mixed, members):
    assert list(members) == [*CLASSIFIER_POOLS["full"], PLAIN, DEFAULT, THIRTY]
    for each in members.values():
        assert each.out_of_fold.shape == (len(mixed.train.y), 3)
        assert each.new.shape == (len(mixed.test.y), 3)
        assert np.isfinite(each.out_of_fold).all()
        assert min(each[2:]) >= 0


def test_the_study_equals_the_estimator(mixed, members):
    rows = mixed.train
    model = EnsemblageClassifier("full", random_state=SEED).fit(rows.forms["table"], rows.y)
    study = _pool_outputs([members[name] for name in MEMBERS["full"]], rows)
    np.testing.assert_allclose(
        study.probabilities, model.predict_proba(mixed.test.forms["table"]), atol=1e-6
    )


def test_further_tuning_never_raises_the_out_of_fold_loss(mixed, members):
    five, thirty = (members[name].candidate for name in ("boosting", THIRTY))
    losses = [
        each.spec.loss(each.outputs, mixed.train, mixed.train.tested) for each in (five, thirty)
    ]
    assert losses[1] <= losses[0]
    assert sum(members[THIRTY][2:4]) > sum(members["boosting"][2:3])


def test_settings_are_drawn_from_their_ranges():
    drawn = draw_settings(40, 0)
    assert drawn == draw_settings(40, 0)
    assert len(set(drawn)) == 40
    assert all(0.08 <= each.learning_rate <= 0.3 for each in drawn)
    assert {each.max_leaf_nodes for each in drawn} == {4, 8, 15, 31, 63}


def test_time_is_cpu_time():
    done, seconds = timed(sum, [1, 2])
    assert done == 3
    assert 0 <= seconds < 1


@pytest.fixture(scope="module")
def wine():
    return outer_fold(load_dataset("wine"), 0, 0)


@pytest.fixture(scope="module")
def light_members(wine):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_flagship_members, "resolve_members", light_pool)
        return fit_members(wine, 0, 2)


@pytest.fixture(scope="module")
def found(wine, light_members):
    return dict(method_outputs(wine, light_members))


def test_every_method_gives_probabilities(wine, found):
    assert set(found) == {*SINGLES, *CALIBRATED.values(), *MEMBERS, *FUSIONS, *TREES}
    for name, each in found.items():
        assert each.probabilities.shape == (len(wine.test.y), 3), name
        np.testing.assert_allclose(each.probabilities.sum(axis=1), 1, err_msg=name)
        assert each.fit_seconds >= 0
        assert each.predict_seconds >= 0


def test_the_unweighted_mean_is_a_mean(found, light_members):
    singles = {member: name for name, member in SINGLES.items()}
    outputs = [found[singles[name]].probabilities for name in STANDARD]
    np.testing.assert_allclose(found["unweighted mean"].probabilities, np.mean(outputs, axis=0))


def test_a_single_model_has_the_outputs_of_its_member(found, light_members):
    assert np.array_equal(found["random forest"].probabilities, light_members["forest"].new)


def test_default_boosting_has_no_tuning_time(found, light_members):
    own = light_members[SINGLES["boosting, default"]]
    assert found["boosting, default"].fit_seconds == own.refit_seconds
    assert found["boosting, default, calibrated"].fit_seconds >= own.trial_seconds


def test_every_group_is_left_out_once():
    full, library = set(MEMBERS["full"]), set(MEMBERS["library"])
    assert (
        full - set(MEMBERS["lean"]) == library - set(MEMBERS["library without rows"]) == {"strata"}
    )
    for group in ("columns", "decisions"):
        left = full - set(MEMBERS[f"full without {group}"])
        assert left == library - set(MEMBERS[f"library without {group}"])
        assert len(left) == 1


def test_greedy_selection_by_hand():
    y = np.array([0, 1])
    accurate = np.array([[0.8, 0.2], [0.2, 0.8]])
    uninformative, inverted = np.full((2, 2), 0.5), accurate[::-1]
    assert greedy_weights(np.stack([uninformative, accurate, inverted]), y).tolist() == [0, 1, 0]
    # each is accurate on one row only: equal weights are the best
    first, second = np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([[0.4, 0.6], [0.1, 0.9]])
    assert greedy_weights(np.stack([first, second]), y).tolist() == [0.5, 0.5]


def test_the_prior_weight_is_that_of_the_pool(wine):
    zeros = np.eye(3)[[0]]
    shares = np.bincount(wine.train.y) / len(wine.train.y)
    np.testing.assert_allclose(
        mix_with_prior(zeros, wine.train)[0], 0.999 * zeros[0] + 0.001 * shares
    )
