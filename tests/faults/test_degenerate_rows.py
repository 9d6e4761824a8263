"""Degenerate data: a constant fit, one warning, or an error of one sentence."""

import re
import warnings

import numpy as np
import pytest

from ensemblage.inner import InnerKMeans
from ensemblage.strata import HISS, MixtureStrata, StrataEnsembleClassifier
from made_estimators import (
    CLASSES,
    MADE,
    REGRESSION,
    are_finite,
    attempt,
    fit_on,
    made_rows,
    outputs_of,
    pairs,
)

X, Y, NUMERIC = made_rows()
ERROR = r"class|row|sample|differ|folds|varies"


def target(made, classes, numeric=NUMERIC):
    return numeric if made.kind == REGRESSION else classes


CASES = {
    "one class": lambda made: (X, target(made, np.ones(40, int), np.ones(40))),
    "a class of one row": lambda made: (X, target(made, np.where(np.arange(40), Y, 2))),
    "a class for each row": lambda made: (X, target(made, np.arange(40))),
    "equal rows": lambda made: (np.ones((40, 3)), target(made, Y)),
    "rows of zeros": lambda made: (np.zeros((40, 3)), target(made, Y)),
    "two distinct rows": lambda made: (np.repeat(X[:2], 20, axis=0), target(made, np.sort(Y))),
    "a constant column": lambda made: (np.column_stack([X, np.ones(40)]), target(made, Y)),
    "equal columns": lambda made: (np.hstack([X, X, X]), target(made, Y)),
    "one column": lambda made: (X[:, :1], target(made, Y)),
    "more columns than rows": lambda made: (np.tile(X[:6], 20), target(made, Y, NUMERIC)[:6]),
    "one row": lambda made: (X[:1], target(made, Y)[:1]),
    "two rows": lambda made: (X[:2], target(made, Y)[:2]),
    "three rows": lambda made: (X[:3], target(made, Y)[:3]),
}


@pytest.mark.parametrize(("made", "case"), pairs(CASES))
def test_degenerate_data_are_a_fit_or_an_error(made, case):
    rows, truth = CASES[case](made)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model, error = attempt(lambda: fit_on(made, rows, truth))
        assert re.search(ERROR, error) if error else are_finite(outputs_of(model, rows))
    ours = {str(each.message) for each in caught if each.category is not UserWarning}
    assert not [text for text in ours if "divide" in text or "overflow" in text]


@pytest.mark.parametrize("kind", [HISS(9, 0.5), MixtureStrata(9), InnerKMeans(9)], ids=repr)
def test_more_groups_than_rows(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, error = attempt(lambda: kind.fit(X[:4]))
    assert "9" in error if error else are_finite({"transform": model.transform(X)})


def test_stratum_of_one_class_has_one_warning_and_a_constant_member():
    rows = np.concatenate([X, X + 100])
    truth = np.concatenate([Y, np.ones(40, int)])
    model = StrataEnsembleClassifier(HISS(2, 0.5), fusion="mean", random_state=0)
    with pytest.warns(UserWarning, match=r"1 of 2 strata hold one class only") as caught:
        model.fit(rows, truth)
    assert len(caught) == 1
    assert are_finite(outputs_of(model, rows))


@pytest.mark.parametrize("name", [name for name, made in MADE.items() if made.kind == CLASSES])
def test_equal_rows_get_the_class_frequencies(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit_on(MADE[name], np.ones((40, 3)), np.where(np.arange(40) % 4, 0, 1))
    shares = model.predict_proba(np.ones((2, 3)))
    np.testing.assert_allclose(shares, [[0.75, 0.25]] * 2, atol=0.15)
