import numpy as np
import pytest

from ensemblage.fusion import FusionContext, LocalCompetence, local_accuracies


def test_accuracies_by_hand():
    right = np.array([[1, 1, 0], [0, 0, 0]], dtype=bool)
    near = np.array([[0, 1], [1, 2]])
    np.testing.assert_allclose(local_accuracies(right, near), [[2.5 / 3, 0.5 / 3], [0.5, 0.5 / 3]])


def test_repeating_a_row_equals_weighing_it():
    right = np.array([[1, 0], [0, 1]], dtype=bool)
    weighed = local_accuracies(right, np.array([[0, 1]]), np.array([2.0, 1.0]))
    repeated = local_accuracies(right[:, [0, 0, 1]], np.array([[0, 1, 2]]))
    np.testing.assert_allclose(weighed, repeated)


def test_each_side_trusts_the_member_that_is_right_there():
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
    assert fusion.importance(2) is None


def test_fewer_rows_than_neighbours():
    outputs = np.full((2, 3, 2), 0.5)
    fusion = LocalCompetence(25).fit(outputs, np.array([0, 1, 0]), FusionContext(X=np.eye(3)))
    assert fusion.neighbors_.n_neighbors == 3


def test_no_neighbours():
    with pytest.raises(ValueError, match="n_neighbors"):
        LocalCompetence(0).fit(
            np.full((1, 2, 2), 0.5), np.array([0, 1]), FusionContext(X=np.eye(2))
        )


def test_a_member_that_never_saw_a_class_does_not_rule_it_out():
    y = np.array([0, 0, 1, 1])
    knows_zero = np.tile([1.0, 0.0], (4, 1))
    outputs, rows = np.array([knows_zero, np.eye(2)[y] * 0.8 + 0.1]), FusionContext(X=np.eye(4))
    fused = LocalCompetence(1).fit(outputs, y, rows).combine(outputs, rows)
    # (1e-12)^(1/4) .9^(3/4) against .1^(3/4): right members have 3 : 1 of the say
    np.testing.assert_allclose(fused[2, 1] / fused[2, 0], (1e-12) ** 0.25 * 9**0.75)
    assert fused[2, 1] > 1e-3
