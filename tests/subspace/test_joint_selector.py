import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline

from ensemblage.datasets import make_quarter_circle
from ensemblage.subspace import JointSubspaceClassifier, JointSubspaceSelector
from ensemblage.subspace._joint_selector import _ranks

QUICK = {"n_estimators": 5, "patience": 20, "max_iter": 100, "random_state": 0}


@pytest.fixture(scope="module")
def circle():
    return make_quarter_circle(100, n_dummies=6, random_state=1)


def test_finds_the_two_true_features(circle):
    selector = JointSubspaceSelector(2, **QUICK).fit(*circle)
    np.testing.assert_array_equal(selector.get_support(indices=True), [0, 1])
    assert selector.transform(circle[0]).shape == (200, 2)


@pytest.mark.parametrize(("wanted", "count"), [(3, 3), (0.5, 4), (0.01, 1)])
def test_how_many(circle, wanted, count):
    assert JointSubspaceSelector(wanted, **QUICK).fit(*circle).support_.sum() == count


def test_by_default_what_most_members_use(circle):
    selector = JointSubspaceSelector(**QUICK).fit(*circle)
    assert selector.support_.sum() == max(1, (selector.frequencies_ > 0.5).sum())


def test_names_come_along(circle):
    frame = pd.DataFrame(circle[0], columns=list("abcdefgh"))
    selector = JointSubspaceSelector(2, **QUICK).set_output(transform="pandas")
    assert list(selector.fit_transform(frame, circle[1]).columns) == ["a", "b"]
    assert list(selector.get_feature_names_out()) == ["a", "b"]


def test_true_pair_is_the_top_pair(circle):
    marks = JointSubspaceSelector(**QUICK).fit(*circle).co_selection_binary(
        top_pairs=1, top_features=2
    )  # fmt: skip
    assert marks[:2, :2].all()
    assert marks.sum() == 4


def test_in_a_pipeline(circle):
    model = make_pipeline(
        JointSubspaceSelector(2, **QUICK), JointSubspaceClassifier(2, random_state=0)
    )  # fmt: skip
    assert model.fit(*circle).score(*circle) > 0.9


def test_more_than_there_are():
    with pytest.raises(ValueError, match="n_features_to_select=99, but X has 13 features"):
        JointSubspaceSelector(99, **QUICK).fit(*load_wine(return_X_y=True))


def test_ties_are_not_broken_by_column_order():
    scores, reserve = np.zeros(50), np.zeros(50)
    first = [int(np.argmin(_ranks(scores, reserve, np.random.default_rng(s)))) for s in range(40)]
    assert len(set(first)) > 20
    reserve[33] = 1.0
    assert _ranks(scores, reserve, np.random.default_rng(0))[33] == 1
    scores[7] = 0.1
    assert _ranks(scores, reserve, np.random.default_rng(0))[7] == 1
