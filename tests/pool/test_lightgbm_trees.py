import pickle
import re

import numpy as np
import pytest

from ensemblage._core import DamagedStateError
from ensemblage.pool import LightGBMTrees
from ensemblage.pool._boosting import LightGBMTreesRegressor, as_probabilities, check_text

pytest.importorskip("lightgbm")


@pytest.fixture
def fitted(rows):
    return LightGBMTrees(10, max_leaves=4, random_state=0).fit(rows.X, rows.y)


def test_probabilities_are_those_of_lightgbm(fitted, rows):
    np.testing.assert_allclose(fitted.predict_proba(rows.X), fitted.booster_.predict(rows.X))
    assert (fitted.predict(rows.X) == rows.y).mean() > 0.7


def test_two_classes_and_labels_with_gaps(rows):
    y = np.where(rows.y == 2, 7, 3)
    model = LightGBMTrees(10, max_leaves=4).fit(rows.X, y)
    assert model.classes_.tolist() == [3, 7]
    np.testing.assert_allclose(model.predict_proba(rows.X)[:, 1], model.booster_.predict(rows.X))


def test_any_number_of_threads_gives_the_same_bits(fitted, rows):
    two = LightGBMTrees(10, max_leaves=4, random_state=0, n_jobs=2).fit(rows.X, rows.y)
    np.testing.assert_array_equal(two.predict_proba(rows.X), fitted.predict_proba(rows.X))


def test_it_is_kept_as_text(fitted, rows):
    assert isinstance(fitted.__getstate__()["text"], str)
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301
    np.testing.assert_array_equal(again.predict_proba(rows.X), fitted.predict_proba(rows.X))
    assert "text" not in LightGBMTrees().__getstate__()


@pytest.mark.parametrize(
    ("pattern", "forged"),
    [
        (r"split_feature=\d+", "split_feature=99"),
        (r"split_feature=\d+", "split_feature=-1"),
        (r"left_child=-?\d+", "left_child=0"),
        (r"right_child=-?\d+", "right_child=-99"),
        (r"num_leaves=\d+", "num_leaves=2"),
        (r"num_cat=0", "num_cat=1"),
        (r"decision_type=\d+", "decision_type=1"),
        (r"max_feature_idx=\d+", "max_feature_idx=40"),
    ],
)
def test_forged_trees_are_refused(fitted, pattern, forged):
    text = fitted.booster_.model_to_string()
    check_text(text, 4)
    with pytest.raises(DamagedStateError):
        check_text(re.sub(pattern, forged, text, count=1), 4)


def test_scores_become_probabilities_without_overflow():
    np.testing.assert_allclose(as_probabilities([0.0, np.log(3)]), [[0.5, 0.5], [0.25, 0.75]])
    assert as_probabilities([[1000.0, 0.0, 0.0]]).tolist() == [[1.0, 0.0, 0.0]]


def test_numbers_far_from_zero_keep_their_digits(rows):
    y = 1e9 + rows.X[:, 0]
    model = LightGBMTreesRegressor(30, max_leaves=4, min_leaf=5).fit(rows.X, y)
    near = LightGBMTreesRegressor(30, max_leaves=4, min_leaf=5).fit(rows.X, rows.X[:, 0])
    np.testing.assert_allclose(model.predict(rows.X) - 1e9, near.predict(rows.X), atol=1e-4)
    assert model.score(rows.X, y) > 0.9


def test_stages_and_cuts_of_numbers(rows):
    y = rows.X[:, 0]
    model = LightGBMTreesRegressor(20, max_leaves=4, min_leaf=5).fit(rows.X, y)
    staged = model.staged(rows.X, [5, 20, 99])
    np.testing.assert_allclose(staged[0], model.cut(5).predict(rows.X))
    np.testing.assert_allclose(staged[1], model.predict(rows.X))
    np.testing.assert_array_equal(staged[1], staged[2])
    again = LightGBMTreesRegressor()
    again.__setstate__(model.__getstate__())
    np.testing.assert_array_equal(again.predict(rows.X), model.predict(rows.X))
    again.scale_ = 0.0
    with pytest.raises(DamagedStateError, match="mean_ and scale_"):
        again._check_fitted()
