"""Sources with different rules: strata against single models and mixtures.

Usage: python studies/study_multi_source.py [FIRST_SEED]

Eight generated layouts of 4, 8 and 16 sources, 1,000 training rows and 1,000 test rows.
"""

import sys
import warnings

import numpy as np
from scipy.stats import wilcoxon
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from ensemblage.datasets import make_multi_source
from ensemblage.strata import MixtureStrata, StrataEnsembleClassifier, tuned_svm

try:
    from lightgbm import LGBMClassifier
except ImportError:
    LGBMClassifier = None

LAYOUTS = (4, 8, 16, 4, 8, 16, 8, 16)


def boosting(seed):
    if LGBMClassifier is None:
        return HistGradientBoostingClassifier(random_state=seed)
    return LGBMClassifier(random_state=seed, verbose=-1, n_jobs=1)


def methods(n_sources, seed):
    return {
        "tuned RBF SVM": tuned_svm(),
        "HistGradientBoosting" if LGBMClassifier is None else "LightGBM": boosting(seed),
        "strata, automatic size": StrataEnsembleClassifier(random_state=seed),
        "the same, with anchor": StrataEnsembleClassifier(anchor="svm", random_state=seed),
        "mixture of 20, gated": StrataEnsembleClassifier(MixtureStrata(20), random_state=seed),
        "mixture, true number": StrataEnsembleClassifier(
            MixtureStrata(n_sources), random_state=seed
        ),
    }


def main():
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    warnings.simplefilter("ignore")
    errors = {}
    for seed, n_sources in enumerate(LAYOUTS, start=first):
        X, y = make_multi_source(n_sources, n_samples=2000, random_state=seed)
        split = train_test_split(X, y, test_size=0.5, random_state=seed)
        for name, model in methods(n_sources, seed).items():
            score = model.fit(split[0], split[2]).score(split[1], split[3])
            errors.setdefault(name, []).append(1 - score)
    base = np.array(errors["tuned RBF SVM"])
    print(f"{len(LAYOUTS)} layouts, seeds {first} to {first + len(LAYOUTS) - 1}")
    print(f"{'':28}{'error':>8}{'s.e.':>8}{'ratio':>8}{'better':>8}{'Wilcoxon p':>12}")
    for name, values in errors.items():
        e = np.array(values)
        p = "" if name == "tuned RBF SVM" else f"{wilcoxon(e, base).pvalue:.3f}"
        print(
            f"{name:28}{e.mean():8.4f}{e.std(ddof=1) / np.sqrt(len(e)):8.4f}"
            f"{e.mean() / base.mean():8.3f}{(e < base).sum():6d}/{len(e)}{p:>12}"
        )


if __name__ == "__main__":
    main()
