import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ensemblage.inner import InnerKMeans
from ensemblage.messages import warn_user
from ensemblage.strata import (
    HISS,
    PartialPoolingClassifier,
    ScaledLogisticRegression,
    StrataEnsembleClassifier,
)

X, Y = load_iris(return_X_y=True)
CONSTANT = np.c_[X, np.ones(150)]
ASKED = {
    "strata of one class": lambda: StrataEnsembleClassifier(random_state=0).fit(X, Y),
    "few rows of a class": lambda: StrataEnsembleClassifier(random_state=0).fit(
        X, np.arange(150) < 3
    ),
    "max_iter": lambda: HISS(3, 0.4, max_iter=1).fit(X),
    "constant column": lambda: HISS(3, 0.4, random_state=0).fit(CONSTANT),
    "lbfgs": lambda: ScaledLogisticRegression(max_iter=1).fit(X, Y),
    "passes": lambda: InnerKMeans(3, max_iter=1).fit(X),
    "sources": lambda: PartialPoolingClassifier().fit(X, Y),
    "pipeline": lambda: make_pipeline(StandardScaler(), HISS(3, 0.4, max_iter=1)).fit(X),
    "folds": lambda: cross_val_score(ScaledLogisticRegression(max_iter=1), X, Y, cv=2),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_warning_names_the_line_of_the_user(name):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        ASKED[name]()
    assert said
    assert {each.filename for each in said} == {__file__}


def test_category_and_words():
    with pytest.warns(ConvergenceWarning, match="of so many words"):
        warn_user("of so many words", ConvergenceWarning)
    with pytest.warns(UserWarning, match="as usual"):
        warn_user("as usual")
