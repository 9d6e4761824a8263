import numpy as np

from ensemblage.fusion import FusionContext, SoftmaxGate

# at x = log 2 the odds are 2 : 1 by the coefficient, doubled by the intercept
GATE = SoftmaxGate(coef=np.array([[1.0], [0.0]]), intercept=np.array([np.log(2), 0.0]))
ROW = FusionContext(X=np.array([[np.log(2)]]))


def test_by_hand():
    outputs = np.array([[[1.0, 0.0]], [[0.5, 0.5]]])
    np.testing.assert_allclose(GATE.row_weights(outputs, ROW), [[0.8, 0.2]])
    np.testing.assert_allclose(GATE.combine(outputs, ROW), [[0.9, 0.1]])


def test_it_needs_the_rows_and_learns_nothing():
    assert GATE.needs == {"X"}
    assert not GATE.learns
    assert GATE.importance(2) is None
