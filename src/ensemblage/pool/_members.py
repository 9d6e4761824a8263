"""Members by name, and the named pools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from sklearn.base import is_classifier

from ensemblage._core import fit_parameter, listing, require, suggestion
from ensemblage.inner import InnerBayesNetClassifier, InnerTreeRegressor
from ensemblage.pool._boosting import (
    CATBOOST_SETTINGS,
    N_CATBOOST_ROUNDS_GRID,
    SETTINGS_GRID,
    Boosting,
    has_catboost,
    installed_library,
)
from ensemblage.pool._compact_members import (
    CompactForestClassifier,
    CompactForestRegressor,
    CompactSVC,
    CompactSVR,
)
from ensemblage.pool._member_spec import TABLE, InternalFolds, MemberSpec, OutOfBag
from ensemblage.strata import (
    ScaledLogisticRegression,
    ScaledRidge,
    StrataEnsembleClassifier,
    StrataEnsembleRegressor,
)
from ensemblage.subspace import JointSubspaceClassifier

STANDARD = "standard"
"""Group of common learners."""
USER = "user"
"""Group of a user's own members."""
N_TREES = 100
MAX_LIBRARY_ROWS = 20_000
"""Rows that members of this library are fitted to at most."""
SVM_GRID = [(C, gamma) for C in (1.0, 10.0, 100.0) for gamma in ("scale", 0.01, 0.1)]


def _logistic() -> MemberSpec:
    grid = (0.01, 0.1, 1.0, 10.0, 100.0)
    candidates = tuple(ScaledLogisticRegression(C=C, max_iter=500) for C in grid)
    return MemberSpec("logistic", STANDARD, candidates, for_categories=True)


def _ridge() -> MemberSpec:
    candidates = tuple(ScaledRidge(alpha) for alpha in (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0))
    return MemberSpec("ridge", STANDARD, candidates, numeric=True, for_categories=True)


def _svm(*, numeric: bool = False) -> MemberSpec:
    name, machine = ("svr", CompactSVR) if numeric else ("svm", CompactSVC)
    candidates = tuple(machine(C, gamma=gamma) for C, gamma in SVM_GRID)
    return MemberSpec(
        name, STANDARD, candidates,
        cost_exponent=2.0, cost_offset=100, max_rows=5_000, numeric=numeric,
    )  # fmt: skip


def _forest(name: str, *, extra_trees: bool = False, numeric: bool = False) -> MemberSpec:
    kind = CompactForestRegressor if numeric else CompactForestClassifier
    forest = kind(N_TREES, extra_trees=extra_trees)
    return OutOfBag(name, STANDARD, (forest,), numeric=numeric)


def _boosting(*, numeric: bool = False) -> MemberSpec:
    library = installed_library()
    return Boosting("boosting", STANDARD, SETTINGS_GRID, numeric=numeric, library=library)


def _catboost(*, numeric: bool = False) -> MemberSpec:
    if not has_catboost():
        require("catboost", "The member 'catboost'", extra="boost",
                otherwise="Or remove it from `members`.")  # fmt: skip
    return Boosting(
        "catboost", STANDARD, (CATBOOST_SETTINGS,),
        n_rounds=N_CATBOOST_ROUNDS_GRID, numeric=numeric, library="catboost",
    )  # fmt: skip


def _strata(*, numeric: bool = False) -> MemberSpec:
    ensemble = StrataEnsembleRegressor() if numeric else StrataEnsembleClassifier()
    return InternalFolds("strata", "rows", (ensemble,), max_rows=MAX_LIBRARY_ROWS, numeric=numeric)


def _subspaces() -> MemberSpec:
    candidates = (JointSubspaceClassifier(5, refine="gate"),)
    return MemberSpec("subspaces", "columns", candidates, max_rows=MAX_LIBRARY_ROWS)


def _network() -> MemberSpec:
    candidates = (InnerBayesNetClassifier(view_size=0.3, arc_confidence=False),)
    return MemberSpec(
        "network", "decisions", candidates, reads=TABLE, max_rows=MAX_LIBRARY_ROWS,
        max_columns=300,  # the structure search compares all pairs of columns
    )  # fmt: skip


def _tree() -> MemberSpec:
    return MemberSpec(
        "tree", "decisions", (InnerTreeRegressor(),),
        max_rows=MAX_LIBRARY_ROWS, reads=TABLE, numeric=True,
    )  # fmt: skip


CLASSIFIERS: dict[str, Callable[[], MemberSpec]] = {
    "svm": _svm,
    "logistic": _logistic,
    "extra-trees": partial(_forest, "extra-trees", extra_trees=True),
    "forest": partial(_forest, "forest"),
    "catboost": _catboost,
    "network": _network,
    "boosting": _boosting,
    "subspaces": _subspaces,
    "strata": _strata,
}
"""In order of gain per second on small data, in which a time budget fits them."""
REGRESSORS: dict[str, Callable[[], MemberSpec]] = {
    "svr": partial(_svm, numeric=True),
    "ridge": _ridge,
    "extra-trees": partial(_forest, "extra-trees", extra_trees=True, numeric=True),
    "forest": partial(_forest, "forest", numeric=True),
    "catboost": partial(_catboost, numeric=True),
    "tree": _tree,
    "boosting": partial(_boosting, numeric=True),
    "strata": partial(_strata, numeric=True),
}

STANDARD_CLASSIFIERS = ("svm", "logistic", "extra-trees", "forest", "boosting", "catboost")
CLASSIFIER_POOLS: dict[str, tuple[str, ...]] = {
    "standard": STANDARD_CLASSIFIERS,
    "lean": (*STANDARD_CLASSIFIERS, "network", "subspaces"),
    "full": (*STANDARD_CLASSIFIERS, "network", "subspaces", "strata"),
    "library": ("network", "subspaces", "strata"),
}
STANDARD_REGRESSORS = ("svr", "ridge", "extra-trees", "forest", "boosting", "catboost")
REGRESSOR_POOLS: dict[str, tuple[str, ...]] = {
    "standard": STANDARD_REGRESSORS,
    "lean": (*STANDARD_REGRESSORS, "tree"),
    "full": (*STANDARD_REGRESSORS, "tree", "strata"),
}


def resolve_members(
    members: Any, *, weighted: bool = False, numeric: bool = False
) -> list[MemberSpec]:
    """Return the specs of a named pool, or of a list of names, estimators and pairs of both.

    A named pool has CatBoost only where it is installed.
    """
    pools = REGRESSOR_POOLS if numeric else CLASSIFIER_POOLS
    if isinstance(members, str):
        if members not in pools:
            raise ValueError(
                f"members={members!r} is unknown.{suggestion(members, pools)} Use one of "
                f"{listing(map(repr, pools))}, or a list of members."
            )
        names = [each for each in pools[members] if each != "catboost" or has_catboost()]
        specs = [_resolve_member(each, numeric) for each in names]
        if any(isinstance(each, Boosting) for each in specs):
            specs = [replace(each, optional=not isinstance(each, Boosting)) for each in specs]
    elif len(members) == 0:
        raise ValueError("members is an empty list; a pool needs at least one member.")
    else:  # a listed member is used with any number of columns and rows
        named = [replace(_resolve_member(each, numeric), max_columns=None) for each in members]
        specs = _with_unique_names(named)
    for each in specs if weighted else ():
        if each.group == USER and fit_parameter(each.candidates[0], "sample_weight") is None:
            raise ValueError(
                f"sample_weight was given, but the member {each.name!r} does not support it. Omit "
                "sample_weight, or remove the member from `members`."
            )
    return specs


def note_of_missing(members: Any, *, numeric: bool = False) -> str:
    """Say what a named pool would gain by a library that is not installed."""
    pools = REGRESSOR_POOLS if numeric else CLASSIFIER_POOLS
    if not isinstance(members, str) or "catboost" not in pools[members] or has_catboost():
        return ""
    return (
        "CatBoost, which comes with the extra `boost`, is not installed: as a further member it "
        "lowered the log loss on 9 of 15 tables, by .2 % in the median and 2 % in the mean."
    )


def _resolve_member(given: Any, numeric: bool) -> MemberSpec:
    known = REGRESSORS if numeric else CLASSIFIERS
    if isinstance(given, str):
        if given not in known:
            raise ValueError(
                f"members holds {given!r}, which is unknown.{suggestion(given, known)} Use one "
                f"of {listing(known)}."
            )
        return known[given]()
    name, estimator = given if isinstance(given, tuple) else (type(given).__name__, given)
    kind = "regressor" if numeric else "classifier"
    usable = hasattr(estimator, "fit") and hasattr(estimator, "predict")
    if not usable or (numeric and is_classifier(estimator)):
        raise TypeError(
            f"members holds {estimator!r}, which is no {kind}. Use names of members, "
            f"{kind}s, or pairs of a name and a {kind}."
        )
    return MemberSpec(str(name), USER, (estimator,), numeric=numeric)


def _with_unique_names(specs: list[MemberSpec]) -> list[MemberSpec]:
    """Append a counter to names that occur more than once."""
    counts, seen = Counter(each.name for each in specs), Counter[str]()
    unique = []
    for each in specs:
        seen[each.name] += 1
        repeated = counts[each.name] > 1
        unique.append(replace(each, name=f"{each.name}-{seen[each.name]}") if repeated else each)
    return unique
