import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ensemblage.evaluation import nmi_score, purity_score, stability_score
from ensemblage.inner import InnerKMeans

labels = st.lists(st.integers(0, 3), min_size=2, max_size=30)


def test_purity_is_the_share_of_the_largest_class():
    assert purity_score(["a", "a", "b", "b", "b"], [0, 0, 0, 1, 1]) == pytest.approx(0.8)


def test_nmi_divides_by_the_root_of_the_entropies():
    # joint: I = 3/4 log 4/3 ... written out over the three cells (a0 .5, b0 .25, b1 .25)
    entropy = [np.log(2), 0.75 * np.log(4 / 3) + 0.25 * np.log(4)]
    shared = 0.5 * np.log(0.5 / 0.375) + 0.25 * np.log(0.25 / 0.375) + 0.25 * np.log(0.25 / 0.125)
    expected = shared / np.sqrt(entropy[0] * entropy[1])
    assert nmi_score(["a", "a", "b", "b"], [0, 0, 0, 1]) == pytest.approx(expected)


@given(labels)
def test_a_clustering_by_class_is_perfect(classes):
    assert purity_score(classes, classes) == 1
    assert nmi_score(classes, [7 - each for each in classes]) == pytest.approx(1)


@given(labels, st.randoms())
def test_scores_lie_between_zero_and_one(classes, random):
    clusters = [random.randint(0, 2) for _ in classes]
    assert 0 < purity_score(classes, clusters) <= 1
    assert 0 <= nmi_score(classes, clusters) <= 1 + 1e-12


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


def test_one_start_has_nothing_to_agree_with():
    with pytest.raises(ValueError, match="n_starts=1"):
        stability_score(InnerKMeans(2), np.zeros((5, 2)), n_starts=1)
