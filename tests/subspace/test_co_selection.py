import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from ensemblage.subspace import (
    CoSelectionDisplay,
    JointSubspaceSelector,
    co_selection,
)
from ensemblage.subspace._co_selection import (
    coefficient_sizes,
    contribution_sizes,
    feature_labels,
    group_sizes,
    power_mean_scores,
)
from ensemblage.subspace._objectives import Rows

masks = arrays(bool, st.tuples(st.integers(1, 8), st.integers(1, 6)))


@given(masks)
def test_equals_eq_12_entry_by_entry(supports):
    matrix = co_selection(supports)
    n_members, n_features = supports.shape
    for p in range(n_features):
        for q in range(n_features):
            together = sum(supports[k, p] * supports[k, q] for k in range(n_members))
            assert matrix[p, q] == pytest.approx(together / n_members)


@given(masks, st.randoms(use_true_random=False))
def test_marks_are_equivariant_to_column_order(supports, random):
    order = list(range(supports.shape[1]))
    random.shuffle(order)
    count = min(2, len(order) * (len(order) - 1) // 2)
    asked = {"binary": True, "top_pairs": count, "top_features": 1}
    marks, moved = co_selection(supports, **asked), co_selection(supports[:, order], **asked)
    np.testing.assert_array_equal(moved, marks[np.ix_(order, order)])
    np.testing.assert_array_equal(marks, marks.T)


def test_thresholds_by_hand():
    supports = [[1, 1, 0], [1, 1, 0], [1, 0, 1], [1, 0, 0]]
    marks = co_selection(supports, binary=True, cross_threshold=0.4, individual_threshold=0.5)
    np.testing.assert_array_equal(marks, [[1, 1, 0], [1, 0, 0], [0, 0, 0]])


def test_zero_frequencies_are_not_marked():
    assert not co_selection(np.zeros((2, 3)), binary=True, top_pairs=1, top_features=1).any()
    assert not co_selection(np.ones((2, 3)), binary=True, top_pairs=0, top_features=0).any()


def test_invalid_counts_raise():
    supports = np.eye(3)
    with pytest.raises(ValueError, match="both given"):
        co_selection(supports, binary=True, cross_threshold=0.5, top_pairs=1)
    with pytest.raises(ValueError, match=r"top_features=9; expected an integer from 0 to 3"):
        co_selection(supports, binary=True, top_features=9)


def test_power_one_is_frequency_times_mean_size():
    coefs = np.array([[[3.0, 1.0], [-3.0, -1.0]], [[1.0, 5.0], [-1.0, -5.0]]])
    supports = np.array([[True, True], [True, False]])
    # sizes are sqrt(2) times the entries; the first feature is used twice, the second once
    np.testing.assert_allclose(
        power_mean_scores(coefficient_sizes(coefs), supports, 1.0), np.sqrt(2) * np.array([2, 0.5])
    )


@given(st.integers(0, 99), st.floats(1, 8))
def test_score_lies_between_mean_and_largest(seed, power):
    rng = np.random.default_rng(seed)
    sizes = coefficient_sizes(rng.normal(size=(4, 3, 5)))
    supports = rng.random((4, 5)) < 0.7
    score = power_mean_scores(sizes, supports, power)
    assert (score >= power_mean_scores(sizes, supports, 1.0) - 1e-12).all()
    assert (score <= power_mean_scores(sizes, np.ones_like(supports), 200.0) * 1.02 + 1e-12).all()


def test_constant_coefficients_score_zero():
    sizes = coefficient_sizes(np.ones((2, 3, 4)))
    np.testing.assert_array_equal(power_mean_scores(sizes, np.ones((2, 4), bool)), 0)


def test_a_numeric_target_has_no_class_axis():
    np.testing.assert_array_equal(coefficient_sizes(np.array([[-2.0, 0.5]])), [[2, 0.5]])


def test_a_group_has_the_sum_of_its_sizes():
    sizes = np.array([[1.0, 2.0, 4.0]])
    np.testing.assert_array_equal(group_sizes(sizes, np.array([0, 1, 0])), [[5, 2, 5]])
    np.testing.assert_array_equal(group_sizes(sizes, np.arange(3)), sizes)


def test_basis_columns_of_a_feature_are_summed_first():
    # columns: two features, and a basis column that cancels half of the first
    features = np.array([[1.0, -1.0], [1.0, -1.0], [1.0, -1.0]])
    rows = Rows(features, np.array([0, 1]), np.array([0.5, 0.5]), 2, 2.0)
    coefs = np.array([[2.0, 3.0, -1.5]])
    owners = np.array([0, 1, 0]), np.array([0, 1, 0])
    np.testing.assert_allclose(contribution_sizes(coefs, rows, owners), [[0.5, 3]])
    # a product belongs to both
    owners = np.array([0, 1, 0]), np.array([0, 1, 1])
    np.testing.assert_allclose(contribution_sizes(coefs, rows, owners), [[0.5, 1.5]])


def test_default_names_are_indices():
    assert feature_labels(("a", "b"), 2) == ["a", "b"]
    assert feature_labels(None, 2) == ["0", "1"]


def test_one_name_per_feature():
    with pytest.raises(
        ValueError, match="feature_names has 1 entries for 2 features; expected one"
    ):
        feature_labels(["a"], 2)


@pytest.fixture(autouse=True)
def no_window():
    pytest.importorskip("matplotlib").use("Agg")
    yield
    from matplotlib import pyplot as plt

    plt.close("all")


def test_plots_names_and_fractions():
    X, y = load_iris(return_X_y=True, as_frame=True)
    selector = JointSubspaceSelector(n_estimators=2, max_iter=5, random_state=0).fit(X, y)
    display = CoSelectionDisplay.from_estimator(selector)
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == list(X.columns)
    np.testing.assert_array_equal(display.im_.get_array(), selector.co_selection_)
    assert display.figure_ is display.ax_.figure


def test_on_given_axes():
    from matplotlib import pyplot as plt

    ax = plt.subplots()[1]
    assert CoSelectionDisplay(np.eye(3)).plot(ax=ax).ax_ is ax


def test_invalid_input_raises():
    with pytest.raises(ValueError, match="expected a square"):
        CoSelectionDisplay(np.ones((2, 3)))
    with pytest.raises(ValueError, match="one name per feature"):
        CoSelectionDisplay(np.eye(2), feature_names=["a"])
    with pytest.raises(NotFittedError):
        CoSelectionDisplay.from_estimator(JointSubspaceSelector())
