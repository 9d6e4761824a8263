"""One iteration of Algorithm 1: ours, its matrix products alone, and NumPy.

Run with one BLAS thread. Compare ratios within one run, not milliseconds.
"""

import time

import numpy as np

from all_benchmarks import row
from ensemblage.subspace._kernels import candidate_step, step_buffers

# Rounds by repeats: many short rounds for small data, so that the best one is uninterrupted.
ROUNDS = {1: 3, 50: 100}


def best(function, repeats=1):
    times = []
    for _ in range(ROUNDS[repeats]):
        start = time.perf_counter()
        for _ in range(repeats):
            function()
        times.append((time.perf_counter() - start) / repeats)
    return min(times)


def plain_iteration(X, onehot, weights, coef, intercept, mask, proposed, rate):
    """Lines 8 to 13 in NumPy, one candidate after the other."""

    def proba(coef, intercept, mask):
        logits = (X * mask) @ coef.T + intercept
        logits = np.exp(logits - logits.max(axis=1, keepdims=True))
        return logits / logits.sum(axis=1, keepdims=True)

    def accuracy(coef, intercept, mask):
        correct = proba(coef, intercept, mask).argmax(axis=1) == onehot.argmax(axis=1)
        return (weights * correct).sum()

    def step(mask):
        residual = weights[:, None] * (onehot - proba(coef, intercept, mask))
        return coef + rate * (residual.T @ (X * mask)), intercept + rate * residual.sum(axis=0)

    new, other = step(mask), step(proposed)
    return accuracy(coef, intercept, mask), accuracy(*new, mask), accuracy(*other, proposed)


def case(n_rows, n_features, n_classes, dtype, repeats):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(n_features, n_rows)).astype(dtype)
    labels = rng.integers(n_classes, size=n_rows)
    weights = np.full(n_rows, 1 / n_rows, dtype)
    coef = rng.normal(0, 0.01, (n_classes, n_features)).astype(dtype)
    mask, flipped = np.ones(n_features, bool), np.arange(0, n_features, 100)
    proposed = mask.copy()
    proposed[flipped] ^= True
    logits, buffers = coef @ features, step_buffers(n_classes, features)
    X, onehot = np.ascontiguousarray(features.T), np.eye(n_classes, dtype=dtype)[labels]
    intercept = np.zeros(n_classes, dtype)

    def ours():
        candidate_step(
            features, labels, weights, coef, mask, logits, flipped, 1.0, 0.0, buffers
        )  # fmt: skip

    def products():
        np.dot(buffers.residuals, features.T, out=buffers.coef_step)
        np.dot(buffers.coef_step, features, out=buffers.change)

    def plain():
        plain_iteration(X, onehot, weights, coef, intercept, mask, proposed, 1.0)

    ours()  # compiles
    # alternating, so that other work on the machine affects all of them
    return [min(t) for t in zip(*(
        [best(f, repeats) for f in (ours, products, plain)] for _ in range(3)
    ), strict=True)]  # fmt: skip


def main():
    print(f"{'rows x features x classes':28}{'':10}{'ours':>12}{'products':>12}{'NumPy':>12}")
    for size, repeats in (((100_000, 200, 4), 1), ((200, 2, 2), 50)):
        for dtype in (np.float64, np.float32):
            ours, products, plain = case(*size, dtype, repeats)
            name = f"joint iteration, {' x '.join(map(str, size))}, {np.dtype(dtype).name}"
            bar = 1.25 if repeats == 1 else None
            row(name, 1e3 * ours, 1e3 * products, unit="ms", bar=bar, against="its matrix products")
            row(name, 1e3 * ours, 1e3 * plain, unit="ms", against="NumPy")
            print(
                f"{' x '.join(map(str, size)):28}{np.dtype(dtype).name:10}"
                f"{ours * 1e3:9.4f} ms{products * 1e3:9.4f} ms{plain * 1e3:9.3f} ms"
                f"   {ours / products:.2f} x the products, {plain / ours:.1f} x faster than NumPy"
            )


if __name__ == "__main__":
    main()
