"""The regression pool against its single members.

Usage: python studies/study_pool_regression.py FOLDER [ROWS] [NAME ...]

FOLDER holds a CSV file per table, the target last, and a ``manifest.json`` whose ``words`` are the
categorical columns. FOLDER "other" stands for six tables that were not used in the design:
diabetes, Friedman's three, a target whose variance increases with its mean, and counts. At most
ROWS rows, 1,000 by default, are drawn of each. Three folds, shuffled. Members are tuned as in
``EnsemblageRegressor("lean", random_state=0)``; a single member has the variance of its out-of-fold
residuals. Log loss, the negative mean log density, is computed three times: with a variance that
depends on the prediction for the pool only, for the pool and each member, and for none. RMSE and
log density are in units of the target's standard deviation.
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
    cross_fuse,
    cross_validate_members,
    fit_fusion,
    make_cv_folds,
    make_fusion,
    refit_member,
    resolve_members,
)
from ensemblage.pool._member_spec import (
    TABLE,
    PoolNumericTarget,
    correct_variance,
    fit_growing_correction,
    mean_loss,
)

FOLDS, INNER = 3, 5


def read(folder, name, limit):
    categorical = json.loads((folder / "manifest.json").read_text())[name]["words"]
    table = pd.read_csv(folder / f"{name}.csv", dtype=dict.fromkeys(categorical, str))
    table = table.sample(min(limit, len(table)), random_state=0)
    y = table.iloc[:, -1].to_numpy(dtype=float)
    return table.iloc[:, :-1].reset_index(drop=True), (y - y.mean()) / y.std()


def predict_fold(X, y, train, test):
    """Predict the test rows by the pool and each member: constant and varying variance."""
    encoder = TableEncoder(random_state=0)
    encoded = encoder.fit_transform(X.iloc[train], y[train])
    target = PoolNumericTarget(float(y[train].std()))
    specs = resolve_members("lean", numeric=True)
    fold_seed, *seeds = draw_seeds(0, 1 + len(specs))
    folds = make_cv_folds(target.stratification_labels(y[train]), INNER, fold_seed)
    rows = TrainingData(encoded, y[train], target, None, folds, forms={TABLE: X.iloc[train]})
    members, _ = cross_validate_members(specs, rows, seeds, 1)
    new = TrainingData(
        encoder.transform(X.iloc[test]), y[test], target, None, [], forms={TABLE: X.iloc[test]}
    )
    outputs, predictions = [], {}
    for tuned in members:
        spec = tuned.spec
        model = refit_member(tuned, spec.input_data(rows))
        outputs.append(target.outputs(model, spec.input_data(new).X, spec.response))
        alone = target.calibrator().fit(tuned.outputs[None], rows.y, numeric=True)
        out_of_fold = alone.combine(tuned.outputs[None])
        new_outputs = alone.combine(outputs[-1][None])
        predictions[spec.name] = correct_both_ways(out_of_fold, rows.y, new_outputs)
    fusion = make_fusion("log_linear", has_groups=False, numeric=True)
    fitted = fit_fusion(fusion, members, rows)
    own = np.stack([each.outputs[rows.tested] for each in members])
    pooled = cross_fuse(fusion, own, rows, rows.tested, rows.scoring_folds)
    new = fitted.combine(np.stack(outputs))
    return {"pool": correct_both_ways(pooled, rows.y[rows.tested], new), **predictions}


def correct_both_ways(out_of_fold, y, new):
    """Correct the variance of new rows by a constant, and depending on the prediction."""
    constant = fit_variance_correction(out_of_fold, y, np.ones(len(y)))
    varying = fit_growing_correction(out_of_fold, y, None)
    return constant.apply(new), correct_variance(new, varying)


def study(X, y):
    """Return RMSE and log losses of each method, means over the folds."""
    found, target = {}, PoolNumericTarget(1.0)
    for train, test in KFold(FOLDS, shuffle=True, random_state=0).split(X):
        for name, (constant, varying) in predict_fold(X, y, train, test).items():
            losses = [mean_loss(target.row_losses(each, y[test])) for each in (varying, constant)]
            found.setdefault(name, []).append((target.score(constant, y[test], None), *losses))
    return {name: np.mean(each, axis=0) for name, each in found.items()}


def summary(results):
    """Print means, mean ranks, and paired tests of the pool against each member."""
    names = list(results[0])
    table = np.array([[each[name] for name in names] for each in results])
    error, varying, constant = np.moveaxis(table, 2, 0)
    pool_varying = np.column_stack([varying[:, :1], constant[:, 1:]])
    measures = {
        "RMSE": error,
        "log loss, varying variance of the pool only": pool_varying,
        "log loss, varying variance": varying,
        "log loss, constant variance": constant,
    }
    for measure, scores in measures.items():
        ranks = np.mean([rankdata(row) for row in scores], axis=0)
        print(f"\n{measure}: mean, mean rank, tables where the pool is better, Wilcoxon's p")
        for j, name in enumerate(names):
            better = int((scores[:, 0] < scores[:, j]).sum())
            p = wilcoxon(scores[:, 0], scores[:, j]).pvalue if j and len(results) > 5 else np.nan
            print(f"{name:12} {scores[:, j].mean():8.4f} {ranks[j]:6.2f} {better:3d} {p:8.4f}")
    p = wilcoxon(varying[:, 0], constant[:, 0]).pvalue if len(results) > 5 else np.nan
    better = int((varying < constant)[:, 0].sum())
    print(f"\nvarying variance of the pool better on {better}, p {p:.4f}")


def other_tables(limit):
    """Tables that were not used in the design, by name."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(limit, 5))
    scale = np.exp(0.4 * X[:, 0] + 0.3 * X[:, 1])
    made = {
        "diabetes": load_diabetes(return_X_y=True),
        "friedman1": make_friedman1(limit, noise=1, random_state=0),
        "friedman2": make_friedman2(limit, noise=100, random_state=0),
        "friedman3": make_friedman3(limit, noise=0.1, random_state=0),
        "gamma": (X, rng.gamma(3, scale)),
        "counts": (X, rng.poisson(3 * scale).astype(float)),
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
        line = "  ".join(
            f"{each} {a:.3f} {b:.3f} {c:.3f}" for each, (a, b, c) in results[-1].items()
        )
        print(f"{name:12} {line}  ({time.process_time() - start:.0f} s)", flush=True)
    summary(results)


if __name__ == "__main__":
    main()
