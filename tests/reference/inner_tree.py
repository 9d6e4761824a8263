"""Inner trees, written out plainly and slowly.

A tree is a list of nodes: ``None`` for a leaf, else ``(feature, cut, missing_left, left, right)``.
``draws[e][i]`` says how often view e drew row i. Weights and draws of a row multiply.
"""

import math
from itertools import pairwise

import numpy as np


def impurity(rows, weights, y, classes, criterion):
    """Weight times impurity of some rows; lower is purer."""
    total = sum(weights[i] for i in rows)
    if total == 0:
        return 0.0
    if criterion == "squared_error":
        mean = sum(weights[i] * y[i] for i in rows) / total
        return sum(weights[i] * (y[i] - mean) ** 2 for i in rows)
    if criterion == "poisson":
        mean = sum(weights[i] * y[i] for i in rows) / total
        return -sum(weights[i] * y[i] for i in rows) * math.log(mean) if mean > 0 else 0.0
    shares = [sum(weights[i] for i in rows if y[i] == k) / total for k in range(classes)]
    if criterion == "gini":
        return total * (1 - sum(share**2 for share in shares))
    return -total * sum(share * math.log(share) for share in shares if share > 0)


def goes_left(x, cut, missing_left):
    return missing_left if math.isnan(x) else x <= cut


def cuts_in_window(values, weights, own, window):
    """Middles between neighbours, as far from the own cut's rank as the window allows."""
    if math.isinf(own):  # the node tells missing values from the others
        return []
    known = sorted((x, w) for x, w in zip(values, weights, strict=True) if not math.isnan(x))
    total = sum(w for _, w in known)
    rank = sum(w for x, w in known if x <= own)
    cuts, below = [], 0.0
    for (x, w), (after, _) in pairwise(known):
        below += w
        if after > x and not x <= own < after and abs(below - rank) <= (window + 1e-12) * total:
            cuts.append((x + after) / 2)
    return cuts


def place(  # noqa: C901
    tree, X, y, weights, draws, window, classes, criterion, min_rows=1
):
    """Give each view's threshold of each node; a view's rows follow its own thresholds."""
    thresholds = [[None] * len(draws) for _ in tree]
    rows = {(0, e): [i for i, n in enumerate(d) if n] for e, d in enumerate(draws)}
    for node, split in enumerate(tree):
        if split is None:
            continue
        feature, own, missing_left, left, right = split
        union = sorted({i for e in range(len(draws)) for i in rows[node, e]})
        cuts = cuts_in_window(X[union, feature], weights[union], own, window)
        for e, drawn in enumerate(draws):
            here = rows[node, e]
            own_weights = weights * drawn
            best, chosen = None, own
            for cut in [own, *cuts]:
                sides = [[], []]
                for i in here:
                    sides[not goes_left(X[i, feature], cut, missing_left)].append(i)
                few = min(sum(drawn[i] for i in side) for side in sides) < min_rows
                none = criterion == "poisson" and min(sum(y[side]) for side in sides) == 0
                if cut != own and (few or none):
                    continue
                score = sum(impurity(side, own_weights, y, classes, criterion) for side in sides)
                if best is None or score < best - 1e-9:
                    best, chosen = score, cut
            thresholds[node][e] = chosen
            for child, way in ((left, True), (right, False)):
                rows[child, e] = [
                    i for i in here if goes_left(X[i, feature], chosen, missing_left) == way
                ]
    return [sorted(cuts) for cuts in thresholds if cuts[0] is not None]


def memberships(tree, thresholds, x):
    """Share of a row in each node: the product of the shares on the way there."""
    shares = [0.0] * len(tree)
    shares[0] = 1.0
    for node, split in enumerate(tree):
        if split is not None:
            feature, _, missing_left, left, right = split
            cuts = thresholds[node]
            way = np.mean([goes_left(x[feature], cut, missing_left) for cut in cuts])
            shares[left] = shares[node] * way
            shares[right] = shares[node] * (1 - way)
    return shares


def predict(tree, means, weights, strength, pruned, shares):
    """Hierarchical shrinkage along the paths to the leaves that pruning leaves."""

    def below(node, value):
        if tree[node] is None or node in pruned:
            return shares[node] * value
        # in a node without rows all means are those of its parent: no factor matters
        factor = 1 / (1 + strength / weights[node]) if weights[node] > 0 else 1.0
        return sum(
            below(child, value + factor * (means[child] - means[node])) for child in tree[node][3:]
        )

    return below(0, means[0])


def weakest_links(tree, costs):
    """At which alpha each node is collapsed: look at all links again after each step."""
    collapsed, alphas = set(), {}

    def leaves(node):
        if tree[node] is None or node in collapsed:
            return [node]
        return leaves(tree[node][3]) + leaves(tree[node][4])

    def inner(node):
        if tree[node] is None or node in collapsed:
            return []
        return [node, *inner(tree[node][3]), *inner(tree[node][4])]

    alpha = 0.0
    while inner(0):
        links = {
            t: (costs[t] - sum(costs[k] for k in leaves(t))) / (len(leaves(t)) - 1)
            for t in inner(0)
        }
        weakest = min(links, key=links.get)
        alpha = max(alpha, links[weakest])
        for gone in inner(weakest):
            alphas[gone] = alpha
        collapsed.add(weakest)
    return alphas


def halves(x):
    """Middles between neighbouring values, and whether missing values go left."""
    known = x[~np.isnan(x)]
    cuts = [(low + high) / 2 for low, high in pairwise(np.unique(known).astype(float))]
    return cuts, bool(cuts) and np.median(known) <= cuts[(len(cuts) + 1) // 2 - 1]


def splits(X, min_rows=1):
    """All splits that leave enough rows: column, cut, and the rows on either side."""
    found = []
    for j in range(X.shape[1]):
        cuts, missing_left = halves(X[:, j])
        for cut in cuts:
            sides = [[], []]
            for i, x in enumerate(X[:, j]):
                sides[not goes_left(x, cut, missing_left)].append(i)
            if min(map(len, sides)) >= min_rows:
                found.append((j, cut, sides))
    return found


def split_gains(candidates, weights, y, classes, criterion):
    """By how much each split lowers the impurity; nothing if a side has no weight."""
    gains = []
    for *_, sides in candidates:
        if min(sum(weights[i] for i in side) for side in sides) <= 0:
            gains.append(0.0)
            continue
        whole = impurity(sides[0] + sides[1], weights, y, classes, criterion)
        gain = whole - sum(impurity(side, weights, y, classes, criterion) for side in sides)
        gains.append(gain if gain > 1e-9 else 0.0)
    return gains


def predicted_losses(sides, weights, y, classes):
    """One minus the share of a row's class on its side, or its error as a share of the largest."""
    losses = [0.0] * len(y)
    for side in sides:
        total = sum(weights[i] for i in side)
        for i in side:
            if classes:
                same = sum(weights[k] for k in side if y[k] == y[i])
                losses[i] = 1 - same / total if total > 0 else 1.0
            else:
                use, of = (side, total) if total > 0 else (range(len(y)), sum(weights))
                losses[i] = abs(y[i] - sum(weights[k] * y[k] for k in use) / of)
    largest = max(losses)
    return losses if classes or largest == 0 else [each / largest for each in losses]


def residuals(weights, y, classes, draws):
    """One minus the share of a row's class, or its distance from the mean, over all views."""
    drawn = [w * sum(d[i] for d in draws) for i, w in enumerate(weights)]
    total = sum(drawn)
    if not classes:
        mean = sum(w * each for w, each in zip(drawn, y, strict=True)) / total
        return [abs(each - mean) for each in y]
    shares = [sum(w for w, each in zip(drawn, y, strict=True) if each == k) for k in range(classes)]
    return [1 - shares[k] / total for k in y]


def out_of_view_score(sides, weights, y, classes, drawn):
    """Log likelihood (Laplace) or minus squared error of the rows that a view did not draw."""
    score = 0.0
    everything = sum(w * d for w, d in zip(weights, drawn, strict=True))
    mean = sum(w * d * each for w, d, each in zip(weights, drawn, y, strict=True)) / everything
    for side in sides:
        inside = [i for i in side if drawn[i]]
        total = sum(weights[i] * drawn[i] for i in inside)
        for i in (i for i in side if not drawn[i]):
            if classes:
                same = sum(weights[k] * drawn[k] for k in inside if y[k] == y[i])
                score += weights[i] * math.log((same + 1) / (total + classes))
            else:
                here = sum(weights[k] * drawn[k] * y[k] for k in inside) / total if total else mean
                score -= weights[i] * (y[i] - here) ** 2
    return score
