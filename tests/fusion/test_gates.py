import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.svm import SVC

from ensemblage.fusion import (
    AffinityGate,
    AnchoredGate,
    FusionContext,
    LocalCompetence,
    LogLinearPool,
    Mean,
    Product,
    SoftmaxGate,
    Stacking,
    gate_rule,
    local_accuracies,
    mean_rule,
    normal_log_density,
)
from ensemblage.fusion._gates import TEMPERATURES
from ensemblage.fusion._normal import as_normals
from made_outputs import near, near_context, random_outputs


def test_a_gate_by_hand():
    outputs = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    np.testing.assert_allclose(gate_rule(outputs, np.log([[0.2, 0.8]])), [[0.2, 0.8]])
    # at temperature two the odds 1 : 4 become 1 : 2
    np.testing.assert_allclose(gate_rule(outputs, np.log([[0.2, 0.8]]), 2.0), [[1 / 3, 2 / 3]])


@given(st.integers(0, 1000), st.floats(0.5, 100))
def test_a_gate_keeps_probabilities_and_ignores_a_common_offset(seed, temperature):
    outputs, affinity = random_outputs(seed), near(seed)
    fused = gate_rule(outputs, affinity, temperature)
    np.testing.assert_allclose(fused.sum(axis=1), 1)
    np.testing.assert_allclose(gate_rule(outputs, affinity - 1e4, temperature), fused)


def test_low_temperatures_select_one_member_and_high_ones_average():
    outputs, affinity = random_outputs(0), near(0)
    closest = affinity.argmax(axis=1)
    cold = gate_rule(outputs, affinity, 1e-6)
    np.testing.assert_allclose(cold, outputs[closest, np.arange(30)])
    np.testing.assert_allclose(gate_rule(outputs, affinity, 1e9), mean_rule(outputs))


def test_the_temperature_with_the_least_loss_is_chosen():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    expert = np.arange(300) // 2 % 3
    right = np.where(y[:, None] == [0, 1], 0.95, 0.05)
    outputs = np.stack([np.where((expert == k)[:, None], right, 0.5) for k in range(3)])
    sharp = 100 * (expert[:, None] == np.arange(3)) + rng.normal(size=(300, 3))
    gate = AffinityGate().fit(outputs, y, FusionContext(sharp))
    assert gate.temperature_ <= 16
    blurred = rng.normal(size=(300, 3)) * 100
    assert AffinityGate().fit(outputs, y, FusionContext(blurred)).temperature_ >= 64
    assert AffinityGate(3.0).fit(None, y).temperature_ == 3.0
    assert not AffinityGate(3.0).requires_fit()
    assert AffinityGate(3.0).requires_fit(numeric=True)


def test_a_gate_takes_the_temperature_of_least_log_loss():
    outputs = random_outputs(8)
    n_members, n_samples, n_classes = outputs.shape
    rng = np.random.default_rng(8)
    y, affinity = (
        rng.integers(n_classes, size=n_samples),
        9 * rng.normal(size=(n_samples, n_members)),
    )

    def loss(temperature):
        fused = gate_rule(outputs, affinity, temperature)
        return -np.log(fused[np.arange(n_samples), y]).mean()

    found = AffinityGate().fit(outputs, y, FusionContext(affinity)).temperature_
    assert found == min(2.0 ** np.arange(-1, 9), key=loss)


def test_the_gates_weights_differ_by_row():
    outputs = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    gate = AffinityGate(2.0).fit(None, np.array([0]))
    odds = FusionContext(affinity=np.log([[0.2, 0.8]]))
    np.testing.assert_allclose(gate.row_weights(outputs, odds), [[1 / 3, 2 / 3]])
    assert gate.member_weights(2) is None


def made(seed, n_rows=300):
    """Two members, each right on its own half of the rows."""
    rng = np.random.default_rng(seed)
    half, y = np.arange(n_rows) % 2, rng.normal(size=n_rows)
    means = np.where(np.arange(2)[:, None] == half, y + 0.1 * rng.normal(size=n_rows), 3.0)
    outputs = np.stack([means, np.ones((2, n_rows))], axis=2)
    near = np.where(half[:, None] == np.arange(2), 0.0, -8.0)
    return outputs, y, FusionContext(affinity=near, strata=half)


def test_each_row_weights_its_own_member_and_has_its_variance():
    outputs, y, rows = made(0)
    gate = AffinityGate().fit(outputs, y, rows, numeric=True)
    mean, variance = gate.combine(outputs, rows).T
    assert np.abs(mean - y).mean() < 0.15
    assert np.sqrt(variance).mean() == pytest.approx(0.1, rel=0.5)
    np.testing.assert_allclose(gate.row_weights(outputs, rows).sum(axis=1), 1)
    assert gate.member_weights(2) is None


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_no_other_temperature_has_a_better_log_score(seed):
    outputs, y, rows = made(seed, n_rows=60)
    gates = [
        each.fit(outputs, y, rows, numeric=True)
        for each in [AffinityGate(), *map(AffinityGate, TEMPERATURES.tolist())]
    ]
    best, *others = [
        normal_log_density(as_normals(gate.combine(outputs, rows)), y).sum() for gate in gates
    ]
    assert best >= max(others) - 1e-9


def test_subsets_are_fitted_independently():
    outputs, y, rows = made(1)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    parts = [np.arange(0, 200), np.arange(100, 300)]
    together = AffinityGate().fit_subsets(
        parts, outputs, y, rows, numeric=True, sample_weight=weights
    )
    for part, gate in zip(parts, together, strict=True):
        alone = AffinityGate().fit(
            outputs[:, part], y[part], rows.take(part), numeric=True, sample_weight=weights[part]
        )
        assert gate.temperature_ == alone.temperature_
        np.testing.assert_allclose(gate.variance_factors_, alone.variance_factors_)


def test_a_gate_of_densities_takes_an_anchor():
    outputs, y, rows = made(2)
    anchor = np.column_stack([y + 0.5, np.ones(len(y))])[None]
    every = np.concatenate([outputs, anchor])
    fusion = AnchoredGate(AffinityGate(), LogLinearPool(by_stratum=True))
    fusion.fit(every, y, rows, numeric=True)
    assert fusion.needs == {"affinity", "strata"}
    assert fusion.combine(every, rows).shape == (300, 2)
    assert fusion.member_weights(3)[2] < 0.5
    np.testing.assert_allclose(fusion.row_weights(every, rows).sum(axis=1), 1)


# at x = log 2 the odds are 2 : 1 by the coefficient, doubled by the intercept
GATE = SoftmaxGate.from_coefficients(np.array([[1.0], [0.0]]), np.array([np.log(2), 0.0]))


ROW = FusionContext(X=np.array([[np.log(2)]]))


def test_a_softmax_gate_by_hand():
    outputs = np.array([[[1.0, 0.0]], [[0.5, 0.5]]])
    np.testing.assert_allclose(GATE.row_weights(outputs, ROW), [[0.8, 0.2]])
    np.testing.assert_allclose(GATE.combine(outputs, ROW), [[0.9, 0.1]])


def test_a_softmax_gate_needs_the_rows_and_learns_nothing():
    assert GATE.needs == {"X"}
    assert not GATE.requires_fit()
    assert clone(GATE) is GATE
    assert GATE.member_weights(2) is None


def test_an_anchored_gate_pools_each_kind_with_the_anchors():
    rng = np.random.default_rng(5)
    y = np.arange(200) % 2
    right = np.where(y[:, None] == [0, 1], 0.9, 0.1)
    noise = rng.dirichlet([1, 1], size=(4, 200))
    outputs = np.concatenate([noise, right[None]])
    fusion = AnchoredGate(n_anchors=1).fit(outputs, y, near_context(0, 2, 200))
    assert len(fusion.gates_) == 2
    shares = fusion.member_weights(5)
    assert shares.argmax() == 4
    assert shares.sum() == pytest.approx(1)
    assert (fusion.combine(outputs, near_context(0, 2, 200)).argmax(axis=1) == y).all()


def test_an_anchored_gate_may_stack_instead():
    y = np.arange(40) % 2
    outputs = random_outputs(6, n_members=3, n_samples=40, n_classes=2)
    fusion = AnchoredGate(AffinityGate(1.0), Stacking(SVC()), n_anchors=1)
    fusion.fit(outputs, y, near_context(1, 2, 40))
    assert not fusion.returns_probabilities(True)
    assert fusion.member_weights(3) is None


def test_shares_of_a_row_by_hand():
    # two kinds on two strata and an anchor, pooled equally: a third each, gates 1 : 4
    outputs = random_outputs(0, n_members=5, n_samples=1)
    odds = FusionContext(affinity=np.log([[0.2, 0.8]]))
    fusion = AnchoredGate(AffinityGate(1.0), Mean()).fit(outputs, np.array([0]), odds)
    expected = np.array([[0.2, 0.8, 0.2, 0.8, 1.0]]) / 3
    np.testing.assert_allclose(fusion.row_weights(outputs, odds), expected)
    by_hand = np.einsum("k,ksc->sc", expected[0], outputs)
    np.testing.assert_allclose(fusion.combine(outputs, odds), by_hand)


def test_the_pool_may_need_rows_but_gets_no_affinity():
    fusion = AnchoredGate(AffinityGate(1.0), LocalCompetence(2))
    assert fusion.needs == {"affinity", "X"}
    outputs, context = random_outputs(1, n_samples=6), near_context(1, 2, 6)
    fusion.fit(outputs, np.arange(6) % 3, context._replace(X=np.eye(6)))
    product = AnchoredGate(AffinityGate(1.0), Product()).fit(outputs, np.arange(6) % 3, context)
    np.testing.assert_allclose(product.combine(outputs, context).sum(axis=1), 1)


def test_local_accuracies_by_hand():
    right = np.array([[1, 1, 0], [0, 0, 0]], dtype=bool)
    near = np.array([[0, 1], [1, 2]])
    np.testing.assert_allclose(local_accuracies(right, near), [[2.5 / 3, 0.5 / 3], [0.5, 0.5 / 3]])


def test_repeating_a_row_equals_weighing_it():
    right = np.array([[1, 0], [0, 1]], dtype=bool)
    weighed = local_accuracies(right, np.array([[0, 1]]), np.array([2.0, 1.0]))
    repeated = local_accuracies(right[:, [0, 0, 1]], np.array([[0, 1, 2]]))
    np.testing.assert_allclose(weighed, repeated)


def test_local_accuracy_decides_in_each_region():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (200, 1))
    y = rng.integers(2, size=200)
    truth = np.eye(2)[y] * 0.6 + 0.2
    left = np.where(X < 0, truth, truth[:, ::-1])
    outputs = np.array([left, np.where(X >= 0, truth, truth[:, ::-1])])
    rows = FusionContext(X=X)
    fusion = LocalCompetence(15).fit(outputs, y, rows)
    fused = fusion.combine(outputs, rows)
    assert (fused.argmax(axis=1) == y).mean() > 0.9
    weights = fusion.row_weights(outputs, rows)
    assert weights.shape == (200, 2)
    assert ((weights[:, 0] > 0.5) == (X[:, 0] < 0)).mean() > 0.9
    assert fusion.member_weights(2) is None


def test_fewer_rows_than_neighbours():
    outputs = np.full((2, 3, 2), 0.5)
    fusion = LocalCompetence(25).fit(outputs, np.array([0, 1, 0]), FusionContext(X=np.eye(3)))
    assert fusion.neighbors_.n_neighbors == 3


def test_no_neighbours():
    with pytest.raises(ValueError, match="n_neighbors"):
        LocalCompetence(0).fit(
            np.full((1, 2, 2), 0.5), np.array([0, 1]), FusionContext(X=np.eye(2))
        )


def test_a_class_unseen_by_a_member_is_not_excluded():
    y = np.array([0, 0, 1, 1])
    knows_zero = np.tile([1.0, 0.0], (4, 1))
    outputs, rows = np.array([knows_zero, np.eye(2)[y] * 0.8 + 0.1]), FusionContext(X=np.eye(4))
    fused = LocalCompetence(1).fit(outputs, y, rows).combine(outputs, rows)
    # (1e-12)^(1/4) .9^(3/4) against .1^(3/4): right members have weights 3 : 1
    np.testing.assert_allclose(fused[2, 1] / fused[2, 0], (1e-12) ** 0.25 * 9**0.75)
    assert fused[2, 1] > 1e-3
