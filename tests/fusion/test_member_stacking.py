import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from ensemblage.fusion import MemberStackingClassifier, stack_features, stack_members
from ensemblage.persistence import load, save
from ensemblage.strata import HISS, StrataEnsembleClassifier

LINEAR = LogisticRegression(max_iter=1000)
ENSEMBLES = [
    AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=5, random_state=0),
    AdaBoostClassifier(SVC(kernel="linear", C=100), n_estimators=3, random_state=0),
    BaggingClassifier(LINEAR, n_estimators=4, random_state=0),
    BaggingClassifier(SVC(kernel="linear"), n_estimators=4, max_features=0.5, random_state=0),
    RandomForestClassifier(n_estimators=5, max_depth=3, random_state=0),
    ExtraTreesClassifier(n_estimators=5, max_depth=3, random_state=0),
    VotingClassifier([("a", LINEAR), ("b", GaussianNB())]),
    VotingClassifier([("a", RidgeClassifier()), ("b", GaussianNB())]),
    StrataEnsembleClassifier(HISS(3, 0.5), cv=2, random_state=0),
]
LABELS = [
    np.array(["a", "b", "c"]),
    np.array([1, 2, 3]),
    np.array([2, 1, 0]),
    np.array([True, False, False]),
]


@pytest.fixture
def wine():
    X, y = load_wine(return_X_y=True)
    return MinMaxScaler().fit_transform(X), y


@parametrize_with_checks(
    [
        MemberStackingClassifier(BaggingClassifier(LogisticRegression(), n_estimators=3)),
        MemberStackingClassifier(RandomForestClassifier(n_estimators=3)),
    ],
    expected_failed_checks=lambda _: dict.fromkeys(
        [
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        ],
        "members draw rows at random",
    ),
)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore:.*hold one class only")
@pytest.mark.parametrize("labels", LABELS, ids=str)
@pytest.mark.parametrize("ensemble", ENSEMBLES, ids=lambda each: str(each)[:60])
def test_any_ensemble_with_any_labels(wine, ensemble, labels):
    X, y = wine
    y = labels[y]
    fitted = clone(ensemble).fit(X[::2], y[::2])
    stacked = stack_members(fitted, X[::2], y[::2])
    assert stacked.classes_.tolist() == np.unique(labels).tolist()
    assert set(stacked.predict(X)) == set(labels)
    assert stacked.score(X[1::2], y[1::2]) > 0.85
    np.testing.assert_allclose(stacked.predict_proba(X).sum(axis=1), 1)
    again = MemberStackingClassifier(clone(ensemble)).fit(X[::2], y[::2])
    np.testing.assert_array_equal(again.predict_proba(X), stacked.predict_proba(X))


def test_by_hand_on_boosted_members(wine):
    X, y = wine
    y = np.array(["other", "first"])[(y == 0).astype(int)]
    boosting = AdaBoostClassifier(SVC(kernel="linear", C=len(y)), n_estimators=3, random_state=0)
    boosting.fit(X, y)
    # classes_ is ["first", "other"], so a positive decision value speaks for "other"
    features = np.column_stack([member.decision_function(X) for member in boosting.estimators_])
    by_hand = SVC().fit(features, y == "other").decision_function(features)
    stacked = stack_members(boosting, X, y, SVC())
    np.testing.assert_allclose(stacked.decision_function(X), by_hand)
    assert not hasattr(stacked, "predict_proba")


def test_each_bagged_member_sees_its_own_columns(wine):
    X, y = wine
    bagging = BaggingClassifier(LINEAR, n_estimators=3, max_features=4, random_state=0).fit(X, y)
    outputs = [
        member.predict_proba(X[:, columns])
        for member, columns in zip(bagging.estimators_, bagging.estimators_features_, strict=True)
    ]
    by_hand = LogisticRegression().fit(stack_features(np.stack(outputs)), y)
    expected = by_hand.predict_proba(stack_features(np.stack(outputs)))
    np.testing.assert_allclose(stack_members(bagging, X, y).predict_proba(X), expected)


def test_a_class_that_a_member_never_saw(wine):
    X, y = wine
    rare = np.concatenate([np.flatnonzero(y != 2), np.flatnonzero(y == 2)[:1]])
    X, y = X[rare], np.array([1, 2, 3])[y[rare]]
    # neighbours take no weights, so bagging gives them the rows it drew and no others
    bagging = BaggingClassifier(
        KNeighborsClassifier(3), n_estimators=2, max_samples=0.1, random_state=0
    ).fit(X, y)
    assert {len(member.classes_) for member in bagging.estimators_} == {2}
    assert stack_members(bagging, X, y).predict_proba(X).shape == (len(y), 3)


def test_the_ensemble_is_left_as_it_is(wine):
    X, y = wine
    forest = RandomForestClassifier(n_estimators=3, random_state=0).fit(X[:150], y[:150])
    before = forest.predict_proba(X)
    stacked = stack_members(forest, X, y)
    assert stacked.ensemble_.estimator is forest
    np.testing.assert_array_equal(forest.predict_proba(X), before)
    np.testing.assert_array_equal(clone(stacked).fit(X, y).predict(X), stacked.predict(X))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("ensemble", [ENSEMBLES[0], ENSEMBLES[3], ENSEMBLES[6]], ids=str)
def test_frames(wine, frame, ensemble):
    X, y = wine
    names = [f"c{j}" for j in range(X.shape[1])]
    rows = frame(dict(zip(names, X.T, strict=True)))
    stacked = stack_members(clone(ensemble).fit(rows, y), rows, y)
    assert stacked.feature_names_in_.tolist() == names
    assert stacked.score(rows, y) > 0.9


def test_words_reach_members_that_can_read_them():
    from sklearn.preprocessing import OneHotEncoder

    rows = pd.DataFrame({"job": ["cook", "smith"] * 20})
    y = np.array(["b", "a"] * 20)
    member = make_pipeline(OneHotEncoder(), LogisticRegression())
    stacked = stack_members(VotingClassifier([("m", member)]).fit(rows, y), rows, y)
    assert stacked.score(rows, y) == 1


def test_sparse_rows_and_missing_cells(wine):
    X, y = wine
    rows = sparse.csr_array(X)
    bagging = BaggingClassifier(LINEAR, n_estimators=2, max_features=0.9, random_state=0)
    assert MemberStackingClassifier(bagging).fit(rows, y).score(rows, y) > 0.9
    holes = np.where(np.arange(X.size).reshape(X.shape) % 31 == 0, np.nan, X)
    forest = RandomForestClassifier(n_estimators=5, max_depth=3, random_state=0)
    assert MemberStackingClassifier(forest).fit(holes, y).score(holes, y) > 0.9


def test_weights_reach_the_final_estimator(wine):
    X, y = wine
    forest = RandomForestClassifier(n_estimators=3, max_depth=2, random_state=0).fit(X, y)
    weights = np.where(y == 0, 20.0, 1.0)
    plain, weighted = (stack_members(forest, X, y, sample_weight=w) for w in (None, weights))
    assert weighted.predict_proba(X)[:, 0].mean() > plain.predict_proba(X)[:, 0].mean() + 0.01


def test_can_be_saved(wine, tmp_path):
    X, y = wine
    stacked = stack_members(clone(ENSEMBLES[4]).fit(X, y), X, y)
    save(stacked, tmp_path / "m.skops")
    loaded = load(tmp_path / "m.skops").model
    np.testing.assert_array_equal(loaded.predict_proba(X), stacked.predict_proba(X))


@pytest.mark.parametrize(
    ("ensemble", "match"),
    [
        (LogisticRegression(max_iter=1000), "LogisticRegression has no members .* no estimators_"),
        (make_pipeline(MinMaxScaler(), RandomForestClassifier(3)), "of a pipeline, its last step"),
        (GradientBoostingClassifier(n_estimators=2), "no classifiers .DecisionTreeRegressor."),
        (OneVsRestClassifier(DummyClassifier()), "solve other problems"),
    ],
    ids=lambda each: str(each)[:20],
)
def test_what_has_no_members_is_refused(ensemble, match):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=match):
        stack_members(ensemble.fit(X, y), X, y)


def test_bad_input_is_named(wine):
    X, y = wine
    with pytest.raises(NotFittedError):
        stack_members(RandomForestClassifier(), X, y)
    forest = RandomForestClassifier(3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"y holds the classes \[0, 1\], the ensemble knows"):
        stack_members(forest, X[y < 2], y[y < 2])
    with pytest.raises(ValueError, match="expecting 13 features"):
        stack_members(forest, X, y).predict(X[:, :5])
    weights = np.ones(len(y))
    with pytest.raises(ValueError, match=r"OneVsRestClassifier\.fit takes none"):
        MemberStackingClassifier(OneVsRestClassifier(LINEAR)).fit(X, y, sample_weight=weights)
