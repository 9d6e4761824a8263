import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import RFE
from sklearn.linear_model import Lasso, LogisticRegression

from ensemblage.datasets import make_hidden_features
from ensemblage.persistence import load, save
from ensemblage.subspace import JointSubspaceSelector, StabilityDisplay, StabilitySelector
from ensemblage.subspace._stability import (
    attained_threshold,
    false_selections,
    max_per_fit,
    select_on_half,
    split_halves,
)


def test_bound_without_assumptions_by_hand():
    # 10^2 / (1000 * (2 * .9 - 1)) = .125
    assert false_selections(10, 1000, 50, 0.9, "none") == pytest.approx(0.125)


def test_unimodal_bound_by_hand():
    # up to three quarters: 1 / (2 (2 * .7 - 1 - .01)) = 1 / .78, times 10^2 / 1000
    low = false_selections(10, 1000, 50, 0.7, "unimodal")
    assert low == pytest.approx(0.1 / 0.78)
    # beyond it: four times .11, over 1.02
    high = false_selections(10, 1000, 50, 0.9, "unimodal")
    assert high == pytest.approx(0.1 * 0.44 / 1.02)


def test_threshold_is_rounded_up_to_an_attainable_frequency():
    assert attained_threshold(0.75, 5) == 0.8
    assert attained_threshold(0.7, 50) == 0.7


def test_too_many_per_fit_use_the_bound_without_assumptions():
    # 7 of 10 is more than 1 / sqrt(3): the bound without assumptions, at most q
    one, other = (false_selections(7, 10, 50, 0.9, kind) for kind in ("unimodal", "none"))
    assert one == other == pytest.approx(4.9 / 0.8)
    assert false_selections(9, 10, 50, 0.6, "none") == 9


@given(st.integers(2, 500), st.integers(1, 100), st.floats(0.51, 1), st.floats(0.01, 10))
def test_max_per_fit_is_the_largest_within_the_bound(p, pairs, threshold, max_false):
    for assumption in ("none", "unimodal"):
        selection = p, pairs, threshold, assumption
        q = max_per_fit(max_false, *selection)
        assert q == 0 or false_selections(q, *selection) <= max_false * (1 + 1e-9)
        for more in range(q + 1, p + 1):
            assert false_selections(more, *selection) > max_false


@given(st.integers(2, 500), st.integers(1, 100), st.floats(0.51, 1), st.integers(1, 500))
def test_unimodal_bound_is_never_larger(p, pairs, threshold, q):
    q = min(q, p)
    plain, sharper = (
        false_selections(q, p, pairs, threshold, kind) for kind in ("none", "unimodal")
    )
    assert 0 < sharper <= plain <= q
    assert math.isfinite(plain)


QUICK = {"n_pairs": 5, "random_state": 0}


@pytest.fixture(scope="module")
def hidden():
    return make_hidden_features("linear", 200, n_features=12, random_state=0)


def test_halves_are_disjoint_and_stratified():
    y = np.array([0] * 9 + [1] * 4 + [2] * 2)
    first, second = split_halves(y, np.random.default_rng(0))
    assert len(first) == len(second) == 7
    assert not set(first) & set(second)
    for label, least in ((0, 4), (1, 2), (2, 1)):
        for half in (first, second):
            # the row left over, as the rows are odd in number, is one of the last class
            assert (y[half] == label).sum() >= least - (label == 2)


def test_halves_of_a_numeric_target_are_random():
    y = np.arange(10) + 0.5
    first, second = split_halves(y, np.random.default_rng(0))
    assert sorted([*first, *second]) == list(range(10))


@pytest.mark.parametrize("estimator", [
    LogisticRegression(), RandomForestClassifier(20), RFE(LogisticRegression()),
    JointSubspaceSelector(n_estimators=3, max_iter=50, basis="linear"), None,
])  # fmt: skip
def test_finds_relevant_features(hidden, estimator):
    X, y, relevant = hidden
    stable = StabilitySelector(estimator, n_features_per_fit=3, **QUICK).fit(X, y)
    np.testing.assert_array_equal(stable.support_, relevant)
    assert stable.transform(X).shape == (200, 3)
    assert stable.frequencies_.sum() <= 3 + 1e-9


def test_numeric_target(hidden):
    X, _, relevant = hidden
    y = X[:, relevant] @ [1.0, 1.0, 2.0]
    for estimator in (Lasso(0.1), None):
        stable = StabilitySelector(estimator, n_features_per_fit=3, **QUICK).fit(X, y)
        np.testing.assert_array_equal(stable.support_, relevant)


def test_frequencies_are_the_mean_of_the_fits(hidden):
    X, y, _ = hidden
    stable = StabilitySelector(LogisticRegression(), **QUICK).fit(X, y)
    np.testing.assert_allclose(np.diag(stable.co_selection_), stable.frequencies_)
    np.testing.assert_array_equal(stable.frequencies_ * 10 % 1, 0)
    np.testing.assert_array_equal(stable.support_, stable.frequencies_ >= 0.8)


def test_feature_names_and_persistence(hidden, tmp_path):
    X, y, relevant = hidden
    frame = pd.DataFrame(X, columns=[f"c{d}" for d in range(12)])
    stable = StabilitySelector(LogisticRegression(), n_features_per_fit=3, **QUICK).fit(frame, y)
    assert list(stable.get_feature_names_out()) == list(frame.columns[relevant])
    save(stable, tmp_path / "m.skops", columns=list(frame.columns), kinds=["numeric"] * 12)
    again = load(tmp_path / "m.skops").model
    np.testing.assert_array_equal(again.transform(frame), stable.transform(frame))


def test_same_bits_for_any_number_of_jobs(hidden):
    one, two = (
        StabilitySelector(RandomForestClassifier(5), n_jobs=jobs, **QUICK).fit(*hidden[:2])
        for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.co_selection_, two.co_selection_)


def test_ties_are_random_and_zero_importance_is_not_selected():
    X, y = np.repeat(np.array([[0.0], [1.0]] * 4), 6, axis=1), np.array([0, 1] * 4)
    X = np.column_stack([np.zeros(8), X])
    rows = np.arange(8)
    masks = [select_on_half(LogisticRegression(), X, y, rows, 1, seed) for seed in range(30)]
    assert len({int(mask.argmax()) for mask in masks}) > 3
    everything = select_on_half(LogisticRegression(), X, y, rows, 7, 0)
    np.testing.assert_array_equal(everything, [False] + [True] * 6)


@pytest.mark.parametrize(("options", "message"), [
    ({"threshold": 0.5}, "threshold"),
    ({"assumption": "r-concave"}, "assumption"),
    ({"max_false": 0.001}, r"max_false=0.001 is not attainable with 12 features and threshold"),
    ({"n_features_per_fit": 13}, "n_features_per_fit=13, but X has 12 features"),
    ({"estimator": DummyClassifier()}, "DummyClassifier has no parameter n_features_to_select"),
])  # fmt: skip
def test_invalid_parameters_raise(hidden, options, message):
    with pytest.raises(ValueError, match=message):
        StabilitySelector(**{**QUICK, **options}).fit(*hidden[:2])


@pytest.mark.slow
@pytest.mark.parametrize("assumption", ["none", "unimodal"])
def test_false_selections_are_below_the_bound(assumption):
    # all features but three are noise; a weak signal and a low threshold favour false selections
    wrong = []
    for seed in range(60):
        X, y, relevant = make_hidden_features("linear", 80, flip_y=0.25, random_state=seed)
        stable = StabilitySelector(
            LogisticRegression(), threshold=0.6, max_false=1.0, n_pairs=25, assumption=assumption,
            random_state=seed,
        ).fit(X, y)  # fmt: skip
        wrong.append(int((stable.support_ & ~relevant).sum()))
    assert stable.error_bound_ <= 1
    assert np.mean(wrong) <= stable.error_bound_


@pytest.fixture(autouse=True)
def no_window():
    pytest.importorskip("matplotlib").use("Agg")
    yield
    from matplotlib import pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def stable():
    X, y, _ = make_hidden_features("linear", 150, n_features=12, random_state=0)
    return StabilitySelector(LogisticRegression(), n_pairs=5, random_state=0).fit(X, y)


def test_plots_the_frequencies(stable):
    display = StabilityDisplay.from_estimator(stable, top=5)
    assert len(display.bars_) == 5
    widths = [bar.get_width() for bar in display.bars_]
    np.testing.assert_allclose(widths, np.sort(stable.frequencies_)[::-1][:5])
    assert display.ax_.get_title().startswith("Expected false selections: at most ")
    assert sorted(display.selected()) == sorted(
        str(d) for d in stable.get_support(indices=True)
    )  # fmt: skip


def test_bars_of_selected_features_have_another_colour():
    display = StabilityDisplay([0.2, 0.9, 0.75], 0.75, feature_names=["a", "b", "c"]).plot()
    assert display.selected() == ["b", "c"]
    colors = [bar.get_facecolor() for bar in display.bars_]
    assert colors[0] == colors[1] != colors[2]
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["b", "c", "a"]
    assert not display.ax_.get_title()


def test_invalid_shapes_raise():
    with pytest.raises(ValueError, match="expected one value per feature"):
        StabilityDisplay(np.eye(2), 0.75)
    with pytest.raises(ValueError, match="feature_names has 1 entries for 2 features"):
        StabilityDisplay([0.1, 0.2], 0.75, feature_names=["a"])
