"""Claims of the guide on joint feature subsets, with controls, which the paper lacks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import ttest_rel, wilcoxon
from sklearn.datasets import make_classification
from sklearn.feature_selection import RFE, mutual_info_classif
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from ensemblage.datasets import make_quarter_circle
from ensemblage.fusion import SoftmaxGate
from ensemblage.papers.joint._tables import tuned_logistic
from ensemblage.subspace import JointSubspaceClassifier, JointSubspaceSelector
from ensemblage.subspace._kernels import MixtureParameters
from ensemblage.subspace._objectives import as_features, as_rows, standardise
from ensemblage.subspace._search import gated_proba, refit_with_gate

TEST_ROWS = 20_000
COMPARED = ("abalone", "segment", "vehicle", "sonar", "waveform", "pima")


def _random_gate(X, y, n_members, strength, seed):
    """Mixture of the same size from random initial values; returns its predict function."""
    scaling = standardise(X)
    rows = as_rows(X, y, 2, scaling)
    rng = np.random.default_rng(seed)
    start = MixtureParameters(
        rng.normal(size=(n_members, 2, X.shape[1])), np.zeros((n_members, 2)),
        rng.normal(size=(n_members, X.shape[1])), np.zeros(n_members),
    )  # fmt: skip
    everything = np.ones((n_members, X.shape[1]), dtype=bool)
    mixture = refit_with_gate(rows, start, everything, 1.0 / (strength * rows.total))
    return lambda new: gated_proba(as_features(new, *scaling), mixture).argmax(axis=1)


def gate_gains(n_samples_per_class, n_datasets=20, n_estimators=10, C=100.0, first_seed=0):
    """Accuracies in per cent of the refined gate and its controls, one per quarter circle."""
    X_test, y_test = make_quarter_circle(TEST_ROWS, random_state=10**6)
    scores = []
    for seed in range(first_seed, first_seed + n_datasets):
        X, y = make_quarter_circle(n_samples_per_class, random_state=seed)
        models = {
            "logistic regression": tuned_logistic(),
            "quadratic logistic regression": make_pipeline(
                PolynomialFeatures(2, include_bias=False), tuned_logistic()
            ),
            "plain product": JointSubspaceClassifier(n_estimators, C=C, random_state=seed),
            "refined gate": JointSubspaceClassifier(
                n_estimators, refine="gate", C=C, random_state=seed
            ),
        }
        row = {name: model.fit(X, y).score(X_test, y_test) for name, model in models.items()}
        predict = _random_gate(X, y, n_estimators, C, seed)
        row["random mixture"] = float((predict(X_test) == y_test).mean())
        scores.append(row)
    return {name: 100 * np.array([row[name] for row in scores]) for name in scores[0]}


def selection_precision(seeds=range(10), n_rows=1500, n_features=220, n_informative=20):
    """Precision of the top ``n_informative`` features by method and seed."""
    found = []
    for seed in seeds:
        X, y = make_classification(
            n_rows, n_features, n_informative=n_informative, n_redundant=0, shuffle=False,
            random_state=seed,
        )  # fmt: skip
        order = np.random.default_rng(seed).permutation(n_features)
        X = StandardScaler().fit_transform(X[:, order])
        ranks = rankings(X, y, n_informative, seed)
        found.append({
            name: float((order[np.argsort(rank)[:n_informative]] < n_informative).mean())
            for name, rank in ranks.items()
        })  # fmt: skip
    return {name: np.array([row[name] for row in found]) for name in found[0]}


def rankings(X, y, n_informative, seed):
    """Ranks by method; ties are broken at random, not by column order."""
    noise = np.random.default_rng(seed).uniform(0, 1e-9, X.shape[1])
    rfe = RFE(LogisticRegression(max_iter=2000), n_features_to_select=n_informative, step=5)
    newer = LogisticRegression().penalty == "deprecated"  # from scikit-learn 1.8 on
    sparse = {"l1_ratio": 1.0} if newer else {"penalty": "l1"}
    lasso = LogisticRegression(**sparse, C=0.05, solver="liblinear", random_state=seed)
    selector = JointSubspaceSelector(n_informative, basis="linear", random_state=seed).fit(X, y)
    return {
        "joint subsets": selector.ranking_,
        "frequency x mean |coef|": -_plain_scores(selector) + noise,
        "RFE": rfe.fit(X, y).ranking_ + noise,
        "L1": -np.abs(lasso.fit(X, y).coef_[0]) + noise,
        "mutual information": -mutual_info_classif(X, y, random_state=seed) + noise,
    }


def _plain_scores(selector):
    used = np.abs(selector.coefs_[:, 1] - selector.coefs_[:, 0]) * selector.supports_
    return used.mean(axis=0)


class Verdict(NamedTuple):
    """Paired comparison with a tuned logistic regression, in percent.

    ``gain`` and ``error`` are the mean difference of ``auto`` and its standard error, then come
    two-sided p-values; ``gates`` counts the splits in which the gate was chosen.
    """

    logistic: float
    product: float
    auto: float
    gain: float
    error: float
    t_test: float
    wilcoxon: float
    gates: int


def compare_with_logistic(X, y, n_splits=10, seed=0):
    """``fusion="auto"`` and the plain product against a tuned logistic regression."""
    cut = StratifiedShuffleSplit(n_splits, test_size=0.1, random_state=seed)
    scores, gates = [], 0
    for i, (train, test) in enumerate(cut.split(X, y)):
        models = (
            tuned_logistic(),
            JointSubspaceClassifier(C="auto", random_state=i),
            JointSubspaceClassifier(C="auto", fusion="auto", random_state=i),
        )
        scores.append([model.fit(X[train], y[train]).score(X[test], y[test]) for model in models])
        gates += isinstance(models[2].fusion_, SoftmaxGate)
    logistic, product, auto = 100 * np.array(scores).T
    gain = auto - logistic
    same = bool(np.allclose(gain, 0))
    return Verdict(
        logistic.mean(), product.mean(), auto.mean(), gain.mean(),
        gain.std(ddof=1) / np.sqrt(n_splits),
        1.0 if same else float(ttest_rel(auto, logistic).pvalue),
        1.0 if same else float(wilcoxon(auto, logistic).pvalue), gates,
    )  # fmt: skip
