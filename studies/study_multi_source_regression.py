"""Sources with different linear rules, numeric target: strata against single models.

Usage: python studies/study_multi_source_regression.py [FIRST_SEED]

Eight generated layouts of 4, 8 and 16 sources, 1,000 training rows and 1,000 test rows.
"""

import sys
import warnings

import numpy as np
from scipy.stats import wilcoxon
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split

from ensemblage.datasets import make_multi_source
from ensemblage.strata import MixtureStrata, StrataEnsembleRegressor, tuned_svr

try:
    from lightgbm import LGBMRegressor
except ImportError:
    LGBMRegressor = None

LAYOUTS = (4, 8, 16, 4, 8, 16, 8, 16)
BASE = "tuned RBF SVR"


def boosting(seed):
    if LGBMRegressor is None:
        return HistGradientBoostingRegressor(random_state=seed)
    return LGBMRegressor(random_state=seed, verbose=-1, n_jobs=1)


def methods(n_sources, seed):
    return {
        BASE: tuned_svr(),
        "HistGradientBoosting" if LGBMRegressor is None else "LightGBM": boosting(seed),
        "strata, automatic size": StrataEnsembleRegressor(random_state=seed),
        "mixture of 20, gated": StrataEnsembleRegressor(MixtureStrata(20), random_state=seed),
        "mixture, true number": StrataEnsembleRegressor(
            MixtureStrata(n_sources), random_state=seed
        ),
    }


def main():
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    warnings.simplefilter("ignore")
    errors, inside = {}, {}
    for seed, n_sources in enumerate(LAYOUTS, start=first):
        X, y = make_multi_source(n_sources, n_samples=2000, task="regression", random_state=seed)
        X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=seed)
        for name, model in methods(n_sources, seed).items():
            predicted = model.fit(X, y).predict(X_new)
            errors.setdefault(name, []).append(np.sqrt(np.mean((predicted - y_new) ** 2)))
            if hasattr(model, "predict_interval"):
                low, high = model.predict_interval(X_new).T
                inside.setdefault(name, []).append(((low <= y_new) & (y_new <= high)).mean())
    base = np.array(errors[BASE])
    print(f"{len(LAYOUTS)} layouts, seeds {first} to {first + len(LAYOUTS) - 1}; RMSE")
    heads = f"{'RMSE':>8}{'s.e.':>8}{'ratio':>8}{'better':>8}{'Wilcoxon p':>12}{'coverage':>10}"
    print(f"{'':28}{heads}")
    for name, values in errors.items():
        e = np.array(values)
        p = "" if name == BASE else f"{wilcoxon(e, base).pvalue:.3f}"
        covered = f"{np.mean(inside[name]):.3f}" if name in inside else ""
        print(
            f"{name:28}{e.mean():8.4f}{e.std(ddof=1) / np.sqrt(len(e)):8.4f}"
            f"{e.mean() / base.mean():8.3f}{(e < base).sum():6d}/{len(e)}{p:>12}{covered:>10}"
        )


if __name__ == "__main__":
    main()
