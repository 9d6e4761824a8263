"""Coefficients for all classes, in the units that members are given."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

from ensemblage.explain._decision import against_others
from ensemblage.explain._linear_members import linear_part
from ensemblage.strata import ScaledLogisticRegression

X, Y = make_blobs(60, 3, centers=3, random_state=0)


@pytest.mark.parametrize(
    "member",
    [
        LogisticRegression(),
        ScaledLogisticRegression(),
        SVC(kernel="linear"),
        make_pipeline(StandardScaler(), MinMaxScaler(), LogisticRegression()),
    ],
    ids=str,
)
def test_two_classes(member):
    known = Y < 2
    member.fit(X[known], Y[known])
    part = linear_part(member, np.array([0, 1]))
    values = part.coef @ X[0] + part.intercept
    expected = member.decision_function(X[:1])[0]
    assert float(against_others(values, 1)) == pytest.approx(expected)


def test_three_classes_and_one_that_was_not_seen():
    member = LogisticRegression().fit(X, Y)
    part = linear_part(member, np.arange(3))
    np.testing.assert_allclose(
        part.coef @ X[0] + part.intercept, member.decision_function(X[:1])[0]
    )
    narrow = LogisticRegression().fit(X[Y != 1], Y[Y != 1])
    assert linear_part(narrow, np.arange(3)).coef[1].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    "member",
    [SVC(), SVC(kernel="linear"), make_pipeline(PolynomialFeatures(), LogisticRegression())],
    ids=str,
)
def test_what_is_not_linear_in_its_rows(member):
    assert linear_part(member.fit(X, Y), np.arange(3)) is None
