import numpy as np
import pytest

from ensemblage.papers.sources._known_source_methods import (
    CAREFUL,
    METHODS,
    KnownRows,
    KnownTask,
    answer_known,
    log_loss,
)


def make_task(seed=0):
    """Two sources with opposite rules in the first of three columns."""
    rng = np.random.default_rng(seed)
    X, sources = rng.normal(size=(240, 3)), np.arange(240) % 2
    y = (X[:, 0] * (2 * sources - 1) + 0.5 * rng.normal(size=240) > 0).astype(int)
    train, test = np.arange(120), np.arange(120, 240)
    rows = [KnownRows(X[side], y[side], sources[side]) for side in (train, test)]
    return KnownTask(*rows, seed)


TASK = make_task()


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_probabilities(method):
    answer = answer_known(method, TASK)
    assert answer.probabilities.shape == (120, 2)
    np.testing.assert_allclose(answer.probabilities.sum(axis=1), 1)
    assert (answer.cv_loss is not None) >= (method in CAREFUL)


def test_who_may_know_the_source_finds_opposite_rules():
    knows = ("partial-pooling", "one-per-source", "interactions", "lightgbm-with-source")
    losses = {
        name: log_loss(answer_known(name, TASK).probabilities, TASK.test.y) for name in METHODS
    }
    assert max(losses[name] for name in knows) < 0.5
    assert min(losses[name] for name in ("pooled", "lightgbm-without-source")) > 0.65


def test_folds_have_rows_of_each_source_and_class():
    for train, test in TASK.folds():
        assert len(train) + len(test) == 120
        assert len({*zip(TASK.train.y[test], TASK.train.sources[test], strict=True)}) == 4


def test_log_loss_by_hand():
    said = np.array([[0.5, 0.5], [0.0, 1.0]])
    assert log_loss(said, np.array([0, 1])) == pytest.approx(np.log(2) / 2)
    assert log_loss(said, np.array([0, 0])) == pytest.approx((np.log(2) + 15 * np.log(10)) / 2)
