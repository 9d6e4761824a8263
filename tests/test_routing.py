"""Sources, groups and weights are routed; what the pool is told stands in its own tests."""

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ensemblage.datasets import make_multi_source
from ensemblage.inner import InnerTreeClassifier
from ensemblage.pool import EnsemblageClassifier
from ensemblage.sources import PartialPoolingClassifier, SourceStrata
from ensemblage.strata import StrataEnsembleClassifier
from ensemblage.subspace import JointSubspaceClassifier

X, Y, SOURCES = make_multi_source(3, 150, n_features=3, random_state=0, return_sources=True)
TOLD = {
    "strata": StrataEnsembleClassifier(SourceStrata(), cv=2, random_state=0),
    "pooling": PartialPoolingClassifier(common_penalty=1.0, deviation_penalty=1.0, random_state=0),
}
WEIGHED = {
    "strata": StrataEnsembleClassifier(stratum_size=0.5, n_strata=2, cv=2, random_state=0),
    "pool": EnsemblageClassifier(["logistic"], cv=2, random_state=0),
    "subspaces": JointSubspaceClassifier(n_estimators=1, random_state=0),
    "tree": InnerTreeClassifier(n_views=2, shrinkage=0.0, random_state=0),
}


@pytest.fixture(autouse=True)
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.parametrize("name", TOLD)
def test_sources_reach_a_pipeline_in_cross_validation(name):
    model = TOLD[name].set_fit_request(sources=True).set_score_request(sources=True)
    piped = make_pipeline(StandardScaler(), model)
    told = cross_validate(
        piped, X, Y, cv=2, params={"sources": SOURCES}, return_estimator=True, error_score="raise"
    )
    assert np.isfinite(told["test_score"]).all()
    for each in told["estimator"]:
        known = each[-1]
        assert len(known.coef_ if name == "pooling" else known.estimators_) == 3


@pytest.mark.parametrize("name", TOLD)
def test_sources_reach_a_search(name):
    model = TOLD[name].set_fit_request(sources=True).set_score_request(sources=True)
    search = GridSearchCV(model, {"random_state": [0]}, cv=2, error_score="raise")
    assert np.isfinite(search.fit(X, Y, sources=SOURCES).best_score_)


@pytest.mark.parametrize("name", ["strata", "pool"])
def test_groups_reach_the_estimator_and_the_folds(name):
    model = WEIGHED[name].set_fit_request(groups=True, sample_weight=False)
    found = cross_validate(
        model, X, Y, cv=GroupKFold(3), params={"groups": np.arange(150) // 5}, error_score="raise"
    )
    assert np.isfinite(found["test_score"]).all()


@pytest.mark.parametrize("name", WEIGHED)
def test_weights_reach_a_pipeline(name):
    model = WEIGHED[name].set_fit_request(sample_weight=True)
    weights = np.where(Y == 1, 8.0, 0.5)
    piped = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
    plain = piped.fit(X, Y).predict(X).mean()
    weighed = piped.fit(X, Y, sample_weight=weights).predict(X).mean()
    assert weighed > plain
