"""Every public estimator in a small configuration, for tests of all estimators."""

import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import has_fit_parameter

from ensemblage.bayes import BayesNetClassifier, MDLPDiscretizer
from ensemblage.consensus import CSPA, HBGF, HGPA, MCLA, EvidenceAccumulation
from ensemblage.datasets import TableEncoder
from ensemblage.fusion import MemberStackingClassifier
from ensemblage.inner import (
    InnerBayesNetClassifier,
    InnerKMeans,
    InnerTreeClassifier,
    InnerTreeRegressor,
)
from ensemblage.pool import EnsemblageClassifier, EnsemblageRegressor
from ensemblage.sources import (
    AdaptedClassifier,
    AdaptedRegressor,
    PartialPoolingClassifier,
    PartialPoolingRegressor,
    RecalibratedClassifier,
    SourceStrata,
)
from ensemblage.strata import (
    HISS,
    BootstrapStrata,
    KMeansStrata,
    MixtureStrata,
    ScaledLogisticRegression,
    ScaledRidge,
    StrataEnsembleClassifier,
    StrataEnsembleRegressor,
)
from ensemblage.subspace import (
    JointSubspaceClassifier,
    JointSubspaceRegressor,
    JointSubspaceSelector,
    StabilitySelector,
)

CLASSES = "classes"
REGRESSION = "regression"
CLUSTERS = "clusters"
STRATA = "strata"
COLUMNS = "columns"
PLAIN = object()
COSTLY = {
    "EnsemblageClassifier", "EnsemblageRegressor", "HGPA", "JointSubspaceRegressor", "MCLA",
}  # fmt: skip


class Made(NamedTuple):
    """An estimator with its kind, which decides what can be called."""

    name: str
    estimator: Any
    kind: str

    def make(self):
        """Return a clone, with a seed if it has one."""
        fresh = clone(self.estimator)
        return fresh.set_params(random_state=0) if "random_state" in fresh.get_params() else fresh

    @property
    def takes_weights(self):
        """Whether ``fit`` accepts sample weights."""
        return has_fit_parameter(self.estimator, "sample_weight")


_MADE = {
    CLASSES: [
        AdaptedClassifier(LogisticRegression()),
        BayesNetClassifier(),
        InnerBayesNetClassifier(n_views=3),
        InnerTreeClassifier(n_views=3),
        JointSubspaceClassifier(n_estimators=2),
        EnsemblageClassifier(["logistic", "network"], cv=2),
        MemberStackingClassifier(BaggingClassifier(LogisticRegression(), n_estimators=3)),
        PartialPoolingClassifier(common_penalty=1.0, deviation_penalty=1.0),
        RecalibratedClassifier(LogisticRegression()),
        ScaledLogisticRegression(),
        StrataEnsembleClassifier(HISS(2, 0.6), fusion="mean"),
    ],
    REGRESSION: [
        AdaptedRegressor(ScaledRidge()),
        InnerTreeRegressor(n_views=3),
        JointSubspaceRegressor(n_estimators=2),
        EnsemblageRegressor(["ridge", "tree"], cv=2),
        PartialPoolingRegressor(common_penalty=1.0, deviation_penalty=1.0),
        ScaledRidge(),
        StrataEnsembleRegressor(HISS(2, 0.6), fusion="mean"),
    ],
    CLUSTERS: [
        InnerKMeans(2, n_init=1),
        CSPA(2, n_partitions=4),
        HBGF(2, n_partitions=4),
        HGPA(2, n_partitions=4),
        MCLA(n_partitions=4),
        EvidenceAccumulation(2, n_partitions=4),
    ],
    STRATA: [HISS(2, 0.6), MixtureStrata(2), KMeansStrata(2), BootstrapStrata(2), SourceStrata()],
    COLUMNS: [
        MDLPDiscretizer(),
        TableEncoder(),
        JointSubspaceSelector(n_estimators=2),
        StabilitySelector(LogisticRegression(), n_pairs=3, max_false=5.0),
    ],
}
MADE = {
    type(each).__name__: Made(type(each).__name__, each, kind)
    for kind, group in _MADE.items()
    for each in group
}


def made_rows(seed=0, n_rows=40):
    """Return rows of two classes in three columns, their classes, and a numeric target."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 2
    X = rng.normal(size=(n_rows, 3)) + y[:, None]
    return X, y, X[:, 0] + y


def fit_on(made, X, y=PLAIN, **settings):
    """Fit a clone; by default to the target of ``made_rows``."""
    if y is PLAIN:
        _, classes, numbers = made_rows()
        y = numbers if made.kind == REGRESSION else classes
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*was fitted without sources")
        return made.make().fit(X, y, **settings)


def outputs_of(model, X):
    """Return all outputs of a fitted model, by the method's name."""
    outputs = {}
    for name in ("predict", "predict_proba", "decision_function", "transform", "log_affinity"):
        if hasattr(model, name):
            outputs[name] = np.asarray(getattr(model, name)(X))
    return outputs


def are_finite(outputs):
    """Whether all outputs are finite."""
    return all(np.isfinite(each).all() for each in outputs.values() if each.dtype.kind == "f")


def attempt(call):
    """Return the result and "", or None and the message of a ValueError or TypeError."""
    try:
        return call(), ""
    except (ValueError, TypeError) as error:
        return None, f"{error} "


def pairs(cases):
    """Each estimator with each case; one that takes long with every fifth."""
    return [
        pytest.param(made, case, id=f"{name}-{case}")
        for name, made in MADE.items()
        for number, case in enumerate(cases)
        if name not in COSTLY or number % 5 == 0
    ]
