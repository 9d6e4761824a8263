"""Boosting within a decision, and views weighted by difficulty, written out plainly and slowly.

Rows and views are lists; nothing is cached. The paper names both as future work.
"""

import math

from reference.k2 import TOLERANCE, posterior

MIN_ERROR, MAX_ERROR = 0.01, 0.49
MIN_DIFFICULTY = 0.5


def boosted(score, losses, views):
    """Score a decision's candidates on one view after the other (AdaBoost.R2).

    ``score(view)`` lists the candidates' scores, ``losses(best, view)`` one loss per item.
    """
    n_items = len(views[0])
    item_weights = [1.0] * n_items
    total, total_weight = None, 0.0
    for view in views:
        weights = [v * d for v, d in zip(view, item_weights, strict=True)]
        factor = sum(view) / sum(weights)
        weights = [w * factor for w in weights]
        scores = list(score(weights))
        found = list(losses(scores.index(max(scores)), weights))
        error = sum(w * loss for w, loss in zip(weights, found, strict=True)) / sum(weights)
        error = min(max(error, MIN_ERROR), MAX_ERROR)
        alpha = math.log((1 - error) / error)
        beta = error / (1 - error)
        item_weights = [d * beta ** (1 - loss) for d, loss in zip(item_weights, found, strict=True)]
        parts = [alpha * s for s in scores]
        total = parts if total is None else [a + b for a, b in zip(total, parts, strict=True)]
        total_weight += alpha
    return [each / total_weight for each in total]


def true_probabilities(rows, weights, sizes, structure):
    """Probability of each row's class by a network of all other rows, the row left out whole."""
    found = []
    for i, row in enumerate(rows):
        rest = list(weights)
        rest[i] = 0.0
        found.append(posterior(rows, rest, sizes, structure, row)[row[0]])
    return found


def importance_score(rows, weights, sizes, structure):
    """Weighted mean of these probabilities."""
    found = true_probabilities(rows, weights, sizes, structure)
    return sum(w * p for w, p in zip(weights, found, strict=True)) / sum(weights)


def boosted_decision(rows, views, sizes, trials):
    """Score a decision's structures by boosting."""
    return boosted(
        lambda view: [importance_score(rows, view, sizes, trial) for trial in trials],
        lambda best, view: [1 - p for p in true_probabilities(rows, view, sizes, trials[best])],
        views,
    )


def weighted_views(rows, views, weights, sizes, structure):
    """Weight the views by how badly the structure so far predicts each row."""
    found = true_probabilities(rows, weights, sizes, structure)
    difficulty = [MIN_DIFFICULTY + 1 - p for p in found]
    mean = sum(w * d for w, d in zip(weights, difficulty, strict=True)) / sum(weights)
    return [[v * d / mean for v, d in zip(view, difficulty, strict=True)] for view in views]


def weighted_decision(rows, views, weights, sizes, trials):
    """Score a decision's structures, the first of which is the one so far, on weighted views."""
    views = weighted_views(rows, views, weights, sizes, trials[0])
    scores = [[importance_score(rows, view, sizes, trial) for view in views] for trial in trials]
    return [sum(each) / len(each) for each in scores]


def k2(decide, n_nodes, max_parents):
    """K2 from a naive network; ``decide`` scores all structures of a decision, the first as is."""
    structure = [[]] + [[0] for _ in range(1, n_nodes)]
    for node in range(1, n_nodes):
        while len(structure[node]) < max_parents:
            candidates = [each for each in range(1, node) if each not in structure[node]]
            trials = [structure]
            for candidate in candidates:
                trial = [list(parents) for parents in structure]
                trial[node].append(candidate)
                trials.append(trial)
            if len(trials) == 1:
                break
            scores = decide(trials)
            best = 0
            for position, score in enumerate(scores):
                if score > scores[best] + TOLERANCE:
                    best = position
            if best == 0:
                break
            structure = trials[best]
    return structure
