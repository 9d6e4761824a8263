import numpy as np
import pytest

from ensemblage.fusion import LogPool, Mean
from ensemblage.pool import _held_out_record
from ensemblage.pool._held_out_record import keep_held_out, row_losses, weighted_mean
from ensemblage.pool._pooling import fuse, make_fusion
from pool.test_pooling import candidate


@pytest.fixture
def verdict(rows):
    said = np.eye(3)[(rows.y + (np.arange(150) % 5 == 0)) % 3] * 0.7 + 0.1
    members = [candidate("knows", said), candidate("guesses", np.full((150, 3), 1 / 3))]
    return fuse(members, rows, make_fusion("logpool", grouped=False))


def test_it_keeps_what_was_said(rows, verdict):
    record = keep_held_out(verdict, verdict.outputs[0], rows)
    assert record.names == ("knows", "guesses")
    assert record.places == ("given", "given")
    np.testing.assert_allclose(record.outputs, verdict.outputs, rtol=1e-6)
    np.testing.assert_array_equal(record.rows, np.arange(150))


def test_positions_are_those_of_the_user(rows, verdict):
    shifted = rows._replace(numbers=np.arange(150) + 7)
    assert keep_held_out(verdict, verdict.outputs[0], shifted).rows[0] == 7


def test_of_many_rows_some_are_kept(rows, verdict, monkeypatch):
    monkeypatch.setattr(_held_out_record, "MOST_KEPT", 60)
    record = keep_held_out(verdict, verdict.outputs[0], rows)
    assert record.outputs.shape == (2, 60, 3)
    np.testing.assert_array_equal(record.y, rows.y[record.rows])


def test_losses_by_hand(rows, verdict):
    record = keep_held_out(verdict, verdict.outputs[0], rows)
    np.testing.assert_allclose(row_losses(record, Mean(), [1]), np.log(3), rtol=1e-6)
    right = np.arange(150) % 5 != 0
    expected = -np.log(np.where(right, 0.8, 0.1))
    np.testing.assert_allclose(row_losses(record, Mean(), [0]), expected, rtol=1e-6)
    assert weighted_mean(record, row_losses(record, LogPool(), [0, 1])) < np.log(3)


def test_weights_count_in_the_mean(rows, verdict):
    weighted = rows._replace(weights=np.where(np.arange(150) == 0, 1.0, 0.001))
    record = keep_held_out(verdict, verdict.outputs[0], weighted)
    values = np.zeros(150)
    values[0] = 1.0
    assert weighted_mean(record, values) == pytest.approx(1 / 1.149)
