"""Members by name, and the named pools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sklearn.base import is_classifier

from ensemblage._core import fit_parameter, listing, require, suggestion
from ensemblage.inner import InnerBayesNetClassifier, InnerTreeRegressor
from ensemblage.pool._boosting import FIVE, Boosting, has_lightgbm
from ensemblage.pool._compact_members import (
    Forest,
    ForestRegressor,
    KernelMachine,
    KernelMachineRegressor,
)
from ensemblage.pool._member_spec import OutOfBag, OwnFolds, Recipe
from ensemblage.strata import (
    ScaledLogisticRegression,
    ScaledRidge,
    StrataEnsembleClassifier,
    StrataEnsembleRegressor,
)
from ensemblage.subspace import JointSubspaceClassifier

N_TREES = 200
GRID = [(C, gamma) for C in (1.0, 10.0, 100.0) for gamma in ("scale", 0.01, 0.1)]
"""Of support vector machines."""


def _logistic() -> Recipe:
    strengths = (0.01, 0.1, 1.0, 10.0, 100.0)
    candidates = tuple(ScaledLogisticRegression(C=C, max_iter=500) for C in strengths)
    return Recipe("logistic", "anchor", candidates)


def _svm() -> Recipe:
    candidates = tuple(KernelMachine(C, gamma=gamma) for C, gamma in GRID)
    return Recipe("svm", "anchor", candidates, growth=2.0, fixed=100, most_rows=5_000)


def _forest() -> Recipe:
    return OutOfBag("forest", "anchor", (Forest(N_TREES),))


def _extra_trees() -> Recipe:
    return OutOfBag("extra-trees", "anchor", (Forest(N_TREES, extra=True),))


def _boosting() -> Recipe:
    return Boosting("boosting", "anchor", FIVE, engine="lightgbm" if has_lightgbm() else "sklearn")


def _catboost() -> Recipe:
    found = require("catboost", "The member 'catboost'", otherwise="Or leave it out of `pool`.")
    quiet = found.CatBoostClassifier(verbose=False, allow_writing_files=False, thread_count=1)
    return Recipe("catboost", "anchor", (quiet,))


def _strata() -> Recipe:
    return OwnFolds("strata", "rows", (StrataEnsembleClassifier(),), most_rows=20_000)


def _subspaces() -> Recipe:
    candidates = (JointSubspaceClassifier(5, refine="gate"),)
    return Recipe("subspaces", "columns", candidates, most_rows=20_000)


def _network() -> Recipe:
    candidates = (InnerBayesNetClassifier(view_size=0.3, arc_confidence=False),)
    # a search for parents compares all pairs of columns
    return Recipe(
        "network", "decisions", candidates, most_rows=20_000, most_columns=300, reads_tables=True
    )


def _ridge() -> Recipe:
    candidates = tuple(ScaledRidge(alpha) for alpha in (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0))
    return Recipe("ridge", "anchor", candidates, numbers=True)


def _svr() -> Recipe:
    candidates = tuple(KernelMachineRegressor(C, gamma=gamma) for C, gamma in GRID)
    return replace(_svm(), name="svr", candidates=candidates, numbers=True)


def _number_forest() -> Recipe:
    return OutOfBag("forest", "anchor", (ForestRegressor(N_TREES),), numbers=True)


def _number_extra_trees() -> Recipe:
    return OutOfBag("extra-trees", "anchor", (ForestRegressor(N_TREES, extra=True),), numbers=True)


def _number_boosting() -> Recipe:
    return replace(_boosting(), numbers=True)


def _number_tree() -> Recipe:
    candidates = (InnerTreeRegressor(),)
    return Recipe(
        "tree", "decisions", candidates, most_rows=20_000, reads_tables=True, numbers=True
    )


def _number_strata() -> Recipe:
    candidates = (StrataEnsembleRegressor(),)
    return OwnFolds("strata", "rows", candidates, most_rows=20_000, numbers=True)


RECIPES: dict[str, Callable[[], Recipe]] = {
    "svm": _svm,
    "logistic": _logistic,
    "extra-trees": _extra_trees,
    "forest": _forest,
    "network": _network,
    "boosting": _boosting,
    "subspaces": _subspaces,
    "strata": _strata,
    "catboost": _catboost,
}
"""By value per second on small data, the best first."""

ANCHORS = ("svm", "logistic", "extra-trees", "forest", "boosting")
POOLS: dict[str, tuple[str, ...]] = {
    "anchors": ANCHORS,
    "lean": (*ANCHORS, "network", "subspaces"),
    "full": (*ANCHORS, "network", "subspaces", "strata"),
    "ours": ("network", "subspaces", "strata"),
}

NUMBER_RECIPES: dict[str, Callable[[], Recipe]] = {
    "svr": _svr,
    "ridge": _ridge,
    "extra-trees": _number_extra_trees,
    "forest": _number_forest,
    "tree": _number_tree,
    "boosting": _number_boosting,
    "strata": _number_strata,
}
"""Members that predict numbers."""

NUMBER_ANCHORS = ("svr", "ridge", "extra-trees", "forest", "boosting")
NUMBER_POOLS: dict[str, tuple[str, ...]] = {
    "anchors": NUMBER_ANCHORS,
    "lean": (*NUMBER_ANCHORS, "tree"),
    "full": (*NUMBER_ANCHORS, "tree", "strata"),
}


def resolve_pool(pool: Any, *, weighted: bool = False, numbers: bool = False) -> list[Recipe]:
    """Make recipes of what the user asks for: a pool's name, or names, estimators and pairs."""
    pools = NUMBER_POOLS if numbers else POOLS
    if isinstance(pool, str):
        if pool not in pools:
            raise ValueError(
                f"pool={pool!r} is not known.{suggestion(pool, pools)} Use one of "
                f"{listing(map(repr, pools))}, or a list of members."
            )
        recipes = [_recipe(each, numbers) for each in pools[pool]]
    elif len(pool) == 0:
        raise ValueError("pool is an empty list; a pool needs a member or more.")
    else:  # who is asked for by name takes part on any number of columns
        asked = [replace(_recipe(each, numbers), most_columns=None) for each in pool]
        recipes = _named_apart(asked)
    for each in recipes if weighted else ():
        _require_weights(each)
    return recipes


def _recipe(given: Any, numbers: bool) -> Recipe:
    """Make a recipe of a name, an estimator, or a pair of a name and an estimator."""
    recipes = NUMBER_RECIPES if numbers else RECIPES
    if isinstance(given, str):
        if given not in recipes:
            raise ValueError(
                f"pool holds {given!r}, which is no member.{suggestion(given, recipes)} There are: "
                f"{listing(recipes)}."
            )
        return recipes[given]()
    name, estimator = given if isinstance(given, tuple) else (type(given).__name__, given)
    kind = "regressor" if numbers else "classifier"
    usable = hasattr(estimator, "fit") and hasattr(estimator, "predict")
    if not usable or (numbers and is_classifier(estimator)):
        raise TypeError(
            f"pool holds {estimator!r}, which is no {kind}. Give names of members, "
            f"{kind}s, or pairs of a name and a {kind}."
        )
    return Recipe(str(name), "given", (estimator,), numbers=numbers)


def _named_apart(recipes: list[Recipe]) -> list[Recipe]:
    """Put numbers after names that several have."""
    counts, met = Counter(each.name for each in recipes), Counter[str]()
    apart = []
    for each in recipes:
        met[each.name] += 1
        again = counts[each.name] > 1
        apart.append(replace(each, name=f"{each.name}-{met[each.name]}") if again else each)
    return apart


def _require_weights(recipe: Recipe) -> None:
    if recipe.place == "given" and fit_parameter(recipe.candidates[0], "sample_weight") is None:
        raise ValueError(
            f"sample_weight was given, but the member {recipe.name!r} takes none. Leave "
            "sample_weight out, or the member out of `pool`."
        )
