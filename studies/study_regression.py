"""Regression: strata with a random forest as anchor against the forest alone.

Usage: python studies/study_regression.py FOLDER [NAME ...]

FOLDER holds a CSV file per table, the target last, and a ``manifest.json`` with the categorical
columns (key "words"). Five shuffled folds. In addition to RMSE: the coverage of 90 % prediction
intervals on the test rows, of all rows and in each of five strata of HISS; and the log score with
predicted variances and with one out-of-fold variance.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import KFold

from ensemblage.datasets import TableEncoder
from ensemblage.strata import HISS, StrataEnsembleRegressor

N_FOLDS = 5
N_TREES = 100


def read(folder, name):
    categorical = json.loads((folder / "manifest.json").read_text())[name]["words"]
    table = pd.read_csv(folder / f"{name}.csv", dtype=dict.fromkeys(categorical, str))
    return table.iloc[:, :-1], table.iloc[:, -1].to_numpy(dtype=float)


def rmse(predicted, y):
    return float(np.sqrt(np.mean((predicted - y) ** 2)))


def study(X, y):
    """Errors of both by fold, coverage, coverage of the worst stratum, and log scores."""
    forest = RandomForestRegressor(N_TREES, random_state=0)
    errors, inside, scores = [], np.empty(len(y)), np.empty((2, len(y)))
    for train, test in KFold(N_FOLDS, shuffle=True, random_state=0).split(X):
        encoder = TableEncoder(random_state=0).fit(X.iloc[train], y[train])
        rows, new = encoder.transform(X.iloc[train]), encoder.transform(X.iloc[test])
        alone = forest.fit(rows, y[train]).predict(new)
        model = StrataEnsembleRegressor(anchor=forest, random_state=0).fit(rows, y[train])
        mean, std = model.predict(new, return_std=True)
        errors.append([rmse(alone, y[test]), rmse(mean, y[test])])
        low, high = model.predict_interval(new).T
        inside[test] = (low <= y[test]) & (y[test] <= high)
        scores[0, test] = norm.logpdf(y[test], mean, model.out_of_fold_error_)
        scores[1, test] = norm.logpdf(y[test], mean, std)
    strata = HISS(5, 0.2, random_state=0).fit(TableEncoder(random_state=0).fit_transform(X, y))
    closest = strata.memberships_.argmax(axis=1)
    by_stratum = [inside[closest == k].mean() for k in range(5) if (closest == k).sum() >= 20]
    return np.array(errors), inside.mean(), min(by_stratum), scores.mean(axis=1)


def main():
    folder = Path(sys.argv[1])
    names = sys.argv[2:] or sorted(json.loads((folder / "manifest.json").read_text()))
    warnings.simplefilter("ignore")
    heads = (
        "rows",
        "forest",
        "strata",
        "ratio",
        "diff/s.e.",
        "coverage",
        "worst",
        "one var",
        "pred var",
    )
    print(f"{'':12}" + "".join(f"{each:>10}" for each in heads) + "   s", flush=True)
    kept = []
    for name in names:
        start = time.perf_counter()
        X, y = read(folder, name)
        errors, covered, worst, (plain, predicted) = study(X, y)
        differences = errors[:, 1] - errors[:, 0]
        behind = differences.mean() / (differences.std(ddof=1) / np.sqrt(N_FOLDS))
        forest, ours = errors.mean(axis=0)
        kept.append([ours / forest, behind, covered, worst, predicted > plain])
        print(
            f"{name:12}{len(y):>10}{forest:>10.4g}{ours:>10.4g}{ours / forest:>10.3f}"
            f"{behind:>10.2f}{covered:>10.3f}{worst:>10.3f}{plain:>10.3f}{predicted:>10.3f}"
            f"{time.perf_counter() - start:>5.0f}",
            flush=True,
        )
    ratios, behind, covered, worst, better = np.array(kept, dtype=float).T
    of = f"of {len(names)}"
    print(f"ratio of errors {np.exp(np.log(ratios).mean()):.3f} (geometric mean)")
    print(f"worse than the forest by more than one standard error on {(behind > 1).sum()} {of}")
    low, high = covered.min(), covered.max()
    print(f"coverage of 90 % intervals {covered.mean():.3f}, from {low:.3f} to {high:.3f}")
    print(f"in the worst stratum {worst.mean():.3f} (mean over tables), minimum {worst.min():.3f}")
    print(f"log score better than with one variance on {int(better.sum())} {of}")


if __name__ == "__main__":
    main()
