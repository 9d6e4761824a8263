import os
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris

from ensemblage._core import guarded_fit
from ensemblage.bayes import BayesNetClassifier, MDLPDiscretizer
from ensemblage.consensus import EvidenceAccumulation
from ensemblage.datasets import TableEncoder
from ensemblage.inner import InnerBayesNetClassifier, InnerKMeans, InnerTreeClassifier
from ensemblage.pool import EnsemblageClassifier
from ensemblage.sources import PartialPoolingClassifier
from ensemblage.strata import (
    HISS,
    BootstrapStrata,
    MixtureStrata,
    ScaledLogisticRegression,
    StrataEnsembleClassifier,
)
from ensemblage.subspace import JointSubspaceClassifier, JointSubspaceSelector

X, Y = load_iris(return_X_y=True)
OTHER, OTHER_Y = X[20:, :3], (Y[20:] == 1).astype(int)

ESTIMATORS = [
    HISS(2, random_state=0),
    MixtureStrata(2, random_state=0),
    BootstrapStrata(2, random_state=0),
    ScaledLogisticRegression(),
    PartialPoolingClassifier(),
    StrataEnsembleClassifier(n_strata=2, random_state=0),
    JointSubspaceClassifier(2, max_iter=2, random_state=0),
    JointSubspaceSelector(2, max_iter=2, random_state=0),
    BayesNetClassifier(),
    InnerBayesNetClassifier(n_views=2, random_state=0),
    MDLPDiscretizer(),
    InnerKMeans(2, n_views=2, random_state=0),
    InnerTreeClassifier(n_views=2, random_state=0),
    EvidenceAccumulation(2, random_state=0),
    EnsemblageClassifier(["logistic", "network"], random_state=0),
    TableEncoder(),
]


class Counting:
    """Fails when a fit sets an attribute for the second time."""

    @guarded_fit
    def fit(self, fail):
        self.first_ = object()
        if fail:
            raise KeyboardInterrupt
        self.second_ = object()
        return self


def test_a_first_fit_that_fails_leaves_nothing():
    model = Counting()
    with pytest.raises(KeyboardInterrupt):
        model.fit(fail=True)
    assert vars(model) == {}


def test_a_second_fit_that_fails_leaves_the_first():
    model = Counting().fit(fail=False)
    before = dict(vars(model))
    with pytest.raises(KeyboardInterrupt):
        model.fit(fail=True)
    assert vars(model) == before


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
@pytest.mark.filterwarnings("ignore")
def test_an_interrupted_fit_restores_the_estimator(estimator, monkeypatch):
    fitted = estimator.fit(X, Y)
    before = dict(vars(fitted))
    kind = type(estimator)
    seen = []

    def interrupted(self, name, value):
        object.__setattr__(self, name, value)
        if self is fitted and name.endswith("_"):
            seen.append(name)
            raise KeyboardInterrupt

    monkeypatch.setattr(kind, "__setattr__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(OTHER, OTHER_Y)
    assert seen
    assert vars(fitted).keys() == before.keys()
    assert all(vars(fitted)[name] is value for name, value in before.items())


LONG_FIT = """
import numpy as np, ensemblage.strata as s, sys, warnings
warnings.simplefilter("ignore")
X = np.random.default_rng(0).normal(size=(200_000, 10))
s.HISS(4, max_iter=1, random_state=0).fit(X[:1000])
print("ready", flush=True)
try:
    s.HISS(16, max_iter=500, tol=0, random_state=0).fit(X)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("wait", [0.3, 1.0])
def test_ctrl_c_in_a_kernel_is_ctrl_c(wait):
    with subprocess.Popen(
        [sys.executable, "-c", LONG_FIT], stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout.readline() == "ready\n"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(wait)
        os.kill(process.pid, signal.SIGINT)
        assert process.stdout.read() == "interrupted\n"
    assert process.returncode == 0


def test_warnings_point_to_the_caller():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        InnerKMeans(3, n_views=2, max_iter=1, random_state=0).fit(np.repeat(X, 2, axis=0))
    assert {each.filename for each in caught} <= {__file__}
