"""Fitted attributes that no fit makes are refused, scikit-learn's own among them."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import SVC

from ensemblage.messages import DamagedStateError
from ensemblage.persistence._foreign_state import check_common, check_foreign
from ensemblage.strata import HISS, StrataEnsembleClassifier

X = np.random.default_rng(0).normal(size=(40, 3))
Y = np.arange(40) % 2
SOUND = [
    LogisticRegression().fit(X, Y),
    Ridge().fit(X, Y),
    SVC().fit(X, Y),
    DummyClassifier().fit(X, Y),
    BaggingClassifier(LogisticRegression(), 2, random_state=0).fit(X, Y),
    NearestNeighbors().fit(X),
]


@pytest.mark.parametrize("part", SOUND, ids=lambda part: type(part).__name__)
def test_what_a_fit_makes_is_sound(part):
    check_common(part)
    check_foreign(part)


@pytest.mark.parametrize(
    ("part", "name", "value", "told"),
    [
        (LogisticRegression(), "coef_", np.zeros((1, 2)), "coef_ has another shape"),
        (LogisticRegression(), "intercept_", np.array([np.nan]), "intercept_ holds no finite"),
        (Ridge(), "coef_", np.full(3, np.inf), "coef_ holds no finite numbers"),
        (SVC(), "support_", np.full(3, -1), "support"),
        (SVC(), "_n_support", np.array([9, 999], np.int32), "not as many as counted"),
        (DummyClassifier(), "_strategy", "eval", "_strategy is none"),
        (NearestNeighbors(), "_fit_method", "x", "_fit_method is none"),
    ],
)
def test_what_no_fit_makes_is_refused(part, name, value, told):
    part.fit(X, Y)
    setattr(part, name, value)
    with pytest.raises(DamagedStateError, match=told):
        check_foreign(part)


def test_bags_look_at_columns_that_there_are():
    part = BaggingClassifier(LogisticRegression(), 2, random_state=0).fit(X, Y)
    part.estimators_features_ = [np.array([0, 1, 7])] * 2
    with pytest.raises(DamagedStateError, match="looks at no column"):
        check_foreign(part)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("n_features_in_", -1, "n_features_in_ is"),
        ("feature_names_in_", np.array(["a"], dtype=object), "does not name each column"),
        ("n_jobs", 10**9, "n_jobs is no number of workers"),
        ("stratifier_", HISS(2, 0.5), "stratifier_ is not fitted"),
        ("estimators_", "all of them", "estimators_ is no list"),
        ("fusion_", 3, "fusion_ is not fitted"),
    ],
)
def test_parts_of_ours_are_whole(name, value, told):
    model = StrataEnsembleClassifier(HISS(2, 0.5), cv=2, random_state=0).fit(X, Y)
    check_common(model)
    setattr(model, name, value)
    with pytest.raises(DamagedStateError, match=told):
        check_common(model)
