import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ensemblage.evaluation import stability_score
from ensemblage.inner import InnerKMeans


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
