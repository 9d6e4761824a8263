"""Random-effects pooling against published results, another package and a slow twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import chi2, norm
from scipy.stats import t as student

from ensemblage.sources._meta_analysis import pool_estimates, profile_tau2, restricted_tau2

# trials of BCG vaccine (Colditz and others, 1994): cases and others with and without vaccine
BCG = np.array([
    [4, 119, 11, 128], [6, 300, 29, 274], [3, 228, 11, 209], [62, 13536, 248, 12619],
    [33, 5036, 47, 5761], [180, 1361, 372, 1079], [8, 2537, 10, 619], [505, 87886, 499, 87892],
    [29, 7470, 45, 7232], [17, 1699, 65, 1600], [186, 50448, 141, 27197], [5, 2493, 3, 2338],
    [27, 16886, 29, 17825],
], dtype=float)  # fmt: skip


def bcg() -> tuple[np.ndarray, np.ndarray]:
    """Log relative risks and their variances."""
    a, b, c, d = BCG.T
    return np.log(a / (a + b)) - np.log(c / (c + d)), 1 / a - 1 / (a + b) + 1 / c - 1 / (c + d)


def test_convention_equals_metafor() -> None:
    # rma(yi, vi, method="REML", test="knha") of R's metafor 3.8-1 on dat.bcg
    found = pool_estimates(*bcg(), "hartung-knapp")
    np.testing.assert_allclose(
        [found.mean, found.tau**2, 100 * found.i2, found.low, found.high],
        [-0.714532342158, 0.313243258136, 92.221384521269, -1.108443713686, -0.320620970631],
        rtol=1e-9,
    )
    # its standard error, and t with k - 2 degrees of freedom (Higgins and others, 2009)
    half = student.ppf(0.975, 11) * np.sqrt(0.313243258136 + 0.180791744093**2)
    np.testing.assert_allclose(
        [found.new_low, found.new_high], [found.mean - half, found.mean + half]
    )


def test_solution_at_the_mean_of_q_equals_paule_and_mandel() -> None:
    effects = pytest.importorskip("statsmodels.stats.meta_analysis")
    y, v = bcg()
    other = effects.combine_effects(y, v, method_re="iterated", atol=1e-12)
    goal = len(y) - 1
    levels = chi2.ppf((np.arange(99) + 0.5) / 99, goal)
    # Q decreases in tau squared, so that the solutions around that of k - 1 enclose it
    grid = profile_tau2(y, v)
    assert grid[levels > goal].max() < other.tau2 < grid[levels < goal].min()


def slow_profile(y: np.ndarray, v: np.ndarray) -> list[float]:
    """Limits of mean and new source, solved one at a time."""
    k = len(y)

    def q(t: float) -> float:
        w = 1 / (v + t)
        return float((w * (y - (w * y).sum() / w.sum()) ** 2).sum())

    parts = []
    for j in range(1, 100):
        c = chi2.ppf((j - 0.5) / 99, k - 1)
        t = brentq(lambda t, c=c: q(t) - c, 0, 1e6, xtol=1e-14) if q(0) > c else 0.0
        w = 1 / (v + t)
        parts.append(((w * y).sum() / w.sum(), 1 / w.sum(), t))
    limits = []
    for extra in (0.0, 1.0):
        for level in (0.025, 0.975):
            share = lambda x: np.mean(  # noqa: E731
                [norm.cdf(x, m, np.sqrt(s + extra * t)) for m, s, t in parts]  # noqa: B023
            )
            limits.append(brentq(lambda x: share(x) - level, -1e3, 1e3, xtol=1e-12))  # noqa: B023
    return limits


@pytest.mark.parametrize("seed", range(4))
def test_profile_equals_its_slow_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(3, 12))
    v = rng.uniform(0.01, 1, k)
    y = rng.normal(0, np.sqrt(v + 0.3 * (seed % 2)))
    found = pool_estimates(y, v)
    np.testing.assert_allclose(
        [found.low, found.high, found.new_low, found.new_high], slow_profile(y, v), atol=1e-8
    )


def test_equal_estimates_have_no_heterogeneity() -> None:
    found = pool_estimates(np.full(5, 0.3), np.full(5, 0.04))
    assert found.tau == found.i2 == 0
    half = norm.ppf(0.975) * np.sqrt(0.04 / 5)
    np.testing.assert_allclose([found.mean, found.low, found.high], [0.3, 0.3 - half, 0.3 + half])
    assert (found.new_low, found.new_high) == (found.low, found.high)


@given(st.integers(0, 10_000), st.integers(3, 20), st.floats(1e-3, 1e3))
def test_shift_and_scale_carry_over(seed: int, k: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    y, v = rng.normal(size=k), rng.uniform(0.05, 2, k)
    one, two = pool_estimates(y, v), pool_estimates(scale * y + 1, scale**2 * v)
    np.testing.assert_allclose(
        np.array(two[:5]), scale * np.array(one[:5]) + 1, rtol=1e-5, atol=1e-5 * scale
    )
    assert one.new_low <= one.low <= one.high <= one.new_high
    np.testing.assert_allclose(two.tau, scale * one.tau, rtol=1e-4, atol=1e-4 * scale)


@given(st.integers(0, 10_000), st.integers(3, 20))
def test_restricted_likelihood_is_at_its_maximum(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    y, v = rng.normal(size=k), rng.uniform(0.05, 2, k)

    def loss(t: float) -> float:
        w = 1 / (v + t)
        mean = (w * y).sum() / w.sum()
        return float(np.log(w.sum()) - np.log(w).sum() + (w * (y - mean) ** 2).sum()) / 2

    best = minimize_scalar(loss, bounds=(0, 20), method="bounded", options={"xatol": 1e-10})
    assert loss(restricted_tau2(y, v)) <= best.fun + 1e-9
