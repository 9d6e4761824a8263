"""The methods that predict numbers: strong baselines, and ours."""

from __future__ import annotations

from typing import Any

from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from ensemblage.methods._method import Method, tuned

RIDGE_GRID: dict[str, list[Any]] = {"alpha": [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]}
SVR_GRID: dict[str, list[Any]] = {
    "regressor__C": [0.1, 1.0, 10.0, 100.0],
    "regressor__gamma": ["scale", 0.01, 0.1],
}


def _mean(seed: int, n_jobs: int | None) -> Any:
    del seed, n_jobs
    return DummyRegressor()


def _ridge(seed: int, n_jobs: int | None) -> Any:
    return tuned(Ridge(), RIDGE_GRID, seed, n_jobs)


def _svm(seed: int, n_jobs: int | None) -> Any:
    from sklearn.compose import TransformedTargetRegressor  # noqa: PLC0415  as below

    # its margin of 0.1 means something if the numbers have a standard deviation of 1
    scaled = TransformedTargetRegressor(SVR(), transformer=StandardScaler())
    return tuned(scaled, SVR_GRID, seed, n_jobs)


def _forest(seed: int, n_jobs: int | None) -> Any:
    return RandomForestRegressor(n_estimators=200, random_state=seed, n_jobs=n_jobs)


def _boosting(seed: int, n_jobs: int | None) -> Any:
    del n_jobs
    return HistGradientBoostingRegressor(random_state=seed)


def _strata(seed: int, n_jobs: int | None) -> Any:
    from ensemblage.strata import StrataEnsembleRegressor  # noqa: PLC0415  only what is asked for

    return StrataEnsembleRegressor(random_state=seed, n_jobs=n_jobs)


def _strata_sources(seed: int, n_jobs: int | None) -> Any:
    from ensemblage.strata import SourceStrata, StrataEnsembleRegressor  # noqa: PLC0415

    return StrataEnsembleRegressor(SourceStrata(), anchor="svm", random_state=seed, n_jobs=n_jobs)


def _subspace(seed: int, n_jobs: int | None) -> Any:
    from ensemblage.subspace import JointSubspaceRegressor  # noqa: PLC0415

    return JointSubspaceRegressor(C="auto", random_state=seed, n_jobs=n_jobs)


def _tree(seed: int, n_jobs: int | None) -> Any:
    from ensemblage.inner import InnerTreeRegressor  # noqa: PLC0415

    return InnerTreeRegressor(random_state=seed, n_jobs=n_jobs)


def _auto(seed: int, n_jobs: int | None) -> Any:
    from ensemblage.pool import EnsemblageRegressor  # noqa: PLC0415

    return EnsemblageRegressor(random_state=seed, n_jobs=n_jobs)


NUMBER_METHODS = {
    method.name: method
    for method in (
        Method("mean", "mean", "always the mean", _mean, effort=0),
        Method("ridge", "ridge regression", "alpha tuned by inner folds", _ridge, effort=1),
        Method(
            "svm",
            "RBF SVM",
            "C and gamma tuned by inner folds, numbers standardised",
            _svm,
            steep=True,
            quick={"regressor__gamma": "scale"},
        ),
        Method("forest", "random forest", "200 trees", _forest, effort=2),
        Method("boosting", "gradient boosting", "histogram-based, 100 rounds", _boosting, effort=2),
        Method(
            "strata",
            "strata ensemble",
            "a member per stratum, their densities behind a gate",
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
            "subspace",
            "joint subspaces",
            "members on features chosen while they learn; product of their densities",
            _subspace,
            ours=True,
            steep=True,
            quick={"C": 1.0},
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
            "usual members and ours, tuned on shared folds, their densities multiplied",
            _auto,
            ours=True,
            steep=True,
            takes=("groups",),
            quick=None,
            takes_tables=True,
            encodes=True,
            judges_itself=True,
        ),
    )
}
