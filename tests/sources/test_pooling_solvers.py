import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize
from sklearn.linear_model import LogisticRegression

from ensemblage.sources import _pooling_solvers
from ensemblage.sources._pooling_solvers import (
    DEVIATION_GRID,
    GRIDS,
    INF,
    Penalties,
    PooledCoefs,
    PoolingData,
    SourceRows,
    add_source_losses,
    deviation_sds,
    fit_logistic,
    logistic_cv_loss,
    mean_log_loss,
    ridge_cv_loss,
    search_folds,
    search_penalties,
    solve_ridge,
    squared_error,
)
from reference.source_losses import source_loss

N_SOURCES = 3
ONE_LEVEL = np.arange(N_SOURCES)


def made(seed, n_logits, n_sources=3, n_rows=12):
    rng = np.random.default_rng(seed)
    sources = np.sort(rng.integers(0, n_sources, n_rows))
    rows = np.column_stack([rng.normal(size=(n_rows, 2)), np.ones(n_rows)])
    labels = rng.integers(0, max(n_logits, 2), n_rows)
    starts = np.searchsorted(sources, np.arange(n_sources + 1))
    data = SourceRows(rows, labels, rng.uniform(0, 2, n_rows), starts)
    return data, sources, rng.normal(size=(n_sources, n_logits, 3))


def test_by_hand():
    """One row of class 1 with weight 2 and logit 0: loss 2 log 2, slope 2 (1/2 - 1) x."""
    data = SourceRows(np.array([[3.0, 1.0]]), np.array([1]), np.array([2.0]), np.array([0, 0, 1]))
    gradient = np.zeros((2, 1, 2))
    loss = add_source_losses(data, np.zeros((2, 1, 2)), gradient)
    assert loss == pytest.approx(2 * np.log(2), rel=1e-15)
    np.testing.assert_allclose(gradient, [[[0.0, 0.0]], [[-3.0, -1.0]]], rtol=1e-15)
    assert data.n_sources == 2


@pytest.mark.parametrize("n_logits", [1, 3])
def test_equals_the_formula(n_logits):
    data, sources, coefs = made(0, n_logits)
    gradient = np.zeros_like(coefs)

    def loss(flat):
        parts = (data.rows, data.labels, sources, data.weights)
        return source_loss(*parts, flat.reshape(coefs.shape))

    assert add_source_losses(data, coefs, gradient) == pytest.approx(loss(coefs.ravel()), rel=1e-12)
    np.testing.assert_allclose(gradient.ravel(), approx_fprime(coefs.ravel(), loss), atol=1e-5)


@given(st.integers(0, 1000), st.sampled_from([1, 2, 4]), st.sampled_from([1.0, 1e3]))
def test_gradient_is_finite_and_zero_along_shifts_of_all_logits(seed, n_logits, size):
    data, _, coefs = made(seed, n_logits)
    gradient = np.zeros_like(coefs)
    loss = add_source_losses(data, size * coefs, gradient)
    assert 0 <= loss < np.inf
    assert np.isfinite(gradient).all()
    if n_logits > 1:  # adding the same to all logits changes nothing
        np.testing.assert_allclose(gradient.sum(axis=1), 0, atol=1e-9)


def numeric_rows(seed, n_rows=60):
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.normal(size=(n_rows, 2)), np.ones(n_rows)])
    y, weights = rng.normal(size=n_rows) + rows[:, 0], rng.uniform(0.5, 2.0, n_rows)
    return PoolingData(rows, y, np.arange(n_rows) % N_SOURCES, weights, ONE_LEVEL)


def loss(data, penalties, common, deviations, inner):
    """The sum that is minimised, one row at a time."""
    total = 0.0
    for x, truth, s, weight in zip(*data[:4], strict=True):
        coefs = common + deviations[data.outer[s]] + inner[s]
        total += 0.5 * weight * (truth - x @ coefs) ** 2
    for penalty, part in zip(penalties, (common, deviations, inner), strict=True):
        total += 0.5 * (np.where(np.isfinite(penalty), penalty, 0.0) * part**2).sum()
    return total


def test_two_sources_with_a_mean_each_by_hand():
    # means 0 and 4 of two rows each; B is free, deviations cost one: d = 2 * (mean - B) / 3
    y, sources = np.array([0.0, 0.0, 4.0, 4.0]), np.array([0, 0, 1, 1])
    data = PoolingData(np.ones((4, 1)), y, sources, np.ones(4), np.arange(2))
    found = solve_ridge(data.grams(), np.zeros(1), np.ones(1), np.array([INF]))
    assert found.common == pytest.approx([2.0])
    assert found.deviations[:, 0] == pytest.approx([-4 / 3, 4 / 3])


def test_two_wards_of_one_hospital_by_hand():
    # the common mean 2 is free and takes all that wards share; wards as in the case above
    y, wards = np.array([0.0, 0.0, 4.0, 4.0]), np.array([0, 0, 1, 1])
    data = PoolingData(np.ones((4, 1)), y, wards, np.ones(4), np.zeros(2, int))
    found = solve_ridge(data.grams(), np.zeros(1), np.ones(1), np.ones(1))
    assert found.common == pytest.approx([2.0])
    assert found.deviations == pytest.approx(np.zeros((1, 1)))
    assert found.inner_deviations[:, 0] == pytest.approx([-4 / 3, 4 / 3])


@pytest.mark.parametrize("common", [0.5, INF])
@pytest.mark.parametrize("own", [2.0, INF])
@pytest.mark.parametrize("inner", [3.0, INF])
@pytest.mark.parametrize("outer", [ONE_LEVEL, np.array([0, 0, 1])])
def test_no_other_coefficients_are_better(common, own, inner, outer):
    data = numeric_rows(0)._replace(outer=outer)
    penalties = [np.array([slope] * 2 + [intercept])
                 for slope, intercept in ((common, 0.0), (own, 1.0), (inner, 2.0))]  # fmt: skip
    found = solve_ridge(data.grams(), *penalties)
    masks = [np.isfinite(each) for each in penalties]
    ends = np.cumsum([3, 3 * (outer[-1] + 1)])

    def slow(values):
        parts = np.split(values, ends)
        shaped = [part.reshape(-1, 3) * free for part, free in zip(parts, masks, strict=True)]
        return loss(data, penalties, shaped[0][0], *shaped[1:])

    best = minimize(slow, np.zeros(ends[-1] + 9), method="BFGS", options={"gtol": 1e-7})
    assert loss(data, penalties, *found[:3]) == pytest.approx(best.fun, rel=1e-8)
    for part, free in zip(found[:3], masks, strict=True):
        np.testing.assert_array_equal(part[..., ~free], 0)


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_levels_balance_and_errors_add_up(seed):
    data = numeric_rows(seed)._replace(outer=np.array([0, 0, 1]))
    found = solve_ridge(data.grams(), *(np.full(3, each) for each in (0.7, 1.9, 0.4)))
    # at the minimum the gradients of each level are the same sums over the rows
    np.testing.assert_allclose(0.7 * found.common, 1.9 * found.deviations.sum(axis=0), atol=1e-9)
    by_outer = [found.inner_deviations[:2].sum(axis=0), found.inner_deviations[2]]
    np.testing.assert_allclose(1.9 * found.deviations, 0.4 * np.array(by_outer), atol=1e-9)
    residuals = data.y - (data.rows * found.coefs[data.sources]).sum(axis=1)
    error = squared_error(data.grams(), found.coefs)
    assert error == pytest.approx(float(data.weights @ residuals**2))


def test_deviations_are_uncertain_as_the_inverse_of_the_curvature_says():
    """Jointly inverted: outer ones given the common, inner ones given the outer coefficients."""
    data, width = numeric_rows(0)._replace(outer=np.array([0, 0, 1])), 3
    grams, (own, inner) = data.grams().grams, (1.9, 0.4)
    penalties = Penalties(1.0, own, own, inner, inner)
    outer_sd, inner_sd = deviation_sds(grams, data.outer, penalties)
    joint = np.zeros((9, 9))  # deviations of outer source 0, and of its two sources
    joint[:3, :3] = grams[0] + grams[1] + own * np.eye(width)
    for s in (0, 1):
        at = slice(3 * (s + 1), 3 * (s + 2))
        joint[:3, at] = joint[at, :3] = grams[s]
        joint[at, at] = grams[s] + inner * np.eye(width)
    np.testing.assert_allclose(outer_sd[0], np.sqrt(np.diag(np.linalg.inv(joint)))[:3])
    alone = np.linalg.inv(grams[0] + inner * np.eye(width))
    np.testing.assert_allclose(inner_sd[0], np.sqrt(np.diag(alone)))


def class_rows(n_classes):
    rng = np.random.default_rng(0)
    X, sources = rng.normal(size=(120, 2)), np.arange(120) % N_SOURCES
    y = np.digitize(X[:, 0] + (sources - 1) * X[:, 1] + rng.normal(size=120), [-0.5, 0.5])
    labels = np.minimum(y, n_classes - 1)
    rows = np.column_stack([X, np.ones(len(X))])
    return X, PoolingData(rows, labels.astype(np.int64), sources, np.ones(len(X)), ONE_LEVEL)


def fitted(data, penalties, n_classes):
    n_logits = 1 if n_classes == 2 else n_classes
    start = PooledCoefs.zeros(data.outer, n_logits, data.rows.shape[1])
    return fit_logistic(data.by_source(), penalties, start, tol=1e-9)[0]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_deviations_it_is_one_regression_with_indicators_of_the_sources(n_classes):
    X, data = class_rows(n_classes)
    found = fitted(data, Penalties(4.0, INF, 1.0), n_classes)
    # a column times its weight is penalised by one over the weight squared
    indicators = 2.0 * np.eye(N_SOURCES)[data.sources]
    plain = LogisticRegression(C=1 / 4, tol=1e-10, max_iter=5000)
    plain.fit(np.column_stack([X, indicators]), data.y)
    np.testing.assert_allclose(found.common[:, :2], plain.coef_[:, :2], atol=1e-4)
    np.testing.assert_allclose(found.deviations[..., :2], 0)
    np.testing.assert_allclose(found.mean, found.common + found.deviations.mean(axis=0))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_common_coefficients_it_is_one_regression_per_source(n_classes):
    X, data = class_rows(n_classes)
    found = fitted(data, Penalties(INF, 4.0, 1.0), n_classes)
    for s in range(N_SOURCES):
        # the shared intercept as it was found, each source's own around it under its penalty
        own = data.sources == s
        rows = np.column_stack([X[own], 2.0 * np.ones(own.sum())])
        fixed = np.broadcast_to(found.common[:, -1], (own.sum(), len(found.common)))
        residual = data.y[own]
        plain = _regression_with_offsets(rows, residual, fixed, n_classes)
        np.testing.assert_allclose(found.deviations[s][:, :2], plain[:, :2], atol=1e-4)
        np.testing.assert_allclose(found.deviations[s][:, 2], 2.0 * plain[:, 2], atol=1e-4)


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


def test_at_the_minimum_common_and_deviations_are_in_balance():
    _, data = class_rows(2)
    found = fitted(data, Penalties(2.0, 3.0, 1.0), 2)
    np.testing.assert_allclose(
        2.0 * found.common[:, :-1], 3.0 * found.deviations.sum(axis=0)[:, :-1], atol=1e-5
    )


def test_twice_the_weight_is_a_row_twice():
    _, data = class_rows(3)
    twice = np.concatenate([np.arange(120), np.arange(40)])
    repeated = PoolingData(*(part[twice] for part in data[:4]), ONE_LEVEL)
    weighted = data._replace(weights=1.0 + (np.arange(120) < 40))
    penalties = Penalties(1.0, 1.0, 1.0)
    a, b = fitted(repeated, penalties, 3), fitted(weighted, penalties, 3)
    np.testing.assert_allclose(a.coefs, b.coefs, atol=1e-6)


def test_zero_coefficients_have_the_log_loss_of_equal_classes():
    _, data = class_rows(3)
    nothing = PooledCoefs.zeros(ONE_LEVEL, 3, 3)
    loss = mean_log_loss(data.by_source(), nothing.coefs)
    assert loss == pytest.approx(np.log(3), rel=1e-12)


def sources_that_differ(sd, n_rows=400, n_sources=4):
    """Sources whose coefficients have the standard deviation ``sd``."""
    rng = np.random.default_rng(1)
    X, sources = rng.normal(size=(n_rows, 3)), np.arange(n_rows) % n_sources
    own = 1.0 + sd * rng.normal(size=(n_sources, 3))
    labels = ((X * own[sources]).sum(axis=1) + rng.logistic(size=n_rows) > 0).astype(np.int64)
    rows = np.column_stack([X, np.ones(n_rows)])
    return PoolingData(rows, labels, sources, np.ones(n_rows), np.arange(n_sources))


def chosen(data, **grids):
    start = PooledCoefs.zeros(data.outer, 1, data.rows.shape[1])
    folds = search_folds(data.sources, 5, np.random.default_rng(0))
    no_inner = {"inner_deviation": (INF,), "inner_intercept": (INF,)}
    return search_penalties(logistic_cv_loss(data, start, folds), {**GRIDS, **no_inner, **grids})


def test_the_more_sources_differ_the_smaller_the_deviation_penalty():
    alike, apart = chosen(sources_that_differ(0.0)), chosen(sources_that_differ(2.0))
    assert alike.deviation >= 10
    assert apart.deviation <= 3


def test_small_sources_that_do_not_differ_have_one_intercept():
    rng = np.random.default_rng(0)
    sources, labels = np.repeat(np.arange(50), 8), rng.integers(2, size=400)
    data = PoolingData(np.ones((400, 1)), labels, sources, np.ones(400), np.arange(50))
    # of folds with a source's own rate in their test rows the smallest would be chosen
    assert chosen(data).intercept >= 30


def test_given_penalties_are_kept():
    data = sources_that_differ(1.0)
    assert chosen(data, common=(7.0,)).common == 7.0
    assert chosen(data, deviation=(INF,), intercept=(2.0,))[1:] == (INF, 2.0, INF, INF)
    assert chosen(data).deviation in DEVIATION_GRID


def test_of_equally_good_penalties_the_largest_are_chosen():
    grids = {"deviation": (1.0, INF), "common": (1.0, 3.0), "intercept": (1.0, 30.0)}
    found = search_penalties(lambda _: 0.0, grids)
    assert found == Penalties(3.0, INF, 30.0)


def test_many_rows_are_sampled_by_source(monkeypatch):
    monkeypatch.setattr(_pooling_solvers, "MAX_SEARCH_ROWS", 100)
    data = sources_that_differ(1.0)
    folds = search_folds(data.sources, 5, np.random.default_rng(0))
    some = np.concatenate([fold.test for fold in folds])
    assert len(some) == pytest.approx(100, abs=4)
    np.testing.assert_allclose(np.bincount(data.sources[some]), 25, atol=2)


def test_rows_are_sorted_and_sources_without_rows_stay():
    data = sources_that_differ(1.0, n_rows=8)._replace(outer=np.arange(5))
    kept = data.by_source(np.array([7, 1, 2, 5]))
    assert kept.starts.tolist() == [0, 0, 2, 3, 4, 4]
    np.testing.assert_array_equal(kept.rows, data.rows[[1, 5, 2, 7]])


def nested_rows(n_rows=240):
    rng = np.random.default_rng(3)
    rows = np.column_stack([rng.normal(size=(n_rows, 2)), np.ones(n_rows)])
    sources = np.arange(n_rows) % 4
    labels = (rows[:, 0] + (sources - 1.5) * rows[:, 1] + rng.normal(size=n_rows) > 0).astype(int)
    return PoolingData(rows, labels, sources, np.ones(n_rows), np.array([0, 0, 1, 1]))


def test_nested_logistic_regression_has_its_minimum_where_a_slow_search_has():
    data, penalties = nested_rows(80), Penalties(0.7, 1.5, 0.5, 2.0, 3.0)
    found = fitted(data, penalties, 2)
    diagonals = penalties.diagonals(3)

    def slow(flat):
        common, outer, inner = flat[:3], flat[3:9].reshape(2, 3), flat[9:].reshape(4, 3)
        coefs = common + outer[data.outer] + inner
        total = source_loss(data.rows, data.y, data.sources, data.weights, coefs[:, None])
        levels = zip(diagonals, (common, outer, inner), strict=True)
        return total + 0.5 * sum((one * part**2).sum() for one, part in levels)

    flat = np.concatenate([part.ravel() for part in found[:3]])
    np.testing.assert_allclose(approx_fprime(flat, slow), 0, atol=1e-4)
    assert minimize(slow, np.zeros(21), method="BFGS").fun >= slow(flat) - 1e-6


def test_an_unknown_source_has_the_mean_over_outer_sources():
    outer = np.array([0, 0, 1])
    found = PooledCoefs(
        np.ones(1), np.array([[1.0], [3.0]]), np.array([[0.0], [2.0], [5.0]]), outer
    )
    assert found.coefs.ravel().tolist() == [2.0, 4.0, 9.0]
    assert found.outer_coefs.ravel().tolist() == [3.0, 9.0]
    assert found.mean.tolist() == [6.0]


def test_without_a_fold_that_has_weight_on_both_sides_the_largest_penalties_are_chosen():
    data = sources_that_differ(1.0, n_rows=40)._replace(weights=np.eye(40)[0])
    folds = search_folds(data.sources, 5, np.random.default_rng(0))
    start = PooledCoefs.zeros(data.outer, 1, data.rows.shape[1])
    for loss in (logistic_cv_loss(data, start, folds), ridge_cv_loss(data, folds)):
        found = search_penalties(loss, GRIDS)
        assert found == Penalties(*(grid[-1] for grid in GRIDS.values()))
