import numpy as np

from ensemblage.datasets import make_quarter_circle
from ensemblage.kernels import mixture_loss
from ensemblage.subspace._gate import (
    gated_proba,
    loosely_gated,
    random_mixture,
    refit_with_gate,
    ungated,
)
from ensemblage.subspace._member import as_rows, standardise
from ensemblage.subspace._sequence import Settings, fit_sequence

SETTINGS = Settings("lbfgs", 0.1, "auto", "auto", 1.0, 20, 1e-4, 100)


def fitted(n_members=3, n_dummies=2):
    X, y = make_quarter_circle(60, n_dummies=n_dummies, random_state=0)
    rows = as_rows(X, y, 2, *standardise(X))
    return rows, list(fit_sequence(rows, range(n_members), SETTINGS))


def test_even_gate_averages_the_members():
    rows, members = fitted()
    mixture = ungated(members)
    proba = gated_proba(rows.features, mixture)
    singles = [gated_proba(rows.features, ungated([member])) for member in members]
    np.testing.assert_allclose(proba, np.mean(singles, axis=0))


def test_refit_lowers_the_loss_and_keeps_the_masks():
    rows, members = fitted()
    start, supports = loosely_gated(members, 0), np.array([m.support for m in members])
    refitted = refit_with_gate(rows, start, supports, 1e-3)
    before, after = (
        mixture_loss(rows.features, rows.labels, rows.weights, mixture, 1e-3)[0]
        for mixture in (start, refitted)
    )
    assert after < before
    assert (refitted.coef[~np.broadcast_to(supports[:, None], refitted.coef.shape)] == 0).all()


def test_gate_bends_the_boundary():
    X, y = make_quarter_circle(200, random_state=0)
    rows = as_rows(X, y, 2, *standardise(X))
    members = list(fit_sequence(rows, range(5), SETTINGS))
    everything = np.ones((5, 2), bool)
    refitted = refit_with_gate(rows, loosely_gated(members, 0), everything, 1e-5)
    right = gated_proba(rows.features, refitted).argmax(axis=1) == rows.labels
    assert right.mean() > 0.97


def test_starts_differ_between_members_and_not_between_calls():
    _, members = fitted()
    first, again = loosely_gated(members, 5), loosely_gated(members, 5)
    np.testing.assert_array_equal(first.gate_coef, again.gate_coef)
    assert np.unique(first.gate_coef).size == first.gate_coef.size
    assert random_mixture(3, 2, 4, np.random.default_rng(0)).coef.shape == (3, 2, 4)
