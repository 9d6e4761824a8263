"""Sample weights: invalid ones are refused, scaled ones give the same model."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import AdaBoostClassifier

from ensemblage.bayes import BayesNetClassifier
from ensemblage.strata import HISS
from made_estimators import (
    CLASSES,
    COSTLY,
    MADE,
    are_finite,
    attempt,
    fit_on,
    made_rows,
    outputs_of,
)

X, Y, _ = made_rows()
WEIGHED = {name: made for name, made in MADE.items() if made.takes_weights}
EVERY = pytest.mark.parametrize("made", WEIGHED.values(), ids=WEIGHED)
SOME = np.random.default_rng(1).uniform(0.5, 2.0, 40)
# random draws depend on the last bits of the weights
RANDOM = {"MemberStackingClassifier"}


def weighted_outputs(made, weights):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # strata of one class
        return outputs_of(fit_on(made, X, sample_weight=weights), X)


@EVERY
@pytest.mark.parametrize(
    ("weights", "message"),
    [(np.where(np.arange(40) == 3, -1.0, 1.0), "[Nn]egative"), (np.zeros(40), "zero|positive"),
     (np.where(np.arange(40) == 3, np.nan, 1.0), "NaN"),
     (np.where(np.arange(40) == 3, np.inf, 1.0), "infinity|finite"),
     (np.ones(39), "39|shape|samples"), (np.ones((40, 2)), "1D|dimension|shape"),
     (np.array(["a"] * 40), "convert|string|number")],
    ids=["negative", "all zero", "missing", "infinite", "too few", "two columns", "text"],
)  # fmt: skip
def test_invalid_weights_are_refused(made, weights, message):
    with pytest.raises((ValueError, TypeError), match=message):
        fit_on(made, X, sample_weight=weights)


@EVERY
@pytest.mark.parametrize("scale", [1e-300, 1e-100, 1e-10, 1 / SOME.sum(), 1e100, 1e307])
def test_scale_of_weights_does_not_matter(made, scale):
    """Tiny, huge, or with a sum of one: the same model as with a mean of one."""
    if made.name in COSTLY and scale not in {1e-100, 1 / SOME.sum()}:
        return
    if made.name in RANDOM:
        assert are_finite(weighted_outputs(made, SOME * scale))
        return
    # weights with a mean above one count as repeated rows
    plain, scaled = weighted_outputs(made, SOME / SOME.mean()), weighted_outputs(made, SOME * scale)
    for name, expected in plain.items():
        if expected.dtype.kind == "f":
            near = 0.0 if made.name.startswith("Ensemblage") else 1e-4
            np.testing.assert_allclose(scaled[name], expected, rtol=near, atol=near)
        else:
            np.testing.assert_array_equal(scaled[name], expected)


@pytest.mark.parametrize("name", [n for n, made in WEIGHED.items() if made.kind == CLASSES])
def test_class_of_zero_weight_is_ignored_or_refused(name):
    weights = np.where(Y == 1, 1.0, 0.0)
    outputs, error = attempt(lambda: weighted_outputs(WEIGHED[name], weights))
    assert "class" in error if error else set(outputs["predict"]) == {1}


@pytest.mark.parametrize("weight", [0.1, 1 / 3, 0.7, 1e-7])
def test_strata_of_all_rows_end(weight):
    """Rounding left the sum below the size, and the search for caps did not end."""
    rows = np.random.default_rng(0).normal(size=(50, 2))
    model = HISS(2, 1.0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # strata coincide
        model.fit(rows, sample_weight=np.full(50, weight))
        np.testing.assert_array_equal(model.memberships_, 1.0)
        for seed in range(20):
            drawn = np.random.default_rng(seed).uniform(0, 1, 50)
            model.fit(rows, sample_weight=drawn)
            np.testing.assert_array_equal(model.memberships_, 1.0)
            np.testing.assert_array_equal(model.transform(rows), 1.0)


def test_network_with_weights_that_sum_to_one():
    rows, truth = load_iris(return_X_y=True)
    model = BayesNetClassifier().fit(rows, truth, sample_weight=np.full(150, 1 / 150))
    assert model.score(rows, truth) > 0.9
    boosted = AdaBoostClassifier(BayesNetClassifier(), n_estimators=3, random_state=0)
    assert boosted.fit(rows, truth).score(rows, truth) > 0.9
