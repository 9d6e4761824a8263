"""How often an audit's bounds hold, where the truth is known.

Usage: python studies/study_audit.py [RUNS]

Made sources differ in their rule, their rates and their columns. Of 4 to 40 sources of 30 to 300
rows each, an audit tells the error of a new source (95 % bounds of its mean, and what nine in ten
stay below), and of each source the error, the slope and the offset when it is left out. The truth
is computed from the rule itself.
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
RULE = np.array([1.5, -1.0, 0.5, 0.0])
N_NEW, N_DRAWS = 2000, 100


class Site(NamedTuple):
    """The rule of a source, and where its rows lie."""

    coefficients: np.ndarray
    intercept: float
    centre: np.ndarray

    def rate(self, X):
        """Probability of the second class."""
        return expit(X @ self.coefficients + self.intercept)


def drawn_site(rng):
    rule = RULE + 0.5 * rng.normal(size=N_COLUMNS)
    return Site(rule, 0.7 * rng.normal() - 0.5, 0.5 * rng.normal(size=N_COLUMNS))


def drawn_rows(site, n_rows, rng):
    X = site.centre + rng.normal(size=(n_rows, N_COLUMNS))
    return X, (rng.random(n_rows) < site.rate(X)).astype(np.int64)


def true_error(site, model, draws):
    """Share of wrong predictions, by the probability of each class rather than by its draw."""
    X = site.centre + draws
    rate = site.rate(X)
    return np.where(model.predict(X) == 1, 1 - rate, rate).mean()


def true_calibration(site, model, draws):
    """Log slope and offset that calibrate a model for a source, were all its rows known."""
    X = site.centre + draws
    rate = site.rate(X)
    log_proba = np.tile(as_log_proba(model.predict_proba(X)), (2, 1))
    labels = np.repeat([1, 0], len(X))
    # as many rows as leave the weak prior nothing to say
    found = fit_calibration(log_proba, labels, 10 * np.concatenate([rate, 1 - rate]), WEAK_PRIOR)
    return np.log(found.slope), found.intercepts[1] - found.intercepts[0]


def new_errors(model, rng):
    """Give the true errors of a model on many new sources."""
    rules = RULE + 0.5 * rng.normal(size=(N_NEW, N_COLUMNS))
    intercepts = 0.7 * rng.normal(size=(N_NEW, 1)) - 0.5
    centres = 0.5 * rng.normal(size=(N_NEW, N_COLUMNS))
    X = centres[:, None] + rng.normal(size=(N_NEW, N_DRAWS, N_COLUMNS))
    rates = expit(np.einsum("sij,sj->si", X, rules) + intercepts)
    said = X @ model.coef_[0] + model.intercept_ > 0
    return np.where(said, 1 - rates, rates).mean(axis=1)


def one_run(n_sources, seed):
    """Tell of every bound how often it holds."""
    rng = np.random.default_rng(seed)
    sites = [drawn_site(rng) for _ in range(n_sources)]
    counts = rng.integers(30, 301, n_sources)
    parts = [drawn_rows(*pair, rng) for pair in zip(sites, counts, strict=True)]
    X, y = (np.concatenate(each) for each in zip(*parts, strict=True))
    sources = np.repeat(np.arange(n_sources), counts)
    folds = source_folds(sources, 10)
    proba = cross_predict(LogisticRegression(), X, y, folds)
    names = [str(s) for s in range(n_sources)]
    audited = audit_sources(proba, proba, y, sources, names, ())
    expected = summarise_errors(audited)

    draws = rng.normal(size=(8000, N_COLUMNS))
    models = [LogisticRegression().fit(X[fold.train], y[fold.train]) for fold in folds]
    holds = {"error": [], "slope": [], "offset": []}
    for s, (site, told) in enumerate(zip(sites, audited, strict=True)):
        [model] = [m for m, f in zip(models, folds, strict=True) if (sources[f.test] == s).any()]
        slope, offset = true_calibration(site, model, draws[:2000])
        error = true_error(site, model, draws)
        holds["error"].append(told.shrunken_error_low <= error <= told.shrunken_error_high)
        holds["slope"].append(told.slope_low <= np.exp(slope) <= told.slope_high)
        holds["offset"].append(told.offset_low <= offset <= told.offset_high)
    new = new_errors(LogisticRegression().fit(X, y), rng)
    return {
        "new source": expected["new_error_low"] <= new.mean() <= expected["new_error_high"],
        "nine in ten": (new <= expected["error_upper_90"]).mean(),
        **{name: np.mean(each) for name, each in holds.items()},
        "promise less truth": expected["new_error"] - new.mean(),
    }


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
