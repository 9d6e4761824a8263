"""Co-association and evidence accumulation, written as they are read."""

import numpy as np


def co_association(partitions):
    """Share of the partitions, among those that sampled both rows, that put them together."""
    n = len(partitions[0])
    shares = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            both = [p for p in partitions if p[i] != -1 and p[j] != -1]
            if both:
                shares[i, j] = sum(p[i] == p[j] for p in both) / len(both)
    return shares


def merge_until(distances, n_clusters, linkage):
    """Merge the two nearest groups until n_clusters are left; all pairs looked at each time."""
    groups = [[i] for i in range(len(distances))]
    join = {"single": np.min, "average": np.mean, "complete": np.max}[linkage]
    while len(groups) > n_clusters:
        pairs = [(a, b) for b in range(len(groups)) for a in range(b)]
        gaps = [join(distances[np.ix_(groups[a], groups[b])]) for a, b in pairs]
        a, b = pairs[int(np.argmin(gaps))]
        groups[a] += groups.pop(b)
    labels = np.zeros(len(distances), int)
    for label, group in enumerate(groups):
        labels[group] = label
    return labels


def meta_association(partitions, group):
    """MCLA's last step: each row chooses the group of clusters that it is most often in."""
    names = [(p, c) for p, labels in enumerate(partitions) for c in sorted(set(labels) - {-1})]
    chosen = []
    for row in range(len(partitions[0])):
        shares = []
        for g in sorted(set(group)):
            members = [name for name, where in zip(names, group, strict=True) if where == g]
            shares.append(sum(partitions[p][row] == c for p, c in members) / len(members))
        chosen.append(int(np.argmax(shares)))
    return chosen
