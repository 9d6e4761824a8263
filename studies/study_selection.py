"""Signals among the top ranked features, by our selector and by others, on several kinds of data.

The quarter circle is too easy to compare selectors. Besides the kinds of ``make_hidden_features``,
"signals" are three features, two of which have two noisy copies more, and "curved" is the product
of two features plus the square of a third. As many features are selected as there are signals; a
signal is found if one of its copies is among them. Datasets have seeds from ``--seed`` on; tuning
used those from 0 on, and the documentation reports those from 1000 on.
"""

import argparse
import time

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import RFE
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from ensemblage.datasets import make_hidden_features
from ensemblage.subspace import JointSubspaceSelector

KINDS = ("linear", "proxies", "signals", "xor", "band", "curved")
N_FEATURES = 30


def ours(**options):
    def score(X, y, seed, wanted):
        return -JointSubspaceSelector(wanted, random_state=seed, **options).fit(X, y).ranking_

    return score


def logistic(X, y, _seed, _wanted):
    return np.abs(LogisticRegression().fit(X, y).coef_[0])


def elimination(X, y, _seed, _wanted):
    return -RFE(LogisticRegression(), n_features_to_select=1).fit(X, y).ranking_


def forest(X, y, seed, _wanted):
    return RandomForestClassifier(500, random_state=seed).fit(X, y).feature_importances_


def lasso(X, y, seed, _wanted):
    model = LogisticRegression(C=0.1, l1_ratio=1.0, solver="liblinear", random_state=seed)
    return np.abs(model.fit(X, y).coef_[0])


METHODS = {
    "ours": ours(),
    "ours, linear": ours(basis="linear"),
    "ours, linear, no groups": ours(basis="linear", group_correlation=None),
    "ours, quadratic": ours(basis="quadratic", C="auto"),
    "ours, spline": ours(basis="spline", C="auto"),
    "logistic coefficients": logistic,
    "RFE": elimination,
    "forest": forest,
    "L1": lasso,
}


def make(kind, rows, flips, seed):
    """Rows, classes, and the columns of each signal."""
    if kind not in {"signals", "curved"}:
        X, y, relevant = make_hidden_features(kind, rows, flip_y=flips, random_state=seed)
        signals = np.flatnonzero(relevant)
        return X, y, [signals] if kind == "copies" else signals[:, None]
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, N_FEATURES))
    if kind == "curved":
        y = X[:, 0] * X[:, 1] + X[:, 2] ** 2 > 1
        signals = [[0], [1], [2]]
    else:
        y = X[:, :3].sum(axis=1) > 0
        signals = [[0, 3, 4], [1, 5, 6], [2]]
        for copies in signals[:2]:
            X[:, copies] = X[:, copies[:1]] + 0.05 * rng.normal(size=(rows, 3))
    y = y ^ (rng.random(rows) < flips)
    place = rng.permutation(N_FEATURES)
    return X[:, np.argsort(place)], y.astype(int), [place[columns] for columns in signals]


def found(method, kind, seed, rows, flips):
    """Count the signals among the top ranked features, ties broken at random."""
    X, y, signals = make(kind, rows, flips, seed)
    scores = METHODS[method](StandardScaler().fit_transform(X), y, seed, len(signals))
    tie_order = np.random.default_rng(seed).permutation(scores.size)
    best = np.lexsort((tie_order, -scores))[: len(signals)]
    return sum(bool(np.isin(columns, best).any()) for columns in signals)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--flips", type=float, default=0.1)
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--kinds", nargs="*", default=KINDS)
    options = parser.parse_args()
    print(f"{'':26}" + "".join(f"{kind:>18}" for kind in options.kinds) + f"{'seconds':>10}")
    for method in options.methods:
        start, cells = time.perf_counter(), []
        for kind in options.kinds:
            counts = [
                found(method, kind, options.seed + i, options.rows, options.flips)
                for i in range(options.datasets)
            ]
            error = np.std(counts, ddof=1) / np.sqrt(len(counts))
            cells.append(f"{np.mean(counts):.2f} ± {error:.2f}")
        seconds = (time.perf_counter() - start) / options.datasets / len(options.kinds)
        print(f"{method:26}" + "".join(f"{cell:>18}" for cell in cells) + f"{seconds:10.2f}")


if __name__ == "__main__":
    main()
