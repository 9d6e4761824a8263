import numpy as np
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from ensemblage.messages import DamagedStateError
from ensemblage.persistence import load, save
from ensemblage.pool import EnsemblageClassifier
from ensemblage.pool._forest import Forest, ForestRegressor, rounded_down

KINDS = {False: RandomForestClassifier, True: ExtraTreesClassifier}
NUMBER_KINDS = {False: RandomForestRegressor, True: ExtraTreesRegressor}


@pytest.mark.parametrize("extra", [False, True])
def test_says_what_the_forest_of_scikit_learn_says(rows, extra):
    weights = np.random.default_rng(0).uniform(0.5, 2, len(rows.y))
    own = Forest(30, extra=extra, judged=True, random_state=1).fit(rows.X, rows.y, weights)
    theirs = KINDS[extra](30, bootstrap=True, oob_score=True, random_state=1)
    theirs.fit(rows.X, rows.y, weights)
    np.testing.assert_allclose(own.predict_proba(rows.X), theirs.predict_proba(rows.X), atol=1e-6)
    np.testing.assert_array_equal(own.predict(rows.X), theirs.predict(rows.X))
    np.testing.assert_array_equal(own.out_of_bag_, theirs.oob_decision_function_)


def test_what_is_on_the_edge_falls_to_the_same_side():
    # a threshold between two neighbours of four bytes has no number of four bytes of its own
    low = np.float32(1)
    high = np.nextafter(low, np.float32(2))
    between = (float(low) + float(high)) / 2
    assert rounded_down(np.array([between, 0.1, -0.1])).tolist() == [
        low,
        np.nextafter(np.float32(0.1), np.float32(0)),
        np.float32(-0.1),
    ]


def test_numbers_beyond_four_bytes_are_answered(rows):
    own = Forest(5, random_state=0).fit(rows.X, rows.y)
    far = np.full((2, 4), 1e300) * [[1], [-1]]
    near = np.full((2, 4), 1e30) * [[1], [-1]]
    np.testing.assert_array_equal(own.predict_proba(far), own.predict_proba(near))


def forged(model, name, index, value):
    array = getattr(model, name).copy()
    array[index] = value
    setattr(model, name, array)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("features_", 99, "features_"),
        ("children_", 10_000, "children_"),
        ("children_", 0, "children_ lead back"),
        ("children_", -10_000, "children_"),
        ("roots_", 10_000, "roots_"),
        ("leaves_", 7.0, "leaves_"),
    ],
)
def test_forged_trees_are_refused(rows, name, value, told):
    own = Forest(3, random_state=0).fit(rows.X, rows.y)
    own.__check_state__()
    forged(own, name, 0, value)
    with pytest.raises(DamagedStateError, match=told):
        own.__check_state__()


def test_numbers_of_another_size_are_refused(rows):
    own = Forest(3, random_state=0).fit(rows.X, rows.y)
    own.children_ = own.children_.astype(np.int64)
    with pytest.raises(DamagedStateError, match="another size"):
        own.__check_state__()


def test_a_forged_forest_in_a_model_file_is_refused(rows, tmp_path):
    model = EnsemblageClassifier(["forest"], cv=2, random_state=0).fit(rows.X, rows.y)
    path = tmp_path / "pool.skops"
    what = {"columns": list("abcd"), "kinds": ["number"] * 4, "target": "class", "details": {}}
    save(model, path, **what)
    np.testing.assert_array_equal(
        load(path).model.predict_proba(rows.X), model.predict_proba(rows.X)
    )
    forged(model.estimators_[0], "children_", 0, 10_000)
    save(model, path, **what)
    with pytest.raises(ValueError, match="children_"):
        load(path)


@pytest.mark.parametrize("extra", [False, True])
def test_numbers_are_those_of_scikit_learn(rows, extra):
    y = 8 + 4 * rows.X[:, 0]
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    own = ForestRegressor(30, extra=extra, judged=True, random_state=1).fit(rows.X, y, weights)
    theirs = NUMBER_KINDS[extra](30, bootstrap=True, oob_score=True, random_state=1)
    assert own.mean_ == pytest.approx(np.average(y, weights=weights))
    theirs.fit(rows.X, (y - own.mean_) / own.scale_, weights)
    expected = own.mean_ + own.scale_ * theirs.predict(rows.X)
    np.testing.assert_allclose(own.predict(rows.X), expected, atol=1e-5)
    expected = own.mean_ + own.scale_ * theirs.oob_prediction_
    np.testing.assert_allclose(own.out_of_bag_, expected, atol=1e-5)


def test_a_row_that_every_tree_knows_is_said_to_be_the_mean(rows):
    y = 50 + rows.X[:, 0]
    own = ForestRegressor(1, judged=True, random_state=0).fit(rows.X, y)
    assert own.out_of_bag_.min() > 40
    assert (own.out_of_bag_ == own.mean_).sum() > len(y) / 2


@pytest.mark.parametrize("scale", [0.0, np.inf])
def test_a_forged_scale_is_refused(rows, scale):
    forged = ForestRegressor(2, random_state=0).fit(rows.X, rows.X[:, 0])
    forged.scale_ = scale
    with pytest.raises(DamagedStateError, match="mean_ and scale_"):
        forged.__check_state__()
