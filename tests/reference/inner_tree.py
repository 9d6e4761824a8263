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
