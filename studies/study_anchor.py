"""Strata with an SVM as anchor against the same SVM alone.

Usage: python studies/study_anchor.py FOLDER [NAME ...]

A tuned RBF SVM alone, and the strata ensemble with the same SVM as its anchor, on eight datasets of
the papers (at most 1,500 rows), with random 70/30 splits.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import train_test_split

from ensemblage.datasets import load_dataset
from ensemblage.strata import StrataEnsembleClassifier, tuned_svm

NAMES = ("ecoli", "pendigits", "glass", "yeast", "vehicle", "segment", "vowel", "letter")
MAX_ROWS = 1500
REPEATS = 5


def errors(folder, name, seed):
    warnings.simplefilter("ignore")
    data = load_dataset(name, data_dir=folder)
    rows = np.random.default_rng(seed).permutation(len(data.y))[:MAX_ROWS]
    numeric = [j for j, kind in enumerate(data.kinds) if kind == "numeric"]
    X, y = data.X[np.ix_(rows, numeric)].astype(float), data.y[rows]
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.3, random_state=seed)
    known = np.isin(y_new, y)
    pair = (tuned_svm(), StrataEnsembleClassifier(anchor="svm", random_state=seed))
    return [1 - model.fit(X, y).score(X_new[known], y_new[known]) for model in pair]


def main():
    folder = Path(sys.argv[1])
    print(f"{'':12}{'anchor':>9}{'s.d.':>8}{'ensemble':>10}{'difference':>12}  within one s.d.")
    for name in sys.argv[2:] or NAMES:
        runs = np.array(
            Parallel(n_jobs=2)(delayed(errors)(folder, name, seed) for seed in range(REPEATS))
        )
        (alone, ours), deviation = runs.mean(axis=0), runs[:, 0].std(ddof=1)
        verdict = "yes" if ours - alone <= deviation else "no"
        print(
            f"{name:12}{alone:9.4f}{deviation:8.4f}{ours:10.4f}{ours - alone:+12.4f}  {verdict}",
            flush=True,
        )


if __name__ == "__main__":
    main()
