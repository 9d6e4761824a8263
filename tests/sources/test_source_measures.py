"""Measures of single sources against hand-computed cases, other packages and brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit
from sklearn.metrics import roc_auc_score

from ensemblage.sources._source_measures import (
    VALUE_MEASURES,
    Predicted,
    calibration_intercept,
    calibration_slope,
    class_measures,
    delong,
    logistic_fit,
    net_benefits,
    observed_to_expected,
    regression_slope,
    source_auc,
    source_mean,
    source_ratio,
    source_share,
)


def made(seed: int, sizes: tuple[int, ...] = (60, 90, 40, 120)) -> tuple[np.ndarray, ...]:
    """Risks, events and the rows of each source."""
    rng = np.random.default_rng(seed)
    x = rng.normal(-0.5, 1.2, sum(sizes))
    ends = np.cumsum((0, *sizes))
    groups = [np.arange(a, b) for a, b in itertools.pairwise(ends)]
    return expit(x), rng.random(len(x)) < expit(0.2 + 0.8 * x), groups


def test_delong_by_hand() -> None:
    # events .8, .4; others .6, .3, .4: wins 3, 1.5 of 3 each
    area, variance = delong(np.array([0.8, 0.4, 0.6, 0.3, 0.4]), np.array([1, 1, 0, 0, 0], bool))
    assert area == pytest.approx(0.75)
    above, below = np.array([1, 0.5]), np.array([0.5, 1, 0.75])
    assert variance == pytest.approx(above.var(ddof=1) / 2 + below.var(ddof=1) / 3)


def test_delong_is_the_bootstrap_variance() -> None:
    risk, events, _ = made(0, (400,))
    area, variance = delong(risk, events)
    assert area == pytest.approx(roc_auc_score(events, risk))
    rng, draws = np.random.default_rng(1), []
    for _ in range(2000):
        rows = np.concatenate(
            [rng.choice(np.flatnonzero(events == each), (events == each).sum()) for each in (0, 1)]
        )
        draws.append(roc_auc_score(events[rows], risk[rows]))
    assert variance == pytest.approx(np.var(draws), rel=0.1)


def test_areas_of_zero_and_one_have_finite_estimates() -> None:
    risk = np.array([0.9, 0.8, 0.1, 0.2, 0.9, 0.8, 0.1, 0.2, 0.5, 0.6, 0.4])
    events = np.array([1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1], dtype=bool)
    found = source_auc(risk, events, [np.arange(4), np.arange(4, 8), np.arange(8, 11)])
    assert found.values[:2].tolist() == [1.0, 0.0]
    assert found.known.tolist() == [True, True, False]
    low, high = found.limits()
    assert (low[:2] <= found.values[:2]).all()
    assert (found.values[:2] <= high[:2]).all()
    assert found.pooled() is None  # two sources only
    # with one area of 1 and one of 0 the pooled area is a half, and their estimates are opposite
    assert found.estimates[0] == pytest.approx(-found.estimates[1])


def test_observed_to_expected_by_hand() -> None:
    found = observed_to_expected(
        np.array([0.25, 0.25, 0.5, 0.5]),
        np.array([1, 0, 1, 1], bool),
        [np.arange(2), np.arange(2, 4)],
    )
    np.testing.assert_allclose(found.values, [2, 2])
    np.testing.assert_allclose(found.estimates, np.log([1.5 / 1.0, 2.5 / 1.5]))


def test_share_by_hand() -> None:
    found = source_share(np.array([1.0, 3.0, 0.0]), np.array([4.0, 8.0, 0.0]))
    np.testing.assert_allclose(found.values[:2], [0.25, 0.375])
    np.testing.assert_allclose(found.estimates[:2], logit([1.5 / 5, 3.5 / 9]))
    assert found.known.tolist() == [True, True, False]
    assert found.variances[0] == pytest.approx(2 * found.variances[1])


def test_calibration_equals_a_generalised_linear_model() -> None:
    sm = pytest.importorskip("statsmodels.api")
    risk, events, _ = made(3, (300,))
    log_odds = logit(risk)
    family = sm.families.Binomial()
    ones, design = np.ones((300, 1)), sm.add_constant(log_odds)
    other = sm.GLM(events.astype(float), ones, family=family, offset=log_odds).fit(tol=1e-14)
    np.testing.assert_allclose(
        logistic_fit(ones, events, log_odds, firth=False), other.params, atol=1e-8
    )
    line = sm.GLM(events.astype(float), design, family=family).fit(tol=1e-14)
    np.testing.assert_allclose(logistic_fit(design, events, firth=False), line.params, atol=1e-8)
    # the variances are those of the model at an intercept of 0 and a slope of 1
    intercept = calibration_intercept(risk, events, [np.arange(300)])
    slope = calibration_slope(risk, events, [np.arange(300)])
    weights = risk * (1 - risk)
    information = design.T @ (design * weights[:, None])
    assert intercept.variances[0] == pytest.approx(1 / weights.sum())
    assert slope.variances[0] == pytest.approx(np.linalg.inv(information)[1, 1])


def test_firths_penalty_by_hand() -> None:
    # an intercept alone: its score adds one half to events and to others
    events = np.array([1, 1, 1, 0, 0], dtype=bool)
    assert logistic_fit(np.ones((5, 1)), events)[0] == pytest.approx(logit(3.5 / 6))
    separable = logistic_fit(
        np.column_stack([np.ones(4), [-2, -1, 1, 2]]), np.array([0, 0, 1, 1], bool)
    )
    assert np.isfinite(separable).all()
    assert 0 < separable[1] < 10


def test_constant_risk_has_no_slope() -> None:
    rows = np.full(6, 0.3), np.array([1, 0, 0, 1, 0, 0], bool), [np.arange(6)]
    assert calibration_intercept(*rows).known.all()
    assert not calibration_slope(*rows).known.any()


def test_mean_losses_by_hand() -> None:
    losses = np.array([1.0, 3.0, 2.0, 2.0, 5.0])
    groups = [np.arange(2), np.arange(2, 5)]
    found = source_mean(losses, groups, "log")
    np.testing.assert_allclose(found.values, [2, 3])
    within = (2 + 6) / 3  # sums of squares 2 and 6, three degrees of freedom
    np.testing.assert_allclose(found.variances, within / np.array([2, 3]) / losses.mean() ** 2)
    assert np.isfinite(
        source_mean(np.array([0.0, 0.0, 1.0]), [np.arange(2), [2]], "log").estimates
    ).all()


def test_ratio_is_r_squared() -> None:
    rng = np.random.default_rng(0)
    y, predicted = rng.normal(size=30), np.zeros(30)
    groups = [np.arange(10), np.arange(10, 30)]
    centred = np.concatenate([(y[own] - y[own].mean()) ** 2 for own in groups])
    found = source_ratio((y - predicted) ** 2, centred, groups)
    expected = [1 - ((y[own]) ** 2).sum() / ((y[own] - y[own].mean()) ** 2).sum() for own in groups]
    np.testing.assert_allclose(found.values, expected)
    np.testing.assert_allclose(1 - np.exp(found.estimates), expected)


def test_regression_slope_equals_least_squares() -> None:
    sm = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(0)
    predicted = rng.normal(size=50)
    y = 1 + 0.7 * predicted + rng.normal(size=50)
    found = regression_slope(predicted, y, [np.arange(50)])
    other = sm.OLS(y, sm.add_constant(predicted)).fit(cov_type="HC3")
    np.testing.assert_allclose(found.values[0], other.params[1])
    np.testing.assert_allclose(found.variances[0], other.cov_params()[1, 1])


@given(st.integers(0, 10_000))
def test_sources_keep_their_order_and_limits_enclose_values(seed: int) -> None:
    risk, events, groups = made(seed)
    for found in (
        source_auc(risk, events, groups), observed_to_expected(risk, events, groups),
        calibration_intercept(risk, events, groups), calibration_slope(risk, events, groups),
        source_mean((risk - events) ** 2, groups, "log"),
    ):  # fmt: skip
        low, high = found.limits()
        known = found.known
        assert ((low <= found.values) & (found.values <= high))[known].all()
        pooled = found.pooled()
        if pooled is not None:
            assert pooled.new_low <= pooled.low <= pooled.mean <= pooled.high <= pooled.new_high
            assert np.isfinite(pooled).all()


def estimates(
    output: list[list[float]], truth: list[float], *names: str, **options: float
) -> dict[str, float]:
    """Values of measures for rows of one source."""
    given = np.array(output)
    if options:
        measures = class_measures(given.shape[1], 1, tuple(options.values()))
        found = Predicted(given, np.array(truth, dtype=int))
    else:
        measures, found = VALUE_MEASURES, Predicted(given, np.array(truth))
    groups = [np.arange(len(truth))]
    return {
        each.name: float(each.function(found, groups).values[0])
        for each in measures if each.name in names
    }  # fmt: skip


def test_decisions_by_hand() -> None:
    # risks .1 .3 .6 .8 with outcomes 0 1 0 1; at .5 one true and one false positive
    output = [[0.9, 0.1], [0.7, 0.3], [0.4, 0.6], [0.2, 0.8]]
    names = ["sensitivity", "specificity", "ppv", "npv", "net_benefit"]
    found = estimates(output, [0, 1, 0, 1], *(f"{each}@0.5" for each in names), at=0.5)
    assert found == {
        "sensitivity@0.5": 0.5, "specificity@0.5": 0.5, "ppv@0.5": 0.5, "npv@0.5": 0.5,
        "net_benefit@0.5": 0.0,
    }  # fmt: skip
    # at a quarter: two true positives, one false one that costs a third
    found = estimates(output, [0, 1, 0, 1], "net_benefit@0.25", "npv@0.25", at=0.25)
    assert found["net_benefit@0.25"] == pytest.approx((2 - 1 / 3) / 4)
    assert found["npv@0.25"] == 1.0
    treat_all = net_benefits(np.ones(4), np.array([0, 1, 0, 1], bool), 0.25).mean()
    assert treat_all == pytest.approx(0.5 - 0.5 / 3)


def test_losses_by_hand() -> None:
    names = ("log_loss", "brier", "brier_scaled", "error")
    found = estimates([[0.9, 0.1], [0.5, 0.5], [0.25, 0.75]], [0, 1, 1], *names, at=0.5)
    assert found["log_loss"] == pytest.approx(-np.log([0.9, 0.5, 0.75]).mean())
    brier = (0.01 + 0.25 + 0.0625) / 3
    assert found["brier"] == pytest.approx(brier)
    assert found["brier_scaled"] == pytest.approx(1 - brier / (1 / 3 * 2 / 3))
    assert found["error"] == pytest.approx(1 / 3)


def test_areas_of_several_classes_are_averaged() -> None:
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), 60)
    labels = rng.integers(0, 3, 60)
    found = Predicted(proba, labels)
    [auc] = [each for each in class_measures(3, 2, ()) if each.name == "auc"]
    groups = [np.arange(30), np.arange(30, 60)]
    expected = [
        roc_auc_score(labels[own], proba[own], multi_class="ovr", average="macro") for own in groups
    ]
    np.testing.assert_allclose(auc.function(found, groups).values, expected)
    # a class that a source lacks is not averaged
    few = Predicted(proba, np.where(labels == 2, 1, labels))
    np.testing.assert_allclose(
        auc.function(few, groups).values[0],
        np.mean([roc_auc_score(few.truth[:30] == k, proba[:30, k]) for k in (0, 1)]),
    )


def test_measures_of_values_by_hand() -> None:
    output = [[1.0, 0.0, 2.0], [2.0, 1.0, 3.0], [4.0, 3.0, 5.0]]
    found = estimates(output, [1.0, 3.5, 5.0], *(each.name for each in VALUE_MEASURES))
    residuals = np.array([0.0, 1.5, 1.0])
    assert found["rmse"] == pytest.approx(np.sqrt((residuals**2).mean()))
    assert found["mae"] == pytest.approx(2.5 / 3)
    assert found["bias"] == pytest.approx(2.5 / 3)
    assert found["coverage"] == pytest.approx(2 / 3)
    assert found["width"] == pytest.approx(2.0)
    y = np.array([1.0, 3.5, 5.0])
    assert found["r2"] == pytest.approx(1 - (residuals**2).sum() / ((y - y.mean()) ** 2).sum())


def test_standard_errors_by_the_delta_method() -> None:
    found = source_share(np.array([50.0, 40.0]), np.array([100.0, 100.0]))
    share = expit(found.estimates)
    np.testing.assert_allclose(
        found.standard_errors, np.sqrt(found.variances) * share * (1 - share)
    )
    rmse = source_mean(np.array([1.0, 4.0, 2.0]), [np.arange(3)], "log of the square")
    step = 1e-6
    slope = (np.exp((rmse.estimates + step) / 2) - np.exp(rmse.estimates / 2)) / step
    np.testing.assert_allclose(rmse.standard_errors, slope * np.sqrt(rmse.variances), rtol=1e-5)


def test_equal_values_everywhere_are_pooled_as_they_are() -> None:
    found = source_mean(np.zeros(9), [np.arange(3), np.arange(3, 6), np.arange(6, 9)]).pooled()
    assert found is not None
    assert found.mean == pytest.approx(0.0, abs=1e-9)
    assert found.high - found.low < 1e-6
