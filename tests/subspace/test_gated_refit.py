import numpy as np

from ensemblage.datasets import make_quarter_circle
from ensemblage.kernels import log_softmax, member_log_proba, mixture_loss
from ensemblage.subspace._gated_refit import (
    gated_proba,
    loosely_gated,
    refit_with_gate,
)
from ensemblage.subspace._member import as_rows, member_outputs, standardise
from ensemblage.subspace._sequence import fit_sequence
from ensemblage.subspace._settings import Settings

SETTINGS = Settings("lbfgs", 0.1, "auto", "auto", 1.0, 20, 1e-4, 100)


def fitted(n_members=3, n_dummies=2):
    X, y = make_quarter_circle(60, n_dummies=n_dummies, random_state=0)
    rows = as_rows(X, y, 2, standardise(X))
    return rows, list(fit_sequence(rows, range(n_members), SETTINGS))


def test_even_gate_averages_the_members():
    rows, members = fitted()
    mixture = loosely_gated(members, 0)
    even = mixture._replace(gate_coef=np.zeros_like(mixture.gate_coef))
    expected = member_outputs(rows.features, members).mean(axis=0)
    np.testing.assert_allclose(gated_proba(rows.features, even), expected)


def test_a_gated_mixture_is_the_sum_over_members_in_logs():
    rows, members = fitted()
    mixture = loosely_gated(members, 0)
    gate = log_softmax(mixture.gate_coef @ rows.features + mixture.gate_intercept[:, None], axis=0)
    log_proba = member_log_proba(rows.features, mixture.coef, mixture.intercept)
    expected = np.exp(gate[:, None] + log_proba).sum(axis=0).T
    np.testing.assert_allclose(gated_proba(rows.features, mixture), expected, rtol=1e-12)


def test_refit_lowers_the_loss_and_keeps_the_masks():
    rows, members = fitted()
    start, supports = loosely_gated(members, 0), np.array([m.support for m in members])
    refitted = refit_with_gate(rows, start, supports, 1e-3)
    before, after = (
        mixture_loss(rows.features, rows.targets, rows.weights, mixture, 1e-3)[0]
        for mixture in (start, refitted)
    )
    assert after < before
    assert (refitted.coef[~np.broadcast_to(supports[:, None], refitted.coef.shape)] == 0).all()


def test_gate_bends_the_boundary():
    X, y = make_quarter_circle(200, random_state=0)
    rows = as_rows(X, y, 2, standardise(X))
    members = list(fit_sequence(rows, range(5), SETTINGS))
    everything = np.ones((5, 2), bool)
    refitted = refit_with_gate(rows, loosely_gated(members, 0), everything, 1e-5)
    right = gated_proba(rows.features, refitted).argmax(axis=1) == rows.targets
    assert right.mean() > 0.97


def test_starts_differ_between_members_and_not_between_calls():
    _, members = fitted()
    first, again = loosely_gated(members, 5), loosely_gated(members, 5)
    np.testing.assert_array_equal(first.gate_coef, again.gate_coef)
    assert np.unique(first.gate_coef).size == first.gate_coef.size
