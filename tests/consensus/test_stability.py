import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_wine, make_blobs
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from consensus.generated import blobs_of_unequal_size
from ensemblage.consensus import (
    ClusterStabilityDisplay,
    StabilityCurve,
    stability_curve,
    stability_score,
)
from ensemblage.consensus._stability import _pairs, _principal
from ensemblage.inner import InnerKMeans
from reference.papers_data import read

mpl.use("Agg")
from matplotlib import pyplot as plt

# two clusters: every pair is always or never together; three: uniform consensus
CDF = np.array([np.where(np.arange(101) < 100, 0.5, 1.0), np.linspace(0, 1, 101)])
CURVE = StabilityCurve(np.array([2, 3]), CDF, np.array([[0.3, 0.8], [0.5, 0.6]]))


def test_a_clear_structure_is_stable_and_none_is_not():
    clear, _ = make_blobs(200, centers=3, cluster_std=0.3, random_state=0)
    none = np.random.default_rng(0).uniform(size=(200, 5))
    model = InnerKMeans(3, random_state=0)
    assert stability_score(model, clear) == pytest.approx(1)
    assert stability_score(model, none) < 0.9


def test_a_search_chooses_by_stability_without_labels():
    X = np.random.default_rng(0).normal(size=(120, 6))
    model = make_pipeline(StandardScaler(), InnerKMeans(4, random_state=0))
    grid = {"innerkmeans__n_views": [5, 25], "innerkmeans__view_size": [0.3, 0.8]}
    everything = [(np.arange(120), np.arange(120))]
    search = GridSearchCV(model, grid, scoring=stability_score, cv=everything).fit(X)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()


def test_one_start_raises():
    with pytest.raises(ValueError, match="n_starts=1"):
        stability_score(InnerKMeans(2), np.zeros((5, 2)), n_starts=1)


def test_figures_by_hand():
    # two clusters: half of the pairs always together, half never; three: uniform consensus
    cdf = np.array([np.where(np.arange(101) < 100, 0.5, 1.0), np.linspace(0, 1, 101)])
    curve = StabilityCurve(np.array([2, 3]), cdf, np.array([[0.3, 0.8], [0.5, 0.9]]))
    np.testing.assert_allclose(curve.ambiguity, [0.0, 0.79])  # .11 to .89
    np.testing.assert_allclose(curve.relative_stability, [1.0, 0.06 / 0.85])
    np.testing.assert_allclose(curve.area, [0.5025, 0.5])
    np.testing.assert_allclose(curve.delta_area, [0.5025, (0.5 - 0.5025) / 0.5025])
    assert curve.best_n_clusters == 2
    assert curve.reason == (
        "2 clusters chosen from 2 to 3: the largest k within 0.05 of the highest stability "
        "relative to a null reference. Clusterings of subsamples disagree on 0% of row pairs (null "
        "reference: 40%; p = 0.33)."
    )


def test_one_cluster_if_no_number_is_more_stable_than_the_references():
    curve = StabilityCurve(
        np.array([2, 3]), np.tile(np.linspace(0, 1, 101), (2, 1)), np.ones((1, 2)) / 2
    )
    assert curve.best_n_clusters == 1
    assert curve.reason.startswith("1 cluster: with 2 to 3 clusters")


def test_number_of_clusters_of_blobs_and_wine():
    X, _ = make_blobs(150, centers=5, cluster_std=0.4, random_state=4)
    assert stability_curve(X, random_state=0).best_n_clusters == 5
    assert stability_curve(scale(load_wine().data), random_state=0).best_n_clusters == 3


def test_the_same_seed_gives_the_same_curve_for_any_n_jobs():
    X, _ = make_blobs(60, centers=3, random_state=0)
    options = {"n_partitions": 5, "n_references": 2, "max_rows": 50, "random_state": 1}
    one, two = (stability_curve(X, n_jobs=n_jobs, **options) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.cdf, two.cdf)
    np.testing.assert_array_equal(one.references, two.references)


@given(st.integers(2, 30), st.integers(1, 4), st.integers(0, 100))
@settings(deadline=None, max_examples=20)
def test_any_rows_give_distributions(n_rows, n_features, seed):
    X = np.random.default_rng(seed).integers(0, 2, size=(n_rows, n_features)) * 1e3
    curve = stability_curve(X, n_partitions=4, n_references=2, random_state=seed)
    assert (np.diff(curve.cdf, axis=1) >= 0).all()
    np.testing.assert_array_equal(curve.cdf[:, -1], 1.0)
    assert 1 <= curve.best_n_clusters <= max(2, n_rows // 5)


def test_principal_axes_keep_distances():
    X = np.random.default_rng(0).normal(size=(20, 3)) @ np.ones((3, 5))
    rows = _principal(X)
    assert rows.shape[1] == 1
    np.testing.assert_allclose(
        np.abs(rows[1:] - rows[0]).ravel(), np.linalg.norm(X[1:] - X[0], axis=1)
    )


def test_pairs_are_of_different_rows():
    assert _pairs(4, np.random.default_rng(0)).tolist() == [
        [0, 1],
        [0, 2],
        [0, 3],
        [1, 2],
        [1, 3],
        [2, 3],
    ]
    many = _pairs(1000, np.random.default_rng(0))
    assert many.shape == (20_000, 2)
    assert (many[:, 0] != many[:, 1]).all()


@pytest.mark.parametrize("numbers", [[1, 2], [], [2, 30]])
def test_invalid_numbers_of_clusters_raise(numbers):
    with pytest.raises(ValueError, match=r"must be integers from 2 to 16 \(80% of 20 rows\)"):
        stability_curve(np.zeros((20, 1)), numbers)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_ambiguity_is_plotted_with_the_references():
    display = ClusterStabilityDisplay.from_curve(CURVE)
    data, without = display.lines_
    np.testing.assert_allclose(data.get_ydata(), [0.0, 0.79])
    np.testing.assert_allclose(without.get_ydata(), [0.4, 0.7])


def test_each_number_has_a_cdf_and_a_delta_area():
    _, ax = plt.subplots()
    display = ClusterStabilityDisplay.from_curve(CURVE, kind="cdf", ax=ax)
    assert display.ax_ is ax
    assert [line.get_label() for line in display.lines_] == ["2", "3"]
    growth = ClusterStabilityDisplay.from_curve(CURVE, kind="delta-area").lines_[0].get_ydata()
    np.testing.assert_allclose(growth, CURVE.delta_area)


def test_an_unknown_kind_raises():
    with pytest.raises(ValueError, match=r"kind='area' is not one of: stability, cdf, delta-area"):
        ClusterStabilityDisplay.from_curve(CURVE, kind="area")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_number_of_clusters_of_generated_datasets_within_one():
    near = 0
    for seed in range(200, 230):
        X, n_clusters = blobs_of_unequal_size(seed)
        found = stability_curve(scale(X), random_state=0).best_n_clusters
        near += abs(found - n_clusters) <= 1
    assert near >= 24


@pytest.mark.slow
def test_number_of_clusters_of_known_datasets_is_the_number_of_classes_within_one(shared):
    classes = {"iris": 3, "wine": 3}
    for name, expected in classes.items():
        X, _ = read(shared, name)
        found = stability_curve(scale(X[:, X.std(axis=0) > 0]), random_state=0).best_n_clusters
        assert abs(found - expected) <= 1, (name, found)
