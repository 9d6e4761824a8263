from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_matrix
from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.metrics import cohen_kappa_score
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from ensemblage.evaluation import (
    MemberDiversityDisplay,
    disagreement,
    entropy_diversity,
    kappa,
    kappa_error,
    oracle_score,
    q_statistic,
)
from ensemblage.evaluation._diversity import member_labels
from ensemblage.fusion import MemberStackingClassifier
from ensemblage.strata import StrataEnsembleClassifier
from ensemblage.subspace import JointSubspaceClassifier

X, codes = load_iris(return_X_y=True)
names = np.array(["setosa", "versicolor", "virginica"])[codes]
shifted = codes + 1
WINE = load_wine(return_X_y=True)

ENSEMBLES = {
    "forest": RandomForestClassifier(6, random_state=0),
    "bagging": BaggingClassifier(DecisionTreeClassifier(), 6, max_features=2, random_state=0),
    "boosting": AdaBoostClassifier(n_estimators=6, random_state=0),
    "voting": VotingClassifier([("nb", GaussianNB()), ("knn", KNeighborsClassifier())]),
    "strata": StrataEnsembleClassifier(n_strata=4, stratum_size=0.5, random_state=0),
    "subspace": JointSubspaceClassifier(n_estimators=4, random_state=0),
    "stacked": MemberStackingClassifier(RandomForestClassifier(6, random_state=0)),
    "pipeline": make_pipeline(StandardScaler(), RandomForestClassifier(6, random_state=0)),
    "search": GridSearchCV(RandomForestClassifier(6, random_state=0), {"max_depth": [2]}, cv=2),
}


@pytest.mark.filterwarnings("ignore:.* strata hold one class only")
@pytest.mark.parametrize("y", [names, shifted], ids=["names", "shifted"])
@pytest.mark.parametrize("name", ENSEMBLES)
def test_members_predict_the_ensembles_classes(name, y):
    ensemble = ENSEMBLES[name].fit(X, y)
    found = member_labels(ensemble, X)
    assert found.shape[1] == len(X)
    assert len(found) >= 2
    assert set(np.unique(found)) <= set(y)
    assert (found == y).mean() > 0.6
    # somebody agrees with the whole, or the members are not its own
    assert (found == ensemble.predict(X)).any(axis=0).mean() > 0.9


def test_a_forest_by_hand():
    forest = ENSEMBLES["forest"].fit(X, names)
    first = forest.classes_[forest.estimators_[0].predict(X).astype(int)]
    np.testing.assert_array_equal(member_labels(forest, X)[0], first)


def test_frames_and_sparse_rows():
    frame = pd.DataFrame(X, columns=list("abcd"))
    forest = RandomForestClassifier(4, random_state=0).fit(frame, names)
    expected = member_labels(forest, frame)
    bare = RandomForestClassifier(4, random_state=0).fit(X, names)
    np.testing.assert_array_equal(member_labels(bare, csr_matrix(X)), expected)


@pytest.mark.parametrize("model", [GaussianNB(), GradientBoostingClassifier(n_estimators=2)])
def test_an_estimator_without_members_is_refused(model):
    with pytest.raises(ValueError, match="has no members that predict its classes"):
        member_labels(model.fit(X, names), X)


def test_members_of_other_problems_are_refused():
    ensemble = RandomForestClassifier(3, random_state=0).fit(X, names)
    ensemble.estimators_ = [GaussianNB().fit(X, names == "setosa")]
    ensemble.estimators_[0].classes_ = np.array([7, 8])
    with pytest.raises(ValueError, match="members all predict its classes"):
        member_labels(ensemble, X)


def test_an_unfitted_ensemble_is_refused():
    with pytest.raises(NotFittedError):
        member_labels(RandomForestClassifier(), X)


MEASURES = (disagreement, q_statistic, kappa, entropy_diversity)


# ten rows, all of class 0: N11 = 4, N10 = 2, N01 = 1, N00 = 3
PAIR = np.array([[0, 0, 0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1, 0, 1, 1, 1]])


TRUTH = np.zeros(10, dtype=int)


ensembles = st.tuples(st.integers(2, 6), st.integers(1, 12)).flatmap(
    lambda shape: st.tuples(
        hnp.arrays(np.int64, shape, elements=st.integers(0, 2)),
        hnp.arrays(np.int64, shape[1], elements=st.integers(0, 2)),
    )
)


def test_a_pair_by_hand():
    assert disagreement(PAIR, TRUTH) == pytest.approx(0.3)
    assert q_statistic(PAIR, TRUTH) == pytest.approx((12 - 2) / (12 + 2))
    assert entropy_diversity(PAIR, TRUTH) == pytest.approx(0.3)
    # three rows with one vote of two: (3 · 1 / 2) / (10 · 1 · 0.55 · 0.45)
    assert kappa(PAIR, TRUTH) == pytest.approx(1 - 1.5 / 2.475)


def test_three_members_by_hand():
    predictions = [[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 0, 1]]
    truth = [0, 0, 0, 0]
    assert disagreement(predictions, truth) == pytest.approx(0.5)
    # Q: 0 with the one that is always right, and 0 between the others (1 · 1 - 1 · 1)
    assert q_statistic(predictions, truth) == 0
    # votes 3, 2, 2, 1: (0 + 2 + 2 + 2) / 3 over 4 · 2 · 2/3 · 1/3
    assert kappa(predictions, truth) == pytest.approx(1 - 2 / (16 / 9))
    assert entropy_diversity(predictions, truth) == pytest.approx(3 / 4)


def test_kappa_error_by_hand():
    found = kappa_error([["a", "a", "b", "b"], ["a", "b", "b", "c"], ["a"] * 4], list("aabb"))
    assert found.pairs.tolist() == [[0, 1], [0, 2], [1, 2]]
    # agree on 2 of 4, by chance 1/2 · 1/4 + 1/2 · 1/2 = 3/8
    assert found.kappa[0] == pytest.approx((1 / 2 - 3 / 8) / (5 / 8))
    assert found.kappa[1] == pytest.approx(0.0)
    assert found.error == pytest.approx([0.25, 0.25, 0.5])


def slow(predictions, y):
    """All measures with loops, as Kuncheva and Whitaker write them."""
    members, rows = predictions.shape
    differences, quotients = [], []
    for i, j in combinations(range(members), 2):
        n = {(a, b): 0 for a in (0, 1) for b in (0, 1)}
        for row in range(rows):
            n[int(predictions[i, row] == y[row]), int(predictions[j, row] == y[row])] += 1
        differences.append((n[0, 1] + n[1, 0]) / rows)
        over, under = n[1, 1] * n[0, 0] - n[0, 1] * n[1, 0], n[1, 1] * n[0, 0] + n[0, 1] * n[1, 0]
        quotients.append(over / under if under else float(n[0, 1] + n[1, 0] == 0))
    split = votes = total = 0.0
    for row in range(rows):
        right = sum(predictions[i, row] == y[row] for i in range(members))
        split += min(right, members - right) / (members - -(-members // 2))
        votes += right * (members - right)
        total += right
    p = total / (members * rows)
    agreement = 1.0
    if votes:
        agreement = 1 - votes / members / (rows * (members - 1) * p * (1 - p))
    return np.mean(differences), np.mean(quotients), agreement, split / rows


@given(ensembles)
def test_measures_equal_the_loops(ensemble):
    assert [measure(*ensemble) for measure in MEASURES] == pytest.approx(list(slow(*ensemble)))


@given(ensembles)
def test_pairwise_kappa_is_cohens(ensemble):
    found = kappa_error(*ensemble)
    for (i, j), value in zip(found.pairs, found.kappa, strict=True):
        one, other = ensemble[0][i], ensemble[0][j]
        # where scikit-learn has 0 / 0, two members that predict one label only agree
        certain = len(set(one) | set(other)) == 1
        expected = 1.0 if certain else cohen_kappa_score(one, other)
        assert value == pytest.approx(expected, abs=1e-9)


@given(ensembles, st.randoms(use_true_random=False))
def test_bounds_and_order(ensemble, random):
    predictions, y = ensemble
    members = random.sample(range(len(predictions)), len(predictions))
    rows = random.sample(range(len(y)), len(y))
    bounds = {disagreement: (0, 1), q_statistic: (-1, 1), entropy_diversity: (0, 1)}
    bounds[kappa] = (-1 / (len(predictions) - 1), 1)
    for measure, (low, high) in bounds.items():
        value = measure(predictions, y)
        assert low - 1e-9 <= value <= high + 1e-9
        assert measure(predictions[members][:, rows], y[rows]) == pytest.approx(value)
    points = kappa_error(predictions, y)
    assert np.isfinite(points.kappa).all()
    assert ((points.error >= 0) & (points.error <= 1)).all()


@given(ensembles)
def test_equal_members_are_not_diverse(ensemble):
    predictions, y = np.tile(ensemble[0][0], (3, 1)), ensemble[1]
    assert [measure(predictions, y) for measure in MEASURES] == [0.0, 1.0, 1.0, 0.0]
    assert kappa_error(predictions, y).kappa == pytest.approx(1.0)


@pytest.mark.parametrize("measure", [*MEASURES, kappa_error])
@pytest.mark.parametrize(
    ("predictions", "y", "message"),
    [
        ([[0, 1]], [0, 1], "holds 1 members and 2 rows"),
        (np.empty((3, 0)), [], "holds 3 members and 0 rows"),
        ([0, 1], [0, 1], r"predictions has shape \(2,\) and y \(2,\)"),
        ([[0, 1], [1, 1]], [0], r"shape \(2, 2\) and y \(1,\)"),
    ],
)
def test_invalid_predictions_are_refused(measure, predictions, y, message):
    with pytest.raises(ValueError, match=message):
        measure(predictions, y)


def test_oracle_and_its_bounds_by_hand():
    # correct rows: the first member 0 and 1, the second 0 and 2, of four
    outputs = np.array(
        [
            [[0.9, 0.1], [0.6, 0.4], [0.7, 0.3], [0.6, 0.4]],
            [[0.8, 0.2], [0.3, 0.7], [0.2, 0.8], [0.9, 0.1]],
        ]
    )
    found = oracle_score(outputs, [0, 0, 1, 1], np.zeros((4, 1)), random_state=0)
    # products: .72 to .02; .18 to .28, wrong; .14 to .24, right; .54 to .04, wrong
    assert found.oracle == 0.75
    assert (found.lower, found.upper) == (0.5, 1.0)
    assert (found.equal_weights, found.shortfall, found.unanimous) == (0.5, 0.25, 0.25)


def test_both_bounds_are_attained():
    outputs = np.eye(2)[[[0, 0, 1, 1, 1, 1], [0, 1, 1, 1, 1, 1]]]
    nested = oracle_score(outputs, [0] * 6, np.zeros((6, 1)))
    assert nested.oracle == nested.lower == pytest.approx(2 / 6)
    outputs[1] = np.eye(2)[[1, 1, 0, 1, 1, 1]]
    disjoint = oracle_score(outputs, [0] * 6, np.zeros((6, 1)))
    assert disjoint.oracle == disjoint.upper == pytest.approx(3 / 6)


def test_a_product_of_three_classes_may_be_above_the_oracle():
    outputs = [[[0.5, 0.1, 0.4]], [[0.1, 0.5, 0.4]]]
    found = oracle_score(outputs, [2], [[0.0]])
    assert (found.oracle, found.equal_weights, found.shortfall) == (0.0, 1.0, -1.0)


def test_decision_values_are_averaged():
    # the first member is surer than both others
    values = np.array([[[3.0, -3.0]], [[-1.0, 1.0]], [[-1.0, 1.0]]])
    assert oracle_score(values, [0], [[0.0]]).equal_weights == 1.0


@given(
    st.tuples(st.integers(1, 5), st.integers(1, 8), st.integers(2, 4)).flatmap(
        lambda shape: st.tuples(
            hnp.arrays(float, shape, elements=st.integers(1, 4)),
            hnp.arrays(np.int64, shape[1], elements=st.integers(0, shape[2] - 1)),
        )
    )
)
def test_the_oracle_is_between_its_bounds(made):
    counts, y = made
    outputs = counts / counts.sum(axis=2, keepdims=True)
    found = oracle_score(outputs, y, np.zeros((len(y), 1)), n_draws=1)
    assert found.unanimous <= found.lower <= found.oracle <= found.upper
    assert found.unanimous <= found.equal_weights
    if outputs.shape[2] == 2:
        assert found.equal_weights <= found.oracle


def test_untrained_classifiers_cover_most_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 8)), rng.integers(2, size=500)
    one = oracle_score(np.full((1, 500, 2), 0.5), y, X, random_state=0)
    ten = oracle_score(np.full((10, 500, 2), 0.5), y, X, random_state=0)
    assert one.untrained == pytest.approx(0.5, abs=0.05)
    assert ten.untrained > 0.95


def test_never_below_the_best_member():
    rng = np.random.default_rng(0)
    outputs, y = rng.random((5, 40, 3)), rng.integers(3, size=40)
    best = (outputs.argmax(axis=2) == y).mean(axis=1).max()
    assert oracle_score(outputs, y, rng.random((40, 2))).oracle >= best


def test_wrong_shapes():
    with pytest.raises(ValueError, match=r"expected \(n_members, n_samples, n_classes\)"):
        oracle_score(np.zeros((3, 2)), [0, 1], np.zeros((2, 1)))
    with pytest.raises(ValueError, match="at least one member, row and class"):
        oracle_score(np.zeros((0, 2, 2)), [0, 1], np.zeros((2, 1)))
    with pytest.raises(ValueError, match="expected finite values"):
        oracle_score(np.full((1, 2, 2), np.nan), [0, 1], np.zeros((2, 1)))


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def forest():
    return RandomForestClassifier(8, random_state=0).fit(WINE[0][::2], WINE[1][::2])


def test_it_plots_the_measures(forest):
    display = MemberDiversityDisplay.from_estimator(forest, WINE[0][1::2], WINE[1][1::2])
    labels = member_labels(forest, WINE[0][1::2])
    points = kappa_error(labels, WINE[1][1::2])
    np.testing.assert_array_equal(
        display.scatter_.get_offsets(), np.column_stack([points.kappa, points.error])
    )
    assert display.measures["disagreement"] == disagreement(labels, WINE[1][1::2])
    assert display.ensemble_error == pytest.approx(1 - forest.score(WINE[0][1::2], WINE[1][1::2]))
    assert display.ax_.get_xlabel() == "agreement of two members (kappa)"
    assert display.figure_ is display.ax_.figure
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend[0] == "28 pairs of 8 members"


def test_it_accepts_predictions_and_axes():
    ax = plt.figure().add_subplot()
    display = MemberDiversityDisplay.from_predictions([[0, 1], [0, 1]], [0, 1], ax=ax)
    assert display.ax_ is ax
    assert display.measures["pairwise_kappa"] == 1.0
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "1 pair of 2 members",
        "mean of the pairs",
    ]


def test_the_perfect_ensemble_is_in_view():
    display = MemberDiversityDisplay.from_predictions(
        [[0, 1, 1], [0, 0, 1]], [0, 1, 1], ensemble_error=0.0
    )
    low, high = display.ax_.get_ylim()
    assert low < 0 < display.points.error.max() < high
