"""Coverage of an audit's confidence intervals and prediction limit, in simulation.

Usage: python studies/study_audit.py [RUNS]

Simulated sources differ in their coefficients, class frequencies and feature means: 4 to 40 sources
of 30 to 300 rows each. Checked are the 95 % confidence interval of the expected error at a new
source, its 90 % prediction limit, and the 95 % confidence intervals of each source's
leave-source-out error, calibration slope and calibration intercept. True values are computed from
the simulated model.
"""

import sys
import warnings
from typing import NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from ensemblage.sources import as_log_proba, cross_predict, fit_calibration, source_folds
from ensemblage.sources._audit import WEAK_PRIOR, audit_sources, summarise_errors

SIZES = (4, 8, 16, 40)
RUNS = 200
N_COLUMNS = 4
COEFFICIENTS = np.array([1.5, -1.0, 0.5, 0.0])
N_NEW, N_DRAWS = 2000, 100


class Site(NamedTuple):
    """Coefficients of a source, and the mean of its features."""

    coefficients: np.ndarray
    intercept: float
    centre: np.ndarray

    def rate(self, X):
        """Probability of the second class."""
        return expit(X @ self.coefficients + self.intercept)


def draw_site(rng):
    coefficients = COEFFICIENTS + 0.5 * rng.normal(size=N_COLUMNS)
    return Site(coefficients, 0.7 * rng.normal() - 0.5, 0.5 * rng.normal(size=N_COLUMNS))


def draw_rows(site, n_rows, rng):
    X = site.centre + rng.normal(size=(n_rows, N_COLUMNS))
    return X, (rng.random(n_rows) < site.rate(X)).astype(np.int64)


def true_error(site, model, draws):
    """Give the expected share of misclassified rows, by the class probabilities."""
    X = site.centre + draws
    rate = site.rate(X)
    return np.where(model.predict(X) == 1, 1 - rate, rate).mean()


def true_calibration(site, model, draws):
    """Log calibration slope and calibration intercept of a model in the whole population."""
    X = site.centre + draws
    rate = site.rate(X)
    log_proba = np.tile(as_log_proba(model.predict_proba(X)), (2, 1))
    labels = np.repeat([1, 0], len(X))
    # weights so large that the weak prior does not matter
    found = fit_calibration(log_proba, labels, 10 * np.concatenate([rate, 1 - rate]), WEAK_PRIOR)
    return np.log(found.slope), found.intercepts[1] - found.intercepts[0]


def new_errors(model, rng):
    """Give the true errors of a model at many new sources."""
    coefficients = COEFFICIENTS + 0.5 * rng.normal(size=(N_NEW, N_COLUMNS))
    intercepts = 0.7 * rng.normal(size=(N_NEW, 1)) - 0.5
    centres = 0.5 * rng.normal(size=(N_NEW, N_COLUMNS))
    X = centres[:, None] + rng.normal(size=(N_NEW, N_DRAWS, N_COLUMNS))
    rates = expit(np.einsum("sij,sj->si", X, coefficients) + intercepts)
    positive = X @ model.coef_[0] + model.intercept_ > 0
    return np.where(positive, 1 - rates, rates).mean(axis=1)


def one_run(n_sources, seed):
    """Check each interval and limit against the true values."""
    rng = np.random.default_rng(seed)
    sites = [draw_site(rng) for _ in range(n_sources)]
    counts = rng.integers(30, 301, n_sources)
    parts = [draw_rows(*pair, rng) for pair in zip(sites, counts, strict=True)]
    X, y = (np.concatenate(each) for each in zip(*parts, strict=True))
    sources = np.repeat(np.arange(n_sources), counts)
    folds = source_folds(sources, 10)
    proba = cross_predict(LogisticRegression(), X, y, folds)
    names = [str(s) for s in range(n_sources)]
    audited = audit_sources(proba, proba, y, sources, names, ())
    expected = summarise_errors(audited)

    draws = rng.normal(size=(8000, N_COLUMNS))
    models = [LogisticRegression().fit(X[fold.train], y[fold.train]) for fold in folds]
    covered = {"error": [], "slope": [], "intercept": []}
    for s, (site, source) in enumerate(zip(sites, audited, strict=True)):
        [model] = [m for m, f in zip(models, folds, strict=True) if (sources[f.test] == s).any()]
        log_slope, intercept = true_calibration(site, model, draws[:2000])
        truths = {
            "error": ("shrunken_error", true_error(site, model, draws)),
            "slope": ("calibration_slope", np.exp(log_slope)),
            "intercept": ("calibration_intercept", intercept),
        }
        for name, (field, truth) in truths.items():
            covered[name].append(is_covered(truth, field, vars(source)))
    new = new_errors(LogisticRegression().fit(X, y), rng)
    return {
        "expected error": is_covered(new.mean(), "leave_source_out_error", expected),
        "prediction limit": (new <= expected["prediction_limit"]).mean(),
        **{name: np.mean(each) for name, each in covered.items()},
        "bias": expected["leave_source_out_error"] - new.mean(),
    }


def is_covered(truth, field, estimates):
    """Whether the confidence interval of a field has the true value."""
    return estimates[f"{field}_ci_low"] <= truth <= estimates[f"{field}_ci_high"]


def coverage(n_sources, n_runs):
    runs = [one_run(n_sources, 1000 * n_sources + run) for run in range(n_runs)]
    return {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}


def main():
    warnings.simplefilter("ignore")
    n_runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    for size in SIZES:
        found = coverage(size, n_runs)
        if size == SIZES[0]:
            print(f"{'sources':>8}" + "".join(f"{name:>20}" for name in found))
        print(f"{size:8}" + "".join(f"{value:20.3f}" for value in found.values()), flush=True)


if __name__ == "__main__":
    main()
