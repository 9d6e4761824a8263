"""Boosting inside K-means against bagging inside, on tables that nothing was designed on.

python studies/study_boosting_kmeans.py [STARTS]

``views="weighted"`` gives more weight in each view to the features, or rows, on which the partition
so far is worst; ``views="uniform"`` is the paper's. Both from the same starts, on standardised
features, at most 500 rows. It takes two minutes.
"""

import sys
import warnings

import numpy as np
from scipy.stats import wilcoxon
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler
from unseen_tables import keel_table

from ensemblage.evaluation import holm, nmi_score
from ensemblage.inner import InnerKMeans

TABLES = [
    "ionosphere", "led7digit", "magic", "movement_libras", "phoneme", "ring", "satimage",
    "spambase", "texture", "twonorm",
]  # fmt: skip
N_ROWS = 500
VIEWS_OF = ("features", "rows")
SCHEDULES = ("paper", "anneal")


def models(n_clusters, seed):
    """K-means, and Inner K-means by what views are of, schedule, and weights."""
    yield "K-means", KMeans(n_clusters, n_init=1, random_state=seed)
    for view_of in VIEWS_OF:
        for schedule in SCHEDULES:
            for views in ("uniform", "weighted"):
                options = {"max_iter": 30} if schedule == "paper" else {}
                yield (view_of, schedule, views), InnerKMeans(
                    n_clusters, view_of=view_of, views=views, schedule=schedule,
                    random_state=seed, **options,
                )  # fmt: skip


def scores_of(name, n_starts):
    """Mean NMI with the classes over the starts, by method."""
    frame, y = keel_table(name)
    X = frame.to_numpy(float)
    found = {}
    for seed in range(n_starts):
        rows = np.random.default_rng(seed).permutation(len(X))[:N_ROWS]
        scaled = StandardScaler().fit_transform(X[rows])
        truth = y.to_numpy()[rows]
        for method, model in models(y.nunique(), seed):
            found.setdefault(method, []).append(nmi_score(truth, model.fit_predict(scaled)))
    return {method: np.mean(scores) for method, scores in found.items()}


def main(n_starts):
    by_table = []
    for name in TABLES:
        by_table.append(scores_of(name, n_starts))
        line = [f"{' '.join(m) if m != 'K-means' else m} {s:.3f}" for m, s in by_table[-1].items()]
        print(f"{name}: {', '.join(line)}", flush=True)
    table = {method: np.array([each[method] for each in by_table]) for method in by_table[0]}
    print("mean:", ", ".join(f"{method} {each.mean():.3f}" for method, each in table.items()))
    pairs = [(of, schedule) for of in VIEWS_OF for schedule in SCHEDULES]
    gains = [table[*pair, "weighted"] - table[*pair, "uniform"] for pair in pairs]
    adjusted = holm([wilcoxon(gain).pvalue for gain in gains])
    for pair, gain, p in zip(pairs, gains, adjusted, strict=True):
        print(
            f"{' '.join(pair)}: weighted less uniform {gain.mean():+.4f}, better on "
            f"{(gain > 0).sum()} of {len(gain)}, Wilcoxon with Holm p = {p:.2g}"
        )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
