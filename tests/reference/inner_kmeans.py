"""Inner K-means, Algorithm 6 of the paper, line by line; and the plain rules around it."""

import numpy as np


def apart(row, center):
    """Differences, where what is no more than rounding counts as none."""
    difference = row - center
    return np.where(np.abs(difference) <= 3e-15 * np.abs(row), 0.0, difference)


def vote(row, centers, views, incumbent, rounding=1e-10):
    """Lines 5 to 12: every view votes for its nearest centre; ties stay, else the lowest."""
    m = [0] * len(centers)
    squares = [apart(row, center) ** 2 for center in centers]
    for view in views:
        distances = [float(view @ square) for square in squares]
        nearest = 0
        for k, distance in enumerate(distances):
            if distance < distances[nearest] * (1 - rounding):
                nearest = k
        m[nearest] += 1
    if incumbent >= 0 and m[incumbent] == max(m):
        return incumbent, m
    return m.index(max(m)), m


def update_centers(X, labels, centers):
    """Line 14: means; an empty cluster takes the farthest row that is not alone in its own."""
    labels = labels.copy()
    for k in range(len(centers)):
        if not (labels == k).any():
            distances = ((X - centers[labels]) ** 2).sum(axis=1)
            alone = np.bincount(labels, minlength=len(centers))[labels] == 1
            labels[np.where(alone, -1, distances).argmax()] = k
    return np.stack([X[labels == k].mean(axis=0) for k in range(len(centers))])


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
