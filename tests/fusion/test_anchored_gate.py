import numpy as np
import pytest
from sklearn.svm import SVC

from ensemblage.fusion import (
    AnchoredGate,
    FusionContext,
    Gate,
    LocalCompetence,
    Mean,
    Product,
    Stacking,
)
from made_outputs import near_context, random_outputs


def test_an_anchored_gate_pools_each_kind_with_the_anchors():
    rng = np.random.default_rng(5)
    y = np.arange(200) % 2
    right = np.where(y[:, None] == [0, 1], 0.9, 0.1)
    noise = rng.dirichlet([1, 1], size=(4, 200))
    outputs = np.concatenate([noise, right[None]])
    fusion = AnchoredGate(n_anchors=1).fit(outputs, y, near_context(0, 2, 200))
    assert len(fusion.gates_) == 2
    shares = fusion.importance(5)
    assert shares.argmax() == 4
    assert shares.sum() == pytest.approx(1)
    assert (fusion.combine(outputs, near_context(0, 2, 200)).argmax(axis=1) == y).all()


def test_an_anchored_gate_may_stack_instead():
    y = np.arange(40) % 2
    outputs = random_outputs(6, n_members=3, n_samples=40, n_classes=2)
    fusion = AnchoredGate(Gate(1.0), Stacking(SVC()), n_anchors=1)
    fusion.fit(outputs, y, near_context(1, 2, 40))
    assert not fusion.gives_probabilities(True)
    assert fusion.importance(3) is None


def test_shares_of_a_row_by_hand():
    # two kinds on two strata and an anchor, pooled equally: a third each, gates 1 : 4
    outputs = random_outputs(0, n_members=5, n_samples=1)
    odds = FusionContext(affinity=np.log([[0.2, 0.8]]))
    fusion = AnchoredGate(Gate(1.0), Mean()).fit(outputs, np.array([0]), odds)
    expected = np.array([[0.2, 0.8, 0.2, 0.8, 1.0]]) / 3
    np.testing.assert_allclose(fusion.row_weights(outputs, odds), expected)
    by_hand = np.einsum("k,ksc->sc", expected[0], outputs)
    np.testing.assert_allclose(fusion.combine(outputs, odds), by_hand)


def test_the_pool_may_need_rows_but_is_told_no_affinity():
    fusion = AnchoredGate(Gate(1.0), LocalCompetence(2))
    assert fusion.needs == {"affinity", "X"}
    outputs, context = random_outputs(1, n_samples=6), near_context(1, 2, 6)
    fusion.fit(outputs, np.arange(6) % 3, context._replace(X=np.eye(6)))
    product = AnchoredGate(Gate(1.0), Product()).fit(outputs, np.arange(6) % 3, context)
    np.testing.assert_allclose(product.combine(outputs, context).sum(axis=1), 1)
