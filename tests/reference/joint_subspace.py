"""Algorithm 1 of the joint feature-subset paper, line by line.

Gaps in the paper, filled here as in the library: an intercept that no mask touches, weights of
one for the first member, weights of at least 1e-6, and a proposal without any feature counts as
no proposal. The gradient is that of the mean over rows.
"""

import numpy as np


def posteriors(x, mask, theta, bias):  # eq. 5 and 6
    a = x @ np.diag(mask.astype(float)) @ theta.T + bias
    a = a - a.max(axis=1, keepdims=True)
    return np.exp(a) / np.exp(a).sum(axis=1, keepdims=True)


def accuracy(x, y, mask, theta, bias, w):  # eq. 7
    f = posteriors(x, mask, theta, bias).argmax(axis=1)
    return sum(w[m] for m in range(len(y)) if f[m] == y[m]) / len(y)


def gradient(x, y, mask, theta, bias, w):  # of eq. 9, divided by the number of rows
    p = posteriors(x, mask, theta, bias)
    d_theta, d_bias = np.zeros_like(theta), np.zeros_like(bias)
    for m in range(len(y)):
        for j in range(len(bias)):
            slope = w[m] * (float(y[m] == j) - p[m, j]) / len(y)
            d_theta[j] += slope * mask * x[m]
            d_bias[j] += slope
    return d_theta, d_bias


def algorithm_1(x, y, n_classes, seeds, p_lambda, eta, thr, max_iter=10_000):
    m_rows, d_features = x.shape
    ensemble, seen = [], []
    for k in range(len(seeds)):  # line 2
        rng = np.random.default_rng(seeds[k])
        theta = rng.normal(0.0, 0.01, (n_classes, d_features))  # line 3
        bias, mask = np.zeros(n_classes), np.ones(d_features, dtype=bool)
        w = np.ones(m_rows) if k == 0 else np.clip(1 - sum(seen) / k, 1e-6, 1)  # line 4, eq. 8
        for _ in range(max_iter):  # line 5
            u = rng.random(d_features)  # line 6
            other = np.logical_xor(mask, u < p_lambda)  # lines 7 and 8
            if not other.any():
                other = mask
            step = gradient(x, y, mask, theta, bias, w)
            new = theta + eta * step[0], bias + eta * step[1]  # line 9
            step = gradient(x, y, other, theta, bias, w)
            new_other = theta + eta * step[0], bias + eta * step[1]  # line 10
            a_old = accuracy(x, y, mask, theta, bias, w)  # line 11
            a_new = accuracy(x, y, mask, *new, w)  # line 12
            a_other = accuracy(x, y, other, *new_other, w)  # line 13
            if max(a_new, a_other) - a_old < thr:  # lines 14 to 16
                break
            if a_new < a_other:  # lines 17 to 20
                (theta, bias), mask = new_other, other
            else:
                theta, bias = new
        ensemble.append((theta, bias, mask))
        seen.append(posteriors(x, mask, theta, bias)[np.arange(m_rows), y])
    return ensemble


def algorithm_1_for_numbers(x, y, seeds, p_lambda, eta, thr, max_iter=1000):
    """Algorithm 1 with squared loss: a normal log-likelihood where the accuracy stands.

    ``x`` is (M, D) and standardised, ``y`` has variance one; gives (theta, bias, mask) a member.
    """
    m_rows, d_features = x.shape

    def predict(theta, bias, mask):
        return np.array([bias + sum(theta[mask] * row[mask]) for row in x])

    def gradient(theta, bias, mask, w):
        left = w * (y - predict(theta, bias, mask)) / m_rows
        return np.where(mask, left @ x, 0.0), left.sum()

    def score(theta, bias, mask, w):
        squares = (y - predict(theta, bias, mask)) ** 2
        return -0.5 * w.mean() * np.log(np.average(squares, weights=w))

    ensemble, seen = [], []
    for k in range(len(seeds)):
        rng = np.random.default_rng(seeds[k])
        theta, bias = rng.normal(0.0, 0.01, d_features), 0.0
        mask = np.ones(d_features, dtype=bool)
        w = np.ones(m_rows) if k == 0 else np.clip(1 - sum(seen) / k, 1e-6, 1)
        for _ in range(max_iter):
            other = np.logical_xor(mask, rng.random(d_features) < p_lambda)
            other = other if other.any() else mask
            step, other_step = gradient(theta, bias, mask, w), gradient(theta, bias, other, w)
            new = theta + eta * step[0], bias + eta * step[1]
            new_other = theta + eta * other_step[0], bias + eta * other_step[1]
            a_new, a_other = score(*new, mask, w), score(*new_other, other, w)
            if max(a_new, a_other) - score(theta, bias, mask, w) < thr:
                break
            (theta, bias), mask = (new_other, other) if a_new < a_other else (new, mask)
        ensemble.append((theta, bias, mask))
        squares = (y - predict(theta, bias, mask)) ** 2
        seen.append(np.exp(-0.5 * squares / squares.mean()))
    return ensemble
