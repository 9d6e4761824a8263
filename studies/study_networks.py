"""Compare plain and inner Bayesian networks, calibrated or not, and bagging of 30 networks.

Usage: python studies/study_networks.py FOLDER [NAME ...]

Accuracy and log loss by five-fold cross-validation on the papers' datasets (at most 1,000 rows),
then Wilcoxon's test of the inner Bayesian network against each other model over the datasets.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.stats import wilcoxon
from sklearn.ensemble import BaggingClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from ensemblage.bayes import BayesNetClassifier
from ensemblage.datasets import load_dataset
from ensemblage.inner import InnerBayesNetClassifier

MODELS = {
    "inner": InnerBayesNetClassifier(random_state=0, arc_confidence=False),
    "inner, T=1": InnerBayesNetClassifier(random_state=0, calibration=None, arc_confidence=False),
    "plain": BayesNetClassifier(),
    "plain, T=1": BayesNetClassifier(calibration=None),
    "TAN": BayesNetClassifier(search="tan"),
    "bagging": BaggingClassifier(BayesNetClassifier(calibration=None), 30, random_state=0),
}
MAX_ROWS = 1000  # of a dataset; a larger one is sampled
MIN_PROBABILITY = 1e-15  # in a log loss


def read(folder, name):
    data = load_dataset(name, data_dir=folder)
    rows = np.random.default_rng(0).permutation(len(data.y))[:MAX_ROWS]
    columns = {
        name: pd.Categorical(values) if kind == "categorical" else values.astype(float)
        for name, kind, values in zip(data.feature_names, data.kinds, data.X[rows].T, strict=True)
    }
    return pd.DataFrame(columns), np.asarray(data.y)[rows]


def scores(folder, name):
    """Accuracy and log loss of all models, (n_models, 2); unseen classes are omitted."""
    warnings.simplefilter("ignore")
    X, y = read(folder, name)
    found = []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        known = test[np.isin(y[test], y[train])]
        A, B = (X.iloc[rows].reset_index(drop=True) for rows in (train, known))
        for model in MODELS.values():
            p = np.clip(model.fit(A, y[train]).predict_proba(B), MIN_PROBABILITY, 1)
            p /= p.sum(axis=1, keepdims=True)
            correct = model.classes_[p.argmax(axis=1)] == y[known]
            found.append([correct.mean(), log_loss(y[known], p, labels=model.classes_)])
    return np.array(found).reshape(-1, len(MODELS), 2).mean(axis=0)


def main():
    folder = Path(sys.argv[1])
    names = sys.argv[2:] or sorted(path.stem for path in folder.glob("*.csv"))
    print(f"{'':14}" + "".join(f"{name:>18}" for name in MODELS))
    table = []
    for name, row in zip(
        names,
        Parallel(n_jobs=2, return_as="generator")(delayed(scores)(folder, name) for name in names),
        strict=True,
    ):
        table.append(row)
        print(f"{name:14}" + "".join(f"{a:10.3f} /{b:6.3f}" for a, b in row), flush=True)
    table = np.array(table)
    print(f"{'mean':14}" + "".join(f"{a:10.3f} /{b:6.3f}" for a, b in table.mean(axis=0)))
    for k, other in enumerate(MODELS):
        if k:
            for j, measure in enumerate(("accuracy", "log loss")):
                difference = table[:, 0, j] - table[:, k, j]
                if not difference.any():  # a temperature changes no predicted class
                    continue
                better = (difference > 0 if j == 0 else difference < 0).sum()
                p = wilcoxon(difference).pvalue
                print(f"inner against {other}: {measure} {difference.mean():+.4f}, better on "
                      f"{better} of {len(difference)}, Wilcoxon p = {p:.4f}")  # fmt: skip


if __name__ == "__main__":
    main()
