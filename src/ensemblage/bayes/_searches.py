"""The searches by name, and where one of them starts."""

from __future__ import annotations

from typing import Any

from ensemblage.bayes._arc_constraints import arc_rules, check_order, check_parents
from ensemblage.bayes._coding import Training
from ensemblage.bayes._hill_climbing import hill_climbing, tabu_search
from ensemblage.bayes._k2_search import GLOBAL_CRITERIA, TREE_CRITERION, k2_search
from ensemblage.bayes._search_space import ArcRules, Search, SearchSpace
from ensemblage.bayes._tree_augmented import tree_augmented

SEARCHES: dict[str, Search] = {
    "k2": k2_search,
    "tan": tree_augmented,
    "hill-climbing": hill_climbing,
    "tabu": tabu_search,
}


def plan_search(estimator: Any, training: Training) -> SearchSpace:
    """Read a classifier's parameters of the search, and refuse what contradicts its columns."""
    names, constraints = training.names, estimator.constraints
    rules = ArcRules.free(len(names)) if constraints is None else arc_rules(constraints, names)
    limit = len(names) if estimator.max_parents is None else estimator.max_parents
    check_parents(rules, limit, estimator.search == "tan", names)
    if estimator.order is None:
        order = rules.default_order()
    else:
        order = training.resolve_order(estimator.order)
        if estimator.search == "k2":
            check_order(rules, order, names)
    local = criterion_of(estimator) not in GLOBAL_CRITERIA
    return SearchSpace(order, estimator.init, limit, rules, local)


def criterion_of(estimator: Any) -> str:
    """Tell what candidates are judged by; a tree between the features has its own criterion."""
    return TREE_CRITERION if estimator.search == "tan" else str(estimator.criterion)
