import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, log_softmax

from ensemblage.evaluation._source_predictions import HeldOut
from ensemblage.evaluation._suspect_sources import suspect_sources, turned_evidence
from ensemblage.strata import as_log_proba


def rows(n_rows, offset=0.0, slope=1.0, seed=0):
    """Probabilities of two classes, and labels whose log odds are another multiple and offset."""
    rng = np.random.default_rng(seed)
    said = 1.5 * rng.normal(size=n_rows)
    labels = (rng.random(n_rows) < expit(slope * said + offset)).astype(np.int64)
    return np.column_stack([expit(-said), expit(said)]), labels


@given(st.integers(0, 50))
def test_turned_round_the_evidence_has_the_other_sign(seed):
    shares, labels = rows(40, seed=seed)
    log_proba = as_log_proba(shares)
    as_it_is = turned_evidence(log_proba, labels)
    assert turned_evidence(log_proba[:, ::-1], labels) == pytest.approx(-as_it_is, abs=1e-6)
    assert turned_evidence(log_proba, 1 - labels) == pytest.approx(-as_it_is, abs=1e-3)


@pytest.mark.parametrize("offset", [-4.0, -2.0, 0.0, 2.0, 4.0])
def test_other_shares_of_the_classes_make_nobody_suspect(offset):
    shares, labels = rows(300, offset)
    assert turned_evidence(as_log_proba(shares), labels) < 0
    shares, labels = rows(300, offset, slope=-1.0)
    assert turned_evidence(as_log_proba(shares), labels) > 0


def test_noise_is_not_suspect():
    shares, labels = rows(300, slope=0.0)
    assert turned_evidence(as_log_proba(shares), labels) < 4


def test_of_several_the_surest_is_named_and_the_others_looked_at_again():
    """The third misleads the second until it is left out."""
    good, turned = rows(200, seed=1), rows(200, slope=-1.0, seed=2)
    misled = rows(60, slope=-1.0, seed=3)
    labels = np.concatenate([good[1], misled[1], turned[1]])
    sources = np.repeat([0, 1, 2], [200, 60, 200])
    asked = []

    def predict(dropped):
        asked.append(list(dropped))
        return HeldOut(np.concatenate([good[0], misled[0][:, ::-1], turned[0]]))

    held = HeldOut(np.concatenate([good[0], misled[0], turned[0]]))
    assert suspect_sources(held, labels, sources, predict) == [2]
    assert asked == [[2]]


def test_of_two_sources_both_are_named():
    shares, labels = rows(400, slope=-1.0)
    sources = np.repeat([0, 1], 200)
    held = HeldOut(np.exp(log_softmax(as_log_proba(shares), axis=1)))
    assert suspect_sources(held, labels, sources, None) == [0, 1]
