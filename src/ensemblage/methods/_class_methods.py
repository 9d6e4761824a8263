"""The methods that predict classes: strong baselines, and ours."""

from __future__ import annotations

from typing import Any

from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from ensemblage.methods._method import Method, tuned

LOGISTIC_GRID: dict[str, list[Any]] = {"C": [0.01, 0.1, 1.0, 10.0]}
# "scale" stands for 1 over the number of features, as these are standardised.
SVM_GRID: dict[str, list[Any]] = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": ["scale", 0.01, 0.1]}


def _majority(seed: int, n_jobs: int | None) -> Any:
    del seed, n_jobs
    return DummyClassifier(strategy="prior")


def _logistic(seed: int, n_jobs: int | None) -> Any:
    return tuned(LogisticRegression(max_iter=2000), LOGISTIC_GRID, seed, n_jobs)


def _svm(seed: int, n_jobs: int | None) -> Any:
    return tuned(SVC(), SVM_GRID, seed, n_jobs)


def _forest(seed: int, n_jobs: int | None) -> Any:
    return RandomForestClassifier(n_estimators=200, random_state=seed, n_jobs=n_jobs)


def _boosting(seed: int, n_jobs: int | None) -> Any:
    del n_jobs
    return HistGradientBoostingClassifier(random_state=seed)


def _strata(seed: int, n_jobs: int | None) -> Any:
    from ensemblage.strata import StrataEnsembleClassifier  # noqa: PLC0415  as below: only what is asked for

    return StrataEnsembleClassifier(random_state=seed, n_jobs=n_jobs)


def _strata_sources(seed: int, n_jobs: int | None) -> Any:
    from ensemblage.strata import SourceStrata, StrataEnsembleClassifier  # noqa: PLC0415

    return StrataEnsembleClassifier(SourceStrata(), anchor="svm", random_state=seed, n_jobs=n_jobs)


def _strata_paper(seed: int, n_jobs: int | None) -> Any:
    from ensemblage.strata import StrataEnsembleClassifier  # noqa: PLC0415

    return StrataEnsembleClassifier.paper(random_state=seed, n_jobs=n_jobs)


def _subspace(seed: int, n_jobs: int | None) -> Any:
    from ensemblage.subspace import JointSubspaceClassifier  # noqa: PLC0415

    return JointSubspaceClassifier(C="auto", fusion="auto", random_state=seed, n_jobs=n_jobs)


def _bayesnet(seed: int, n_jobs: int | None) -> Any:
    from ensemblage.bayes import BayesNetClassifier  # noqa: PLC0415

    del seed
    return BayesNetClassifier(n_jobs=n_jobs)


def _inner_bayesnet(seed: int, n_jobs: int | None) -> Any:
    from ensemblage.inner import InnerBayesNetClassifier  # noqa: PLC0415

    return InnerBayesNetClassifier(random_state=seed, n_jobs=n_jobs)


def _tree(seed: int, n_jobs: int | None) -> Any:
    from ensemblage.inner import InnerTreeClassifier  # noqa: PLC0415

    return InnerTreeClassifier(random_state=seed, n_jobs=n_jobs)


def _auto(seed: int, n_jobs: int | None) -> Any:
    from ensemblage.pool import EnsemblageClassifier  # noqa: PLC0415

    return EnsemblageClassifier(random_state=seed, n_jobs=n_jobs)


METHODS = {
    method.name: method
    for method in (
        Method("majority", "majority class", "always the most frequent class", _majority, effort=0),
        Method("logistic", "logistic regression", "C tuned by inner folds", _logistic, effort=1),
        Method(
            "svm",
            "RBF SVM",
            "C and gamma tuned by inner folds",
            _svm,
            steep=True,
            quick={"gamma": "scale"},
        ),
        Method("forest", "random forest", "200 trees", _forest, effort=2),
        Method("boosting", "gradient boosting", "histogram-based, 100 rounds", _boosting, effort=2),
        Method(
            "strata",
            "strata ensemble",
            "a member per stratum, behind a gate",
            _strata,
            ours=True,
            steep=True,
            takes=("groups",),
            takes_blocks=True,
        ),
        Method(
            "strata-sources",
            "strata of sources",
            "a member per known source behind a gate, pooled with an SVM; needs sources",
            _strata_sources,
            ours=True,
            steep=True,
            takes=("sources", "groups"),
            needs_sources=True,
        ),
        Method(
            "strata-paper",
            "strata ensemble (paper)",
            "20 linear SVMs on strata of 40 % of the rows, stacked as in the paper",
            _strata_paper,
            ours=True,
            steep=True,
            quick=None,
        ),
        Method(
            "subspace",
            "joint subspaces",
            "members on features chosen while they learn; product or gate",
            _subspace,
            ours=True,
            steep=True,
            quick={"fusion": "product"},
        ),
        Method(
            "bayesnet",
            "Bayesian network",
            "structure by K2 with the leave-one-out score",
            _bayesnet,
            ours=True,
            effort=1,
            takes_tables=True,
        ),
        Method(
            "inner-bayesnet",
            "inner Bayesian network",
            "one network, its structure and tables the decisions of 30 samples",
            _inner_bayesnet,
            ours=True,
            effort=1,
            takes_tables=True,
            quick=None,
            most_columns=300,
        ),
        Method(
            "tree",
            "crowd tree",
            "one tree of 16 leaves at most, its thresholds placed by 30 samples",
            _tree,
            ours=True,
            effort=1,
            takes_tables=True,
            takes=("groups",),
        ),
        Method(
            "auto",
            "pool",
            "usual members and ours, tuned on shared folds and fused by what they are worth",
            _auto,
            ours=True,
            steep=True,
            takes=("sources", "groups"),
            quick=None,
            takes_tables=True,
            encodes=True,
            judges_itself=True,
        ),
    )
}
