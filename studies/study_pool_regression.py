"""The pool of regressors beside its members alone, on tables with a number to predict.

Usage: python studies/study_pool_regression.py FOLDER [ROWS] [NAME ...]

FOLDER holds a CSV file per set, the target last, and a ``manifest.json`` that names the columns of
words; "other" stands for six tables that nothing was designed on: diabetes, Friedman's three,
numbers whose spread grows with them, and counts. ROWS, 1,000 if not given, are drawn of each at
most. Three folds, shuffled. Members are tuned and held out as
``EnsemblageRegressor("lean", random_state=0)`` does; a member alone says its prediction with the
spread of its held-out residuals. The pool's spread may grow with the level, and in a second log
loss so may that of each member alone, for the pool is not to win by that only. In a third nobody's
does. Errors are in standard deviations of the target, and so is the unit of the log loss, minus
the mean log density.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import rankdata, wilcoxon
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3
from sklearn.model_selection import KFold

from ensemblage._core import draw_seeds
from ensemblage.datasets import TableEncoder
from ensemblage.fusion import fit_variance_correction
from ensemblage.pool import (
    TrainingData,
    cross_validate_members,
    fit_fusion,
    make_cv_folds,
    make_fusion,
    out_of_fold_outputs,
    refit_member,
    resolve_members,
)
from ensemblage.pool._member_spec import (
    PoolNumericTarget,
    correct_variance,
    fit_growing_correction,
    mean_loss,
)

FOLDS, INNER = 3, 5


def read(folder, name, limit):
    words = json.loads((folder / "manifest.json").read_text())[name]["words"]
    table = pd.read_csv(folder / f"{name}.csv", dtype=dict.fromkeys(words, str))
    table = table.sample(min(limit, len(table)), random_state=0)
    y = table.iloc[:, -1].to_numpy(dtype=float)
    return table.iloc[:, :-1].reset_index(drop=True), (y - y.mean()) / y.std()


def answers(X, y, train, test):
    """Give what the pool and each member say of the test rows, by name: flat and by level."""
    encoder = TableEncoder(random_state=0)
    numbers = encoder.fit_transform(X.iloc[train], y[train])
    target = PoolNumericTarget(float(y[train].std()))
    specs = resolve_members("lean", numeric=True)
    fold_seed, *seeds = draw_seeds(0, 1 + len(specs))
    folds = make_cv_folds(target.stratification_labels(y[train]), INNER, fold_seed)
    rows = TrainingData(numbers, y[train], target, None, folds, table=X.iloc[train])
    members, _ = cross_validate_members(specs, rows, seeds, 1)
    new = TrainingData(
        encoder.transform(X.iloc[test]), y[test], target, None, [], table=X.iloc[test]
    )
    said, given = [], {}
    for tuned in members:
        spec = tuned.spec
        model = refit_member(tuned, spec.input_data(rows))
        said.append(target.outputs(model, spec.input_data(new).X, spec.response))
        alone = target.calibrator().fit(tuned.outputs[None], rows.y, numeric=True)
        learned = alone.combine(tuned.outputs[None])
        given[spec.name] = both_spreads(learned, rows.y, alone.combine(said[-1][None]))
    fusion = make_fusion("log_linear", has_groups=False, numeric=True)
    fitted = fit_fusion(fusion, members, rows)
    pooled = out_of_fold_outputs(fusion, fitted, members, rows)
    new = fitted.combine(np.stack(said))
    return {"pool": both_spreads(pooled, rows.y[rows.tested], new), **given}


def both_spreads(learned, y, new):
    """Correct what is said of new rows by one spread, and by one that may grow with the level."""
    flat = fit_variance_correction(learned, y, np.ones(len(y)))
    return flat.apply(new), correct_variance(new, fit_growing_correction(learned, y, None))


def study(X, y):
    """Give error and log losses of each method, means over the folds."""
    found, target = {}, PoolNumericTarget(1.0)
    for train, test in KFold(FOLDS, shuffle=True, random_state=0).split(X):
        for name, (flat, level) in answers(X, y, train, test).items():
            losses = [mean_loss(target.row_losses(each, y[test])) for each in (level, flat)]
            found.setdefault(name, []).append((target.score(flat, y[test], None), *losses))
    return {name: np.mean(each, axis=0) for name, each in found.items()}


def summary(results):
    """Print means, mean ranks, and what a paired test says of the pool against each member."""
    names = list(results[0])
    table = np.array([[each[name] for name in names] for each in results])
    error, level, flat = np.moveaxis(table, 2, 0)
    ours = np.column_stack([level[:, :1], flat[:, 1:]])
    judged = {
        "RMSE": error,
        "log loss, the pool's spread by level": ours,
        "log loss, every spread by level": level,
        "log loss, no spread by level": flat,
    }
    for measure, scores in judged.items():
        ranks = np.mean([rankdata(row) for row in scores], axis=0)
        print(f"\n{measure}: mean, mean rank, sets where the pool is better, Wilcoxon's p")
        for j, name in enumerate(names):
            better = int((scores[:, 0] < scores[:, j]).sum())
            p = wilcoxon(scores[:, 0], scores[:, j]).pvalue if j and len(results) > 5 else np.nan
            print(f"{name:12} {scores[:, j].mean():8.4f} {ranks[j]:6.2f} {better:3d} {p:8.4f}")
    p = wilcoxon(level[:, 0], flat[:, 0]).pvalue if len(results) > 5 else np.nan
    print(f"\nthe pool's spread by level better on {int((level < flat)[:, 0].sum())}, p {p:.4f}")


def other_tables(limit):
    """Tables that nothing was designed on, by name."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(limit, 5))
    grown = np.exp(0.4 * X[:, 0] + 0.3 * X[:, 1])
    made = {
        "diabetes": load_diabetes(return_X_y=True),
        "friedman1": make_friedman1(limit, noise=1, random_state=0),
        "friedman2": make_friedman2(limit, noise=100, random_state=0),
        "friedman3": make_friedman3(limit, noise=0.1, random_state=0),
        "grown": (X, rng.gamma(3, grown)),
        "counts": (X, rng.poisson(3 * grown).astype(float)),
    }
    return {name: (pd.DataFrame(X[:limit]), y[:limit] / y[:limit].std())
            for name, (X, y) in made.items()}  # fmt: skip


def main():
    folder = Path(sys.argv[1])
    limit = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    names = sys.argv[3:] or sorted(each.stem for each in folder.glob("*.csv"))
    tables = other_tables(limit) if str(folder) == "other" else {}
    warnings.simplefilter("ignore")
    results = []
    for name in list(tables) or names:
        start = time.process_time()
        results.append(study(*(tables[name] if tables else read(folder, name, limit))))
        told = "  ".join(
            f"{each} {a:.3f} {b:.3f} {c:.3f}" for each, (a, b, c) in results[-1].items()
        )
        print(f"{name:12} {told}  ({time.process_time() - start:.0f} s)", flush=True)
    summary(results)


if __name__ == "__main__":
    main()
