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
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from ensemblage.fusion import (
    Mean,
    MemberStackingClassifier,
    Stacking,
    as_columns,
    encoded_members,
    stack_members,
    stacking_features,
)
from ensemblage.persistence import load, save
from ensemblage.strata import HISS, StrataEnsembleClassifier
from made_outputs import random_outputs


def test_stacked_features_keep_one_column_of_two():
    two = random_outputs(0, n_classes=2)
    np.testing.assert_array_equal(stacking_features(two), two[:, :, 1].T)
    three = random_outputs(0)
    np.testing.assert_array_equal(stacking_features(three)[:, 3:6], three[1])


def test_decision_values_of_two_classes_become_a_pair():
    np.testing.assert_array_equal(as_columns(np.array([2.0, -1.0])), [[-2, 2], [1, -1]])
    assert as_columns(np.ones((2, 3))).shape == (2, 3)


def test_stacking_finds_the_informative_member():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    knows = np.where(y[:, None] == [0, 1], 0.8, 0.2)
    guesses = rng.dirichlet([1, 1], 200)
    fusion = Stacking().fit(np.stack([guesses, knows]), y)
    assert (fusion.combine(np.stack([guesses, knows])).argmax(axis=1) == y).all()
    assert fusion.returns_probabilities(False)


def test_stacking_without_probabilities_gives_decision_values():
    outputs, y = random_outputs(1, n_classes=2), np.arange(30) % 2
    fusion = Stacking(SVC()).fit(outputs, y, sample_weight=np.ones(30))
    scores = fusion.combine(outputs)
    np.testing.assert_allclose(scores[:, 0], -scores[:, 1])
    assert not fusion.returns_probabilities(True)


def test_row_weights_reach_the_final_estimator():
    outputs, y = random_outputs(1, n_classes=2), np.arange(30) % 2
    weights = np.where(y == 1, 3.0, 1.0)
    fusion = Stacking(DummyClassifier(strategy="prior")).fit(outputs, y, sample_weight=weights)
    np.testing.assert_allclose(fusion.combine(outputs)[0], [0.25, 0.75])


def test_linear_stacking_gives_the_weight_of_each_member():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    knows = np.where(y[:, None] == [0, 1], 0.8, 0.2)
    fusion = Stacking().fit(np.stack([rng.dirichlet([1, 1], 200), knows]), y)
    shares = fusion.member_weights(2)
    assert shares[1] > shares[0]
    assert shares.sum() == pytest.approx(1)
    rows = np.stack([knows, knows])[:, :5]
    np.testing.assert_allclose(fusion.row_weights(rows), np.tile(shares, (5, 1)))


def made(n_rows=200):
    rng = np.random.default_rng(0)
    y = rng.normal(size=n_rows)
    means = np.stack([y + 0.3 * rng.normal(size=n_rows), rng.normal(size=n_rows)])
    return np.stack([means, np.ones((2, n_rows))], axis=2), y


def test_a_stack_weights_the_best_member_and_learns_its_variance():
    outputs, y = made()
    stack = Stacking().fit(outputs, y, numeric=True)
    mean, variance = stack.combine(outputs).T
    assert np.mean((mean - y) ** 2) < 0.11
    assert variance[0] == pytest.approx(0.09, rel=0.3)
    assert stack.member_weights(2)[0] > 0.8


def test_the_variance_of_a_stack_is_out_of_fold():
    outputs, y = made()
    by_heart = Stacking(DecisionTreeRegressor(random_state=0)).fit(outputs, y, numeric=True)
    assert np.mean((by_heart.combine(outputs)[:, 0] - y) ** 2) < 1e-9
    assert by_heart.variance_ > 0.05


def test_a_stack_without_coefficients_or_weights():
    outputs, y = made()
    stack = Stacking(KNeighborsRegressor()).fit(
        outputs, y, numeric=True, sample_weight=np.ones(200)
    )
    assert stack.member_weights(2) is None


def test_weights_reach_mean_and_stack():
    outputs, y = made()
    weights = np.where(np.arange(200) < 100, 1.0, 0.0)
    half = Mean().fit(outputs[:, :100], y[:100], numeric=True)
    assert Mean().fit(outputs, y, numeric=True, sample_weight=weights).variance_ == half.variance_
    heavy = Stacking().fit(outputs, y, numeric=True, sample_weight=weights)
    assert heavy.final_estimator_.coef_[0] > 0.7


def test_perfect_members_leave_a_variance_above_zero():
    outputs, y = made()
    outputs[:, :, 0] = y
    assert Mean().fit(outputs, y, numeric=True).variance_ > 0


X, codes = load_iris(return_X_y=True)


LABELS = np.array(["x", "y", "z"])[codes]


@pytest.mark.parametrize(
    "ensemble",
    [
        AdaBoostClassifier(n_estimators=3, random_state=0),
        BaggingClassifier(DecisionTreeClassifier(), 3, max_features=2, random_state=0),
        RandomForestClassifier(3, random_state=0),
    ],
    ids=lambda each: type(each).__name__,
)
@pytest.mark.parametrize("y", [LABELS, codes + 1], ids=["labels", "shifted"])
def test_labels_integers_and_floats_all_become_codes(ensemble, y):
    members = encoded_members(ensemble.fit(X, y))
    assert len(members) == 3
    for member in members:
        found = member.predict(X)
        assert found.dtype.kind == "i"
        assert (found == codes).mean() > 0.6
        np.testing.assert_array_equal(found, member.predict_proba(X).argmax(axis=1))


def test_one_vs_rest_members_are_rejected():
    each_class = OneVsRestClassifier(LogisticRegression(max_iter=1000)).fit(X, codes)
    with pytest.raises(ValueError, match="members all predict its classes"):
        encoded_members(each_class)


def test_an_ensemble_without_members():
    empty = RandomForestClassifier(2, random_state=0).fit(X, codes)
    empty.estimators_ = []
    for model in (GaussianNB().fit(X, codes), empty):
        with pytest.raises(ValueError, match="has no members that predict its classes: it has no"):
            encoded_members(model)


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


def test_each_bagged_member_uses_its_own_columns(wine):
    X, y = wine
    bagging = BaggingClassifier(LINEAR, n_estimators=3, max_features=4, random_state=0).fit(X, y)
    outputs = [
        member.predict_proba(X[:, columns])
        for member, columns in zip(bagging.estimators_, bagging.estimators_features_, strict=True)
    ]
    by_hand = LogisticRegression().fit(stacking_features(np.stack(outputs)), y)
    expected = by_hand.predict_proba(stacking_features(np.stack(outputs)))
    np.testing.assert_allclose(stack_members(bagging, X, y).predict_proba(X), expected)


def test_a_class_unseen_by_a_member(wine):
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


def test_categories_are_passed_to_members_that_support_them():
    from sklearn.preprocessing import OneHotEncoder

    rows = pd.DataFrame({"job": ["cook", "smith"] * 20})
    y = np.array(["b", "a"] * 20)
    member = make_pipeline(OneHotEncoder(), LogisticRegression())
    stacked = stack_members(VotingClassifier([("m", member)]).fit(rows, y), rows, y)
    assert stacked.score(rows, y) == 1


def test_sparse_rows_and_missing_values(wine):
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
        (make_pipeline(MinMaxScaler(), RandomForestClassifier(3)), "for a pipeline, its last step"),
        (GradientBoostingClassifier(n_estimators=2), "not classifiers .DecisionTreeRegressor."),
        (OneVsRestClassifier(DummyClassifier()), "members all predict its classes"),
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
    with pytest.raises(ValueError, match=r"y has the classes \[0, 1\], the ensemble \["):
        stack_members(forest, X[y < 2], y[y < 2])
    with pytest.raises(ValueError, match="expecting 13 features"):
        stack_members(forest, X, y).predict(X[:, :5])
    weights = np.ones(len(y))
    with pytest.raises(ValueError, match=r"OneVsRestClassifier\.fit does not take it"):
        MemberStackingClassifier(OneVsRestClassifier(LINEAR)).fit(X, y, sample_weight=weights)
