"""Inner K-means, Algorithm 6 of the paper, line by line; and the plain rules around it.

All in exact arithmetic on the floating-point numbers given: equal distances are equal.
"""

from fractions import Fraction

import numpy as np


def exactly(*arrays):
    """Give the numbers of several arrays as whole multiples of one power of two, exactly."""
    ratios = [[float(value).as_integer_ratio() for value in np.ravel(array)] for array in arrays]
    scale = max(below for each in ratios for _, below in each)
    return [
        np.array([above * (scale // below) for above, below in each], object).reshape(
            np.shape(array)
        )
        for each, array in zip(ratios, arrays, strict=True)
    ]


def vote(row, centers, views, incumbent):
    """Lines 5 to 12: every view votes for its nearest centre; ties stay, else the lowest."""
    m = [0] * len(centers)
    row, centers = exactly(row, centers)
    views = np.asarray(views).astype(int).astype(object)
    for view in views:
        distances = [int(view @ (row - center) ** 2) for center in centers]
        m[distances.index(min(distances))] += 1
    if incumbent >= 0 and m[incumbent] == max(m):
        return incumbent, m
    return m.index(max(m)), m


def mean(rows):
    """Mean of rows, rounded once."""
    columns = ([Fraction(float(value)) for value in column] for column in rows.T)
    return [float(sum(column) / len(column)) for column in columns]


def update_centers(X, labels, centers):
    """Line 14: means; an empty cluster takes the farthest row that is not alone in its own."""
    labels = labels.copy()
    for k in range(len(centers)):
        if not (labels == k).any():
            distances = ((X - centers[labels]) ** 2).sum(axis=1)
            alone = np.bincount(labels, minlength=len(centers))[labels] == 1
            labels[np.where(alone, -1, distances).argmax()] = k
    return np.array([mean(X[labels == k]) for k in range(len(centers))])


def vote_of_row_views(X, row_weights, labels, row, centers, views):
    """Vote of views of the rows: each has its own mean of every cluster, over all features."""
    m = [0] * len(centers)
    for view in views:
        own = []
        for k in range(len(centers)):
            weights = [float(v * w) * (label == k)
                       for v, w, label in zip(view, row_weights, labels, strict=True)]  # fmt: skip
            total = sum(weights)
            mean = centers[k]
            if total > 0:
                mean = sum(w * x for w, x in zip(weights, X, strict=True)) / total
            own.append(((row - mean) ** 2).sum())
        m[own.index(min(own))] += 1
    return m


def boosted_weights(X, labels, centers, of_rows):
    """Weights of rows or features in weighted views, relative to those drawn."""
    if of_rows:
        difficulty = []
        for row, label in zip(X, labels, strict=True):
            squares = [((row - center) ** 2).sum() for center in centers]
            own = squares.pop(label)
            difficulty.append(min(own / min(squares), 1.0) if min(squares) > 0 else 1.0)
    else:
        difficulty = []
        for j in range(X.shape[1]):
            within = sum((row[j] - centers[k][j]) ** 2 for row, k in zip(X, labels, strict=True))
            total = sum((row[j] - X[:, j].mean()) ** 2 for row in X)
            difficulty.append(min(within / total, 1.0) if total > 0 else 0.0)
    weights = 0.1 + np.array(difficulty)
    return weights / weights.mean()


def algorithm_6(X, centers, views_of_pass, max_iter):
    """Lines 3 to 15; ``views_of_pass(i)`` gives the views of pass i, which all rows share."""
    labels = np.full(len(X), -1)
    for index in range(max_iter):
        views = views_of_pass(index)
        before = labels.copy()
        for i, row in enumerate(X):
            labels[i], _ = vote(row, centers, views, labels[i])
        centers = update_centers(X, labels, centers)
        if (labels == before).all():
            break
    return labels, centers, index + 1


def label_rows(X, centers, views):
    """The final labels: no incumbents."""
    return np.array([vote(row, centers, views, -1)[0] for row in X])
