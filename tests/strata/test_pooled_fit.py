import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ensemblage.strata._pooled_fit import Penalties, Pooled, fit_pooled, held_out_loss
from ensemblage.strata._pooling_search import SourcedRows

INF = float("inf")
N_SOURCES = 3


def made(n_classes):
    rng = np.random.default_rng(0)
    X, sources = rng.normal(size=(120, 2)), np.arange(120) % N_SOURCES
    y = np.digitize(X[:, 0] + (sources - 1) * X[:, 1] + rng.normal(size=120), [-0.5, 0.5])
    labels = np.minimum(y, n_classes - 1)
    rows = np.column_stack([X, np.ones(len(X))])
    return X, SourcedRows(rows, labels.astype(np.int64), sources, np.ones(len(X)))


def fitted(data, penalties, n_classes):
    n_logits = 1 if n_classes == 2 else n_classes
    start = Pooled.nothing(N_SOURCES, n_logits, data.rows.shape[1])
    return fit_pooled(data.by_source(N_SOURCES), penalties, start, tol=1e-9)[0]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_deviations_it_is_one_regression_with_indicators_of_the_sources(n_classes):
    X, data = made(n_classes)
    found = fitted(data, Penalties(4.0, INF), n_classes)
    # a column times its weight is penalised by one over the weight squared
    indicators = 2.0 * np.eye(N_SOURCES)[data.sources]
    plain = LogisticRegression(C=1 / 4, tol=1e-10, max_iter=5000)
    plain.fit(np.column_stack([X, indicators]), data.labels)
    np.testing.assert_allclose(found.shared[:, :2], plain.coef_[:, :2], atol=1e-4)
    np.testing.assert_allclose(found.own[..., :2], 0)
    np.testing.assert_allclose(found.typical, found.shared + found.own.mean(axis=0))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_shared_coefficients_it_is_one_regression_per_source(n_classes):
    X, data = made(n_classes)
    found = fitted(data, Penalties(INF, 4.0), n_classes)
    for s in range(N_SOURCES):
        # the shared intercept as it was found, each source's own around it under its penalty
        own = data.sources == s
        rows = np.column_stack([X[own], 2.0 * np.ones(own.sum())])
        fixed = np.broadcast_to(found.shared[:, -1], (own.sum(), len(found.shared)))
        residual = data.labels[own]
        plain = _regression_with_offsets(rows, residual, fixed, n_classes)
        np.testing.assert_allclose(found.own[s][:, :2], plain[:, :2], atol=1e-4)
        np.testing.assert_allclose(found.own[s][:, 2], 2.0 * plain[:, 2], atol=1e-4)


def _regression_with_offsets(rows, labels, offsets, n_classes):
    from scipy.optimize import minimize
    from scipy.special import log_softmax

    n_logits = offsets.shape[1]

    def loss(flat):
        scores = rows @ flat.reshape(n_logits, -1).T + offsets
        if n_logits == 1:
            scores = np.column_stack([np.zeros(len(rows)), scores])
        return -log_softmax(scores, axis=1)[np.arange(len(rows)), labels].sum() + 2.0 * flat @ flat

    best = minimize(loss, np.zeros(n_logits * rows.shape[1]), tol=1e-12)
    return best.x.reshape(n_logits, -1)


def test_at_the_minimum_shared_and_own_are_in_balance():
    _, data = made(2)
    found = fitted(data, Penalties(2.0, 3.0), 2)
    np.testing.assert_allclose(
        2.0 * found.shared[:, :-1], 3.0 * found.own.sum(axis=0)[:, :-1], atol=1e-5
    )


def test_twice_the_weight_is_a_row_twice():
    _, data = made(3)
    twice = np.concatenate([np.arange(120), np.arange(40)])
    repeated = SourcedRows(*(part[twice] for part in data))
    weighted = data._replace(weights=1.0 + (np.arange(120) < 40))
    penalties = Penalties(1.0, 1.0)
    a, b = fitted(repeated, penalties, 3), fitted(weighted, penalties, 3)
    np.testing.assert_allclose(a.coefs, b.coefs, atol=1e-6)


def test_held_out_loss_of_nothing_known_is_that_of_equal_classes():
    _, data = made(3)
    nothing = Pooled.nothing(N_SOURCES, 3, 3)
    loss = held_out_loss(data.by_source(N_SOURCES), nothing.coefs)
    assert loss == pytest.approx(np.log(3), rel=1e-12)
