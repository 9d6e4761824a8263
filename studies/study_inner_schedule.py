"""Schedules of Inner K-means on clean and noisy data: datasets used for the choice, and others.

python studies/study_inner_schedule.py FOLDER-OF-DATASETS [STARTS]
"""

import sys
import warnings

import numpy as np
from scipy.stats import wilcoxon
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score

from ensemblage.datasets import load_dataset
from ensemblage.inner import InnerKMeans
from ensemblage.papers.inner._clusters import add_noise, draw_start, numeric_features, standardise

GROUPS = {
    "chosen on": ["ecoli", "heart-statlog", "letter", "pendigits", "segment", "vehicle",
                  "waveform", "yeast"],
    "others of the paper": ["glass", "iris", "optdigits", "pima", "sonar", "vowel", "wine"],
    "further datasets": ["abalone", "breast-w", "liver", "lymph", "tic-tac-toe"],
}  # fmt: skip
METHODS = {
    "K-means": lambda k, seed: KMeans(k, n_init=1, random_state=seed),
    "vote": lambda k, seed: InnerKMeans(k, assign="vote", random_state=seed),
    "default": lambda k, seed: InnerKMeans(k, random_state=seed),
    "paper": lambda k, seed: InnerKMeans(k, schedule="paper", max_iter=50, random_state=seed),
}
CONDITIONS = [(scaled, noise) for noise in (0.0, 0.4) for scaled in (False, True)]


def scores_of(name, folder, n_starts):
    """NMI of shape (conditions, methods, starts), and passes of shape (methods,)."""
    dataset = load_dataset(name, folder)
    X, passes = numeric_features(dataset), np.zeros(len(METHODS))
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    scores = np.zeros((len(CONDITIONS), len(METHODS), n_starts))
    for seed in range(n_starts):
        start = draw_start(X, dataset.y, 500, 7000 + seed)
        for i, (scaled, noise) in enumerate(CONDITIONS):
            rows = add_noise(start, noise) if noise else start
            rows = standardise(rows) if scaled else rows
            for j, make in enumerate(METHODS.values()):
                model = make(len(rows.centers), seed).fit(rows.X)
                scores[i, j, seed] = normalized_mutual_info_score(
                    rows.y, model.labels_, average_method="geometric"
                )
                passes[j] += model.n_iter_ / (n_starts * len(CONDITIONS))
    return scores, passes


def main(folder, n_starts):
    for group, names in GROUPS.items():
        found = [scores_of(name, folder, n_starts) for name in names]
        means = np.array([scores.mean(axis=2) for scores, _ in found])
        passes = np.mean([each for _, each in found], axis=0)
        print(f"{group}: {', '.join(names)}; {n_starts} starts", flush=True)
        for j, method in enumerate(METHODS):
            line = []
            for i, (scaled, noise) in enumerate(CONDITIONS):
                p = wilcoxon(means[:, i, j], means[:, i, 0]).pvalue if j else 1.0
                kind = f"{'standardised' if scaled else 'raw'} {noise:.0%} noise"
                line.append(f"{kind} {means[:, i, j].mean():.3f} (p={p:.3f})")
            print(f"  {method:8s} {', '.join(line)}; {passes[j]:.0f} passes", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 4)
