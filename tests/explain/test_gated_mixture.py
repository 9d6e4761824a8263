"""Which features moved a mixture under a gate."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import softmax
from sklearn.datasets import make_classification

from ensemblage.explain import explain_model
from ensemblage.explain._gated_mixture import GatedMixture, parts_of_the_way, way_measure
from ensemblage.subspace import JointSubspaceClassifier


def made(seed, n_members=3, n_classes=2, n_features=2):
    rng = np.random.default_rng(seed)
    shapes = (n_members, n_classes, n_features), (n_members, n_classes)
    gates = (n_members, n_features), (n_members,)
    return GatedMixture(*(2 * rng.normal(size=shape) for shape in shapes + gates)), rng.normal(
        size=n_features
    )


def odds(mixture, z, label):
    """Log odds by the definition: the class against the other one, or the mean of all."""
    gate = softmax(mixture.gate_coef @ z + mixture.gate_intercept)
    logs = np.log(gate @ softmax(mixture.coef @ z + mixture.intercept, axis=1))
    return logs[label] - (logs[1 - label] if len(logs) == 2 else logs.mean())


def test_constant_members_leave_all_to_the_gate():
    # log odds of +2 and -2, of which the gate takes one at z = 0 as much as the other
    mixture = GatedMixture(
        np.zeros((2, 2, 2)), np.array([[0.0, 2.0], [0.0, -2.0]]),
        np.array([[1.0, 0.0], [-1.0, 0.0]]), np.zeros(2),
    )  # fmt: skip
    found = parts_of_the_way(mixture, np.array([1.0, 5.0]), 1)
    assert found.start == pytest.approx(0)
    high, low = 1 / (1 + np.exp(-2.0)), 1 / (1 + np.exp(2.0))
    share = 1 / (1 + np.exp(-2.0))  # of the first member at z = 1
    proba = share * high + (1 - share) * low
    assert found.end == pytest.approx(np.log(proba / (1 - proba)))
    assert found.amounts == pytest.approx([found.end, 0.0], abs=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_parts_are_slopes_along_the_way(n_classes):
    mixture, z = made(1, n_classes=n_classes)
    found, step = parts_of_the_way(mixture, z, 1), 1e-5
    for d, unit in enumerate(np.eye(len(z))):

        def slope(t, unit=unit):
            ahead, behind = (odds(mixture, t * z + sign * step * unit, 1) for sign in (1, -1))
            return (ahead - behind) / (2 * step)

        assert found.amounts[d] == pytest.approx(z[d] * quad(slope, 0, 1)[0], abs=1e-5)


@settings(max_examples=25)
@given(st.integers(0, 1000), st.integers(2, 4))
def test_parts_add_up(seed, n_classes):
    mixture, z = made(seed, n_classes=n_classes, n_features=4)
    found = parts_of_the_way(mixture, z, 0)
    assert found.start == pytest.approx(odds(mixture, np.zeros(4), 0))
    assert found.end == pytest.approx(odds(mixture, z, 0))
    assert found.start + found.amounts.sum() == pytest.approx(found.end, abs=1e-4)


def test_a_gated_model_gives_reasons_that_add_up_to_what_it_says():
    X, y = make_classification(120, 5, n_informative=4, n_redundant=0, random_state=0)
    model = JointSubspaceClassifier(3, refine="gate", random_state=0).fit(X, y)
    story = explain_model(model, X, row=2).document
    shares = model.predict_proba(X[2:3])[0]
    label = int(story.prediction)
    assert story.decision.value == pytest.approx(np.log(shares[label] / shares[1 - label]))
    total = story.decision.base + sum(each.amount for each in story.decision.contributions)
    assert total == pytest.approx(story.decision.value, abs=1e-3)
    assert story.decision.measure == way_measure(2)
    assert way_measure(3).startswith("log probability against the mean of the classes; ")
