import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.svm import SVC

from ensemblage.fusion import (
    AnchoredGate,
    Fusion,
    Gate,
    LogPool,
    Mean,
    Stacking,
    Vote,
    as_columns,
    gate_rule,
    mean_rule,
    stack_features,
    vote_rule,
)


def random_outputs(seed, n_members=3, n_samples=30, n_classes=3):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(n_classes), size=(n_members, n_samples))


def test_mean_by_hand():
    outputs = np.array([[[0.8, 0.2]], [[0.4, 0.6]]])
    np.testing.assert_allclose(mean_rule(outputs), [[0.6, 0.4]])
    np.testing.assert_allclose(mean_rule(outputs, weights=[3, 1]), [[0.7, 0.3]])


def test_vote_by_hand_and_ties_go_to_the_first_class():
    outputs = np.array([[[0.8, 0.2]], [[0.4, 0.6]], [[0.5, 0.5]]])
    np.testing.assert_allclose(vote_rule(outputs), [[2 / 3, 1 / 3]])
    np.testing.assert_allclose(vote_rule(outputs, weights=[1, 4, 1]), [[1 / 3, 2 / 3]])


@given(st.integers(0, 1000))
@pytest.mark.parametrize("rule", [mean_rule, vote_rule])
def test_probabilities_in_probabilities_out_in_any_order_of_members(rule, seed):
    outputs = random_outputs(seed)
    fused = rule(outputs)
    np.testing.assert_allclose(fused.sum(axis=1), 1)
    np.testing.assert_allclose(rule(outputs[::-1]), fused)


def test_fusions_are_their_rules():
    outputs = random_outputs(0)
    np.testing.assert_array_equal(Mean().fit(outputs, None).combine(outputs), mean_rule(outputs))
    np.testing.assert_array_equal(Vote().fit(outputs, None).combine(outputs), vote_rule(outputs))
    assert Vote().gives_probabilities(False)
    assert not Mean().gives_probabilities(False)


def test_stacked_features_keep_one_column_of_two():
    two = random_outputs(0, n_classes=2)
    np.testing.assert_array_equal(stack_features(two), two[:, :, 1].T)
    three = random_outputs(0)
    np.testing.assert_array_equal(stack_features(three)[:, 3:6], three[1])


def test_decision_values_of_two_classes_become_a_pair():
    np.testing.assert_array_equal(as_columns(np.array([2.0, -1.0])), [[-2, 2], [1, -1]])
    assert as_columns(np.ones((2, 3))).shape == (2, 3)


def test_stacking_finds_the_member_that_knows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    knows = np.where(y[:, None] == [0, 1], 0.8, 0.2)
    guesses = rng.dirichlet([1, 1], 200)
    fusion = Stacking().fit(np.stack([guesses, knows]), y)
    assert (fusion.combine(np.stack([guesses, knows])).argmax(axis=1) == y).all()
    assert fusion.gives_probabilities(False)


def test_stacking_without_probabilities_gives_decision_values():
    outputs, y = random_outputs(1, n_classes=2), np.arange(30) % 2
    fusion = Stacking(SVC()).fit(outputs, y, sample_weight=np.ones(30))
    scores = fusion.combine(outputs)
    np.testing.assert_allclose(scores[:, 0], -scores[:, 1])
    assert not fusion.gives_probabilities(True)


def test_row_weights_reach_the_final_estimator():
    outputs, y = random_outputs(1, n_classes=2), np.arange(30) % 2
    weights = np.where(y == 1, 3.0, 1.0)
    fusion = Stacking(DummyClassifier(strategy="prior")).fit(outputs, y, sample_weight=weights)
    np.testing.assert_allclose(fusion.combine(outputs)[0], [0.25, 0.75])


def test_the_contract_itself_fuses_nothing():
    with pytest.raises(NotImplementedError):
        Fusion().combine(random_outputs(0))


def near(seed, n_members=3, n_samples=30, scale=3.0):
    return scale * np.random.default_rng(seed).normal(size=(n_samples, n_members))


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
    gate = Gate().fit(outputs, y, affinity=sharp)
    assert gate.temperature_ <= 16
    blurred = rng.normal(size=(300, 3)) * 100
    assert Gate().fit(outputs, y, affinity=blurred).temperature_ >= 64
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

    found = Gate().fit(outputs, y, affinity=affinity).temperature_
    assert found == min(2.0 ** np.arange(-1, 9), key=loss)


def test_a_log_pool_of_equal_members_is_that_member():
    outputs = random_outputs(3)[:1]
    y = outputs[0].argmax(axis=1)
    twice = np.concatenate([outputs, outputs])
    pool = LogPool(ridge=1e6).fit(twice, y)
    np.testing.assert_allclose(pool.weights_, 0.5, atol=1e-3)
    np.testing.assert_allclose(pool.temperatures_[0], pool.temperatures_[1])
    np.testing.assert_allclose(pool.importance(2), 0.5, atol=1e-3)


def test_a_log_pool_finds_who_knows_and_mixes_decisions_with_probabilities():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, 600)
    decisions = 2 * np.eye(3)[y] + rng.normal(size=(600, 3))
    guesses = rng.dirichlet(np.ones(3), 600)
    pool = LogPool().fit(np.stack([decisions, guesses]), y)
    fused = pool.combine(np.stack([decisions, guesses]))
    assert pool.probable_.tolist() == [False, True]
    assert pool.importance(2)[0] > 0.9
    np.testing.assert_allclose(fused.sum(axis=1), 1)
    assert (fused.argmax(axis=1) == y).mean() > 0.8
    assert pool.gives_probabilities(False)


def test_votes_are_calibrated_with_a_bonus_for_the_first():
    # votes 5, 4, ..., 0: the first is right in 90 of 100 rows, the others equally often
    rng = np.random.default_rng(5)
    y = rng.integers(0, 6, 2000)
    first = np.where(rng.uniform(size=2000) < 0.88, y, rng.integers(0, 6, 2000))
    votes = rng.permuted(np.tile(np.arange(5.0), (2000, 1)), axis=1)
    votes = np.stack([np.insert(row, at, 5.0) for row, at in zip(votes, first, strict=True)])
    pool = LogPool(ridge=1e9).fit(votes[None], y)
    proba = pool.combine(votes[None])
    assert pool.bonuses_[0] > 1
    np.testing.assert_allclose(proba.max(axis=1), (first == y).mean(), atol=0.01)


def test_probabilities_and_two_classes_need_no_bonus():
    rng = np.random.default_rng(6)
    y = rng.integers(0, 2, 100)
    decisions = np.stack([-1.0 * y, y], axis=1) + rng.normal(size=(100, 2))
    assert LogPool().fit(decisions[None], y).bonuses_.tolist() == [0]
    assert (
        LogPool().fit(random_outputs(7), np.arange(len(random_outputs(7)[0])) % 3).bonuses_.any()
        == 0
    )


@given(st.integers(0, 200))
def test_importances_are_never_negative_and_no_worse_than_equal_ones(seed):
    outputs = random_outputs(seed, n_samples=60)
    y = np.random.default_rng(seed).integers(0, 3, 60)
    pool = LogPool(ridge=1.0).fit(outputs, y)
    assert (pool.weights_ >= 0).all()

    def loss(weights):
        log_p = log_softmax(np.tensordot(weights, pool._scores(outputs), 1), axis=1)
        return -log_p[np.arange(60), y].sum() + ((weights - 1 / 3) ** 2).sum()

    assert loss(pool.weights_) <= loss(np.full(3, 1 / 3)) + 1e-9


def test_row_weights_reach_the_pool():
    outputs = np.stack([np.tile([0.9, 0.1], (40, 1)), np.tile([0.1, 0.9], (40, 1))])
    y = np.arange(40) % 2
    heavy = LogPool(ridge=0.1).fit(outputs, y, sample_weight=np.where(y == 0, 9.0, 1.0))
    assert heavy.combine(outputs)[0, 0] > 0.7


def test_an_anchored_gate_pools_each_kind_with_the_anchors():
    rng = np.random.default_rng(5)
    y = np.arange(200) % 2
    right = np.where(y[:, None] == [0, 1], 0.9, 0.1)
    noise = rng.dirichlet([1, 1], size=(4, 200))
    outputs = np.concatenate([noise, right[None]])
    fusion = AnchoredGate(n_anchors=1).fit(outputs, y, affinity=near(0, 2, 200))
    assert len(fusion.gates_) == 2
    shares = fusion.importance(5)
    assert shares.argmax() == 4
    assert shares.sum() == pytest.approx(1)
    assert (fusion.combine(outputs, near(0, 2, 200)).argmax(axis=1) == y).all()


def test_an_anchored_gate_may_stack_instead():
    y = np.arange(40) % 2
    outputs = random_outputs(6, n_members=3, n_samples=40, n_classes=2)
    fusion = AnchoredGate(Gate(1.0), Stacking(SVC()), n_anchors=1)
    fusion.fit(outputs, y, affinity=near(1, 2, 40))
    assert not fusion.gives_probabilities(True)
    assert fusion.importance(3) is None


def test_linear_stacking_tells_the_share_of_each_member():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    knows = np.where(y[:, None] == [0, 1], 0.8, 0.2)
    fusion = Stacking().fit(np.stack([rng.dirichlet([1, 1], 200), knows]), y)
    shares = fusion.importance(2)
    assert shares[1] > shares[0]
    assert shares.sum() == pytest.approx(1)
    np.testing.assert_allclose(Mean().importance(4), 0.25)
    assert Gate().importance(3) is None


def as_decisions(outputs):
    return np.log(outputs)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", [np.asarray, as_decisions])
@pytest.mark.parametrize(
    "fusion", [Gate(), Gate(2.0), AnchoredGate(n_anchors=0), LogPool()], ids=repr
)
def test_a_fit_on_parts_is_a_fit_on_each_part(fusion, form, weighted):
    rng = np.random.default_rng(0)
    outputs, y = form(random_outputs(1, n_samples=90)), np.arange(90) % 3
    affinity = rng.normal(scale=9, size=(90, 3)) if fusion.uses_affinity else None
    weights = rng.integers(1, 4, 90) if weighted else None
    parts = [np.arange(0, 90, 2), np.arange(30), np.arange(30, 90)]
    fitted = fusion.fit_parts(parts, outputs, y, affinity=affinity, sample_weight=weights)
    for part, each in zip(parts, fitted, strict=True):
        near = None if affinity is None else affinity[part]
        alone = clone(fusion).fit(
            outputs[:, part], y[part], affinity=near,
            sample_weight=None if weights is None else weights[part],
        )  # fmt: skip
        np.testing.assert_allclose(
            each.combine(outputs[:, part], near), alone.combine(outputs[:, part], near)
        )
    assert not hasattr(fusion, "temperature_")
