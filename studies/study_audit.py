"""Coverage of an audit's confidence and prediction intervals, in simulation.

Usage: python studies/study_audit.py [RUNS]

Simulated sources differ in their coefficients, intercepts, feature means and noise: 4 to 30 sources
of 50 to 400 rows each. Checked are the 95 % confidence interval of the mean over new sources and
the 95 % prediction interval of a new source's true value, by the profile limits and by the
convention (Hartung-Knapp), for AUC, O:E ratio and calibration slope of a logistic regression, and
R² of a linear one. True values are those of the model that is fitted to all sources, at 100 new
sources of 2,000 rows each. And how often sources are called inverted, where there is no signal at
all and where the labels of one source are inverted.
"""

import sys
import warnings

import numpy as np
from scipy.special import expit, logit
from sklearn.linear_model import LinearRegression, LogisticRegression

from ensemblage.sources import cross_predict, source_audit, source_folds
from ensemblage.sources._meta_analysis import pool_estimates
from ensemblage.sources._source_measures import (
    VALUE_MEASURES,
    Predicted,
    calibration_slope,
    class_measures,
    observed_to_expected,
    source_auc,
)

SIZES = (4, 8, 16, 30)
RUNS = 100
N_COLUMNS = 4
COEFFICIENTS = np.array([1.2, -0.8, 0.4, 0.0])
N_NEW, N_ROWS = 100, 2000
SCALES = {"auc": logit, "oe": np.log, "slope": lambda x: x, "r2": lambda x: np.log1p(-x)}


def draw_sites(rng, sizes):
    """Give rows, a logistic target and a numeric target of sources, and their codes."""
    k = len(sizes)
    codes = np.repeat(np.arange(k), sizes)
    coefficients = (COEFFICIENTS + 0.35 * rng.normal(size=(k, N_COLUMNS)))[codes]
    X = (0.4 * rng.normal(size=(k, N_COLUMNS)))[codes] + rng.normal(size=(len(codes), N_COLUMNS))
    line = (X * coefficients).sum(axis=1) + (0.5 * rng.normal(size=k))[codes]
    noise = np.exp(0.15 * rng.normal(size=k))[codes]
    y = rng.random(len(codes)) < expit(line - 0.7)
    return X, y.astype(int), line + noise * rng.normal(size=len(codes)), codes


def true_values(rng, classifier, regressor):
    """Give the true measures of two models at new sources, on the scale of the pooling."""
    X, y, target, _ = draw_sites(rng, [N_ROWS] * N_NEW)
    groups = np.split(np.arange(len(y)), N_NEW)
    risk, events = classifier.predict_proba(X)[:, 1], y == 1
    values = {
        name: function(risk, events, groups).values
        for name, function in (
            ("auc", source_auc), ("oe", observed_to_expected), ("slope", calibration_slope),
        )
    }  # fmt: skip
    residuals = target - regressor.predict(X)
    values["r2"] = np.array([1 - residuals[own].var() / target[own].var() for own in groups])
    values["r2"] -= np.array([residuals[own].mean() ** 2 / target[own].var() for own in groups])
    return {name: SCALES[name](each) for name, each in values.items()}


def one_run(n_sources, seed):
    """Say which intervals hold: by measure, interval, and mean or new source."""
    rng = np.random.default_rng(seed)
    X, y, target, codes = draw_sites(rng, rng.integers(50, 401, n_sources))
    folds = source_folds(codes, n_sources)
    groups = [fold.test for fold in folds]
    proba = cross_predict(LogisticRegression(), X, y, folds)
    values = np.zeros((len(y), 3))
    for train, test in folds:
        values[test, 0] = LinearRegression().fit(X[train], target[train]).predict(X[test])
    truths = true_values(rng, LogisticRegression().fit(X, y), LinearRegression().fit(X, target))
    held = {}
    for measures, found in (
        (class_measures(2, 1, ()), Predicted(proba, y)),
        (VALUE_MEASURES, Predicted(values, target)),
    ):
        for measure in measures:
            if measure.name not in truths or (measure.name == "slope" and found.truth is target):
                continue
            truth, estimates = truths[measure.name], measure.function(found, groups)
            for interval in ("profile", "hartung-knapp"):
                each = pool_estimates(estimates.estimates, estimates.variances, interval)
                inside = each.low <= truth.mean() <= each.high
                new = (each.new_low <= truth) & (truth <= each.new_high)
                held[measure.name, interval, "mean"] = float(inside)
                held[measure.name, interval, "new"] = float(new.mean())
    return held


def coverage(n_sources, n_runs):
    """Average over runs."""
    runs = [one_run(n_sources, 1000 * n_sources + run) for run in range(n_runs)]
    return {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}


def alarms(n_runs, n_sources=8):
    """Give shares: sources without signal flagged, audits with any, inverted sources found."""
    flagged, found = [], []
    for run in range(n_runs):
        rng = np.random.default_rng(run)
        X, y, _, codes = draw_sites(rng, rng.integers(50, 401, n_sources))
        audit = source_audit(
            LogisticRegression(), X, rng.permutation(y), codes, learning_curve=False, cv=2,
            random_state=0,
        )  # fmt: skip
        flagged.append(len(audit.inverted_sources))
        chosen = rng.integers(n_sources)
        audit = source_audit(
            LogisticRegression(), X, np.where(codes == chosen, 1 - y, y), codes,
            learning_curve=False, cv=2, random_state=0,
        )  # fmt: skip
        found.append(str(chosen) in audit.inverted_sources)
    return np.mean(flagged) / n_sources, np.mean(np.array(flagged) > 0), np.mean(found)


def main():
    """Print the shares of intervals that hold, and of alarms."""
    warnings.simplefilter("ignore")
    n_runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    for size in SIZES:
        found = coverage(size, n_runs)
        for interval in ("profile", "hartung-knapp"):
            shown = "  ".join(
                f"{name} {found[name, interval, 'mean']:.3f} {found[name, interval, 'new']:.3f}"
                for name in SCALES
            )
            print(f"{size:3} sources, {interval:13} (mean, new): {shown}", flush=True)
    print("no signal: sources flagged {:.3f}, audits with any {:.3f}; inverted found {:.3f}".format(
        *alarms(n_runs)))  # fmt: skip


if __name__ == "__main__":
    main()
