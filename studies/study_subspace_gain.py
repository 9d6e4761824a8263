"""Gain of a joint feature-subset ensemble over its base, by rows and by features.

Quarter circles with uniform dummy features, Algorithm 1 of the paper, the number of members chosen
on the training rows as in Figure 1. Prints the mean gain of equal weights in per cent of the base's
accuracy with its standard error, with features fixed and chosen, and the slopes of the gain in the
binary logarithms of rows and features with standard errors that are robust to unequal variances.
The step sizes were set on other data; the datasets have seeds from ``--seed`` on.
"""

import argparse
from itertools import product

import numpy as np
from scipy.stats import norm

from ensemblage.datasets import make_quarter_circle
from ensemblage.fusion import product_rule
from ensemblage.subspace import JointSubspaceClassifier

N_ROWS = (10, 30, 100, 300)  # per class
N_DUMMIES = (0, 6, 30)
N_TEST_ROWS = 5000  # per class
# Step size and threshold of Figure 1, and those with which Figure 2 is found.
SETTINGS = {
    "step size 0.1, threshold 1e-4": (0.1, 1e-4),
    "step size 0.005, threshold 0": (0.005, 0.0),
}
FLIPS = {"fixed": 0.0, "chosen": 0.01}


def accuracy(outputs, y):
    return float((product_rule(outputs).argmax(axis=1) == y).mean())


def gains(train, test, setting, n_members, seed):
    """Accuracy of the base in per cent, and the gains on it with features fixed and chosen."""
    found: list[float] = []
    for flips in FLIPS.values():
        ensemble = JointSubspaceClassifier(
            n_members, solver="paper", learning_rate=setting[0], tol=setting[1],
            flip_probability=flips, random_state=seed,
        ).fit(*train)  # fmt: skip
        seen, unseen = ensemble.member_outputs(train[0]), ensemble.member_outputs(test[0])
        sizes = np.arange(1, n_members + 1)
        best = sizes[np.argmax([accuracy(seen[:size], train[1]) for size in sizes])]
        if not found:  # the base uses all features
            found.append(100.0 * accuracy(unseen[:1], test[1]))
        found.append(100.0 * (100.0 * accuracy(unseen[:best], test[1]) / found[0] - 1.0))
    return found


def slopes(design, gain):
    """Slopes of the columns of a design, their robust standard errors (HC3) and p-values."""
    X = np.column_stack([np.ones(len(gain)), design])
    inverse = np.linalg.inv(X.T @ X)
    coef = inverse @ X.T @ gain
    leverage = np.einsum("ij,jk,ik->i", X, inverse, X)
    scaled = X * ((gain - X @ coef) / (1.0 - leverage))[:, None]
    error = np.sqrt(np.diag(inverse @ scaled.T @ scaled @ inverse))
    return [(b, e, 2.0 * norm.sf(abs(b / e))) for b, e in zip(coef[1:], error[1:], strict=True)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", type=int, default=20)
    parser.add_argument("--members", type=int, default=20)
    parser.add_argument("--seed", type=int, default=9000)
    args = parser.parse_args()
    tests = {
        d: make_quarter_circle(N_TEST_ROWS, n_dummies=d, random_state=10**6) for d in N_DUMMIES
    }
    for name, setting in SETTINGS.items():
        print(f"{name}: {args.datasets} datasets each, {args.members} members at most")
        design, found = [], []
        for rows, dummies in product(N_ROWS, N_DUMMIES):
            own = []
            for seed in range(args.seed, args.seed + args.datasets):
                train = make_quarter_circle(rows, n_dummies=dummies, random_state=seed)
                own.append(gains(train, tests[dummies], setting, args.members, seed))
                design.append(np.log2([2 * rows, 2 + dummies]))
            mean, error = np.mean(own, axis=0), np.std(own, axis=0, ddof=1) / np.sqrt(len(own))
            cells = " ".join(f"{m:6.2f} ± {e:.2f}" for m, e in zip(mean, error, strict=True))
            print(f"  {rows:4d} per class, {2 + dummies:2d} features: {cells}", flush=True)
            found += own
        columns = dict(zip(FLIPS, np.transpose(found)[1:], strict=True))
        columns["chosen less fixed"] = columns["chosen"] - columns["fixed"]
        for column, gain in columns.items():
            fits = zip(("rows", "features"), slopes(np.array(design), gain), strict=True)
            text = ", ".join(f"{what} {b:+.3f} ± {e:.3f} (p = {p:.2g})" for what, (b, e, p) in fits)
            print(f"  {column}, per doubling: {text}", flush=True)


if __name__ == "__main__":
    main()
