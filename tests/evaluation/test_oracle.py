import numpy as np
import pytest

from ensemblage.evaluation import oracle_score


def test_by_hand():
    outputs = np.eye(2)[[[0, 0, 0], [1, 0, 0]]]
    score = oracle_score(outputs, [0, 0, 1], np.zeros((3, 1)), random_state=0)
    assert score.oracle == pytest.approx(2 / 3)


def test_untrained_classifiers_cover_most_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 8)), rng.integers(2, size=500)
    one = oracle_score(np.full((1, 500, 2), 0.5), y, X, random_state=0)
    ten = oracle_score(np.full((10, 500, 2), 0.5), y, X, random_state=0)
    assert one.untrained == pytest.approx(0.5, abs=0.05)
    assert ten.untrained > 0.95


def test_never_below_the_best_member():
    rng = np.random.default_rng(0)
    outputs, y = rng.random((5, 40, 3)), rng.integers(3, size=40)
    best = (outputs.argmax(axis=2) == y).mean(axis=1).max()
    assert oracle_score(outputs, y, rng.random((40, 2))).oracle >= best


def test_wrong_shapes():
    with pytest.raises(ValueError, match=r"expected \(n_members, n_samples, n_classes\)"):
        oracle_score(np.zeros((3, 2)), [0, 1], np.zeros((2, 1)))
