"""The members that a pool can have, by name, and the pools that have a name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ensemblage.inner import InnerBayesNetClassifier
from ensemblage.messages import listing, require, suggestion
from ensemblage.parallel import fit_parameter
from ensemblage.pool._boosting import FIVE, Boosting, has_lightgbm
from ensemblage.pool._forest import Forest
from ensemblage.pool._kernel_machine import KernelMachine
from ensemblage.pool._out_of_bag import OutOfBag, OwnFolds
from ensemblage.pool._recipe import Recipe
from ensemblage.strata import ScaledLogisticRegression, StrataEnsembleClassifier
from ensemblage.subspace import JointSubspaceClassifier

N_TREES = 200


def _logistic() -> Recipe:
    strengths = (0.01, 0.1, 1.0, 10.0, 100.0)
    candidates = tuple(ScaledLogisticRegression(C=C, max_iter=500) for C in strengths)
    return Recipe("logistic", "anchor", candidates)


def _svm() -> Recipe:
    grid = [(C, gamma) for C in (1.0, 10.0, 100.0) for gamma in ("scale", 0.01, 0.1)]
    candidates = tuple(KernelMachine(C, gamma=gamma) for C, gamma in grid)
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
    return Recipe("network", "decisions", candidates, most_rows=20_000, reads_tables=True)


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


def resolve_pool(pool: Any, *, weighted: bool = False) -> list[Recipe]:
    """Make recipes of what the user asks for: a pool's name, or names, estimators and pairs."""
    if isinstance(pool, str):
        if pool not in POOLS:
            raise ValueError(
                f"pool={pool!r} is not known.{suggestion(pool, POOLS)} Use one of "
                f"{listing(map(repr, POOLS))}, or a list of members."
            )
        pool = POOLS[pool]
    if len(pool) == 0:
        raise ValueError("pool is an empty list; a pool needs a member or more.")
    recipes = _named_apart([_recipe(each) for each in pool])
    for each in recipes if weighted else ():
        _require_weights(each)
    return recipes


def _recipe(given: Any) -> Recipe:
    """Make a recipe of a name, an estimator, or a pair of a name and an estimator."""
    if isinstance(given, str):
        if given not in RECIPES:
            raise ValueError(
                f"pool holds {given!r}, which is no member.{suggestion(given, RECIPES)} There are: "
                f"{listing(RECIPES)}."
            )
        return RECIPES[given]()
    name, estimator = given if isinstance(given, tuple) else (type(given).__name__, given)
    if not (hasattr(estimator, "fit") and hasattr(estimator, "predict")):
        raise TypeError(
            f"pool holds {estimator!r}, which is no classifier. Give names of members, "
            "classifiers, or pairs of a name and a classifier."
        )
    return Recipe(str(name), "given", (estimator,))


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
