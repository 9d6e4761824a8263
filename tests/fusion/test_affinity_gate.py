import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.fusion import FusionContext, Gate, gate_rule, mean_rule
from made_outputs import near, random_outputs


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


def test_a_cold_gate_listens_to_one_member_and_a_hot_one_to_all():
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
    gate = Gate().fit(outputs, y, FusionContext(sharp))
    assert gate.temperature_ <= 16
    blurred = rng.normal(size=(300, 3)) * 100
    assert Gate().fit(outputs, y, FusionContext(blurred)).temperature_ >= 64
    assert Gate(3.0).fit(None, y).temperature_ == 3.0
    assert not Gate(3.0).learns


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

    found = Gate().fit(outputs, y, FusionContext(affinity)).temperature_
    assert found == min(2.0 ** np.arange(-1, 9), key=loss)


def test_the_gates_weights_are_told_row_by_row():
    outputs = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    gate = Gate(2.0).fit(None, np.array([0]))
    odds = FusionContext(affinity=np.log([[0.2, 0.8]]))
    np.testing.assert_allclose(gate.row_weights(outputs, odds), [[1 / 3, 2 / 3]])
    assert gate.importance(2) is None
