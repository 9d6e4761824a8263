"""A pool of a tuned SVM and gradient boosting, with and without strata of sources.

Usage: python studies/study_sources.py FOLDER [NAME ...]

FOLDER holds CSV files with the columns `source` and `class`. Five splits of 70/30 each; the
source is known in training and unknown at prediction.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from ensemblage._core import make_folds
from ensemblage.datasets import Dataset, TableEncoder, read_table
from ensemblage.fusion import LogLinearPool
from ensemblage.sources import SourceStrata
from ensemblage.strata import ClassTarget, StrataEnsembleClassifier, tuned_svm
from ensemblage.strata._members import (
    fit_members,
    member_tasks,
    out_of_fold_outputs,
    predict_members,
    resolve_parts,
)
from ensemblage.strata._targets import Training

REPEATS = 5


def boosting():
    return HistGradientBoostingClassifier(
        max_iter=60, learning_rate=0.06, max_leaf_nodes=8, min_samples_leaf=10, random_state=0
    )


def kinds():
    return [
        make_pipeline(StandardScaler(), LogisticRegression(C=0.1)),
        make_pipeline(StandardScaler(), SVC()),
        boosting(),
    ]


def pool_alone(X, y, X_new, n_classes, seed):
    """Pool the same anchors out-of-fold, without any strata."""
    folds = make_folds(y, 5, seed)
    data = Training(X, y, ClassTarget(np.arange(n_classes)), np.ones(len(y)), folds=folds)
    parts = resolve_parts(ClassTarget, [], [tuned_svm(), boosting()], LogLinearPool())
    tasks = member_tasks(parts, np.empty((len(y), 0)), data)
    pool = LogLinearPool().fit(out_of_fold_outputs(tasks, data, seed, 1), y)
    methods = [task.response_method for task in tasks]
    return pool.combine(
        predict_members(fit_members(tasks, data, seed, 1), methods, X_new, data.target)
    )


def one_split(path, seed):
    warnings.simplefilter("ignore")
    table = read_table(path)
    sources = np.array([str(each) for each in table.column("source")])
    data = Dataset.from_table(table, "class", drop=["source"])
    y = np.unique(data.y, return_inverse=True)[1]
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, random_state=seed, stratify=y)
    encoder = TableEncoder(kinds=list(data.kinds)).fit(data.X[train])
    X, X_new = (np.asarray(encoder.transform(data.X[rows]), dtype=float) for rows in (train, test))
    alone = pool_alone(X, y[train], X_new, y.max() + 1, seed)
    model = StrataEnsembleClassifier(
        SourceStrata(), kinds(), anchor=[tuned_svm(), boosting()], random_state=seed
    )
    with_strata = model.fit(X, y[train], sources=sources[train]).predict_proba(X_new)
    return [(loss(p, y[test]), (p.argmax(axis=1) != y[test]).mean()) for p in (alone, with_strata)]


def loss(p, y):
    return -np.log(np.clip(p[np.arange(len(y)), y], 1e-15, 1)).mean()


def main():
    folder = Path(sys.argv[1])
    names = sys.argv[2:] or sorted(path.stem for path in folder.glob("*.csv"))
    heads = f"{'pool: log loss':>16}{'error':>9}{'with strata':>14}{'error':>9}"
    print(f"{'':10}{heads}{'ratio':>9}{'s.e. of the difference':>25}")
    for name in names:
        runs = Parallel(n_jobs=2)(
            delayed(one_split)(folder / f"{name}.csv", seed) for seed in range(REPEATS)
        )
        (a, ae), (b, be) = np.array(runs).mean(axis=0)
        differences = np.array([with_strata[0] - alone[0] for alone, with_strata in runs])
        standard_error = differences.std(ddof=1) / np.sqrt(REPEATS)
        figures = f"{a:16.4f}{ae:9.4f}{b:14.4f}{be:9.4f}{b / a:9.4f}{standard_error:25.4f}"
        print(f"{name:10}{figures}", flush=True)


if __name__ == "__main__":
    main()
