"""Algorithms 2, 3 and 4 of the inner ensembles paper, written out plainly and slowly.

Rows are lists of codes, the class first. Nothing is cached: each leave-one-out step counts
all tables again.
"""

import math

ALPHA = 0.5
TOLERANCE = 1e-10


def probability(rows, weights, sizes, node, parents, row, value):
    """(n + alpha) / (N + alpha r) of a node's value given the parents' values in a row."""
    same, matching = 0.0, 0.0
    for other, weight in zip(rows, weights, strict=True):
        if all(other[p] == row[p] for p in parents):
            same += weight
            if other[node] == value:
                matching += weight
    return (matching + ALPHA) / (same + ALPHA * sizes[node])


def posterior(rows, weights, sizes, structure, row):
    """P(class | row) from tables estimated on the rows."""
    joint = []
    for label in range(sizes[0]):
        case = [label, *row[1:]]
        total = math.log(probability(rows, weights, sizes, 0, [], case, label))
        for node in range(1, len(sizes)):
            total += math.log(
                probability(rows, weights, sizes, node, structure[node], case, case[node])
            )
        joint.append(total)
    top = max(joint)
    scaled = [math.exp(value - top) for value in joint]
    return [value / sum(scaled) for value in scaled]


def leave_one_out(rows, weights, sizes, structure, metric):
    """Algorithm 3: mean score of each row by a network estimated on the others."""
    score, total = 0.0, 0.0
    for i, row in enumerate(rows):
        if weights[i] == 0:
            continue
        rest = list(weights)
        rest[i] -= min(1.0, rest[i])
        chances = posterior(rows, rest, sizes, structure, row)
        if metric == "accuracy":
            highest = max(chances)
            first = next(k for k, p in enumerate(chances) if p > highest - 1e-11)
            one = float(first == row[0])
        elif metric == "probability":
            one = chances[row[0]]
        else:
            one = math.log(chances[row[0]])
        score += weights[i] * one
        total += weights[i]
    return score / total


def ensemble_leave_one_out(rows, views, sizes, structure, metric):
    """Algorithm 4: the mean of Algorithm 3 over the samples."""
    scores = [leave_one_out(rows, view, sizes, structure, metric) for view in views]
    return sum(scores) / len(scores)


def k2(score, n_nodes, init, max_parents):
    """Algorithm 2 with the class first; ``score`` judges a whole structure."""
    structure = [[]] + [[0] if init == "naive" else [] for _ in range(1, n_nodes)]
    old = score(structure)
    for node in range(1, n_nodes):
        proceed = True
        while proceed and len(structure[node]) < max_parents:
            best, found = old, None
            for candidate in range(node):
                if candidate not in structure[node]:
                    trial = [list(parents) for parents in structure]
                    trial[node].append(candidate)
                    new = score(trial)
                    if new > best + TOLERANCE:
                        best, found = new, candidate
            if found is None:
                proceed = False
            else:
                structure[node].append(found)
                old = best
    return structure
