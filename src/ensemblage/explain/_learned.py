"""What a fitted model learned, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

# Longer lists of a network's nodes are cut short.
MANY_NODES = 8


def what_was_learned(model: Pipeline) -> list[str]:
    """Describe a fitted model.

    Parameters
    ----------
    model : Pipeline
        As ``make_model`` makes it, fitted.

    Returns
    -------
    list of str
        A line each.
    """
    estimator = model[-1]
    width = len(model[:-1].get_feature_names_out())
    lines = [f"{_count(model.n_features_in_, 'column')}, encoded as {_count(width, 'feature')}"]
    for describe in (_chosen, _trees, _rounds, _strata, _subspace, _network):
        lines.extend(describe(estimator))
    return lines


def _chosen(estimator: Any) -> Iterator[str]:
    best = getattr(estimator, "best_params_", {})
    if best:
        text = ", ".join(
            f"{name} = {value:g}" if isinstance(value, float) else f"{name} = {value}"
            for name, value in best.items()
        )
        yield f"chosen by inner folds: {text}"


def _trees(estimator: Any) -> Iterator[str]:
    trees = getattr(estimator, "estimators_", None)
    if trees is not None and all(hasattr(tree, "get_depth") for tree in trees):
        depth = np.mean([tree.get_depth() for tree in trees])
        yield f"{len(trees)} trees, {depth:.1f} levels deep on average"


def _rounds(estimator: Any) -> Iterator[str]:
    if hasattr(estimator, "n_trees_per_iteration_"):
        yield f"{estimator.n_iter_} boosting rounds"


def _strata(estimator: Any) -> Iterator[str]:
    ensemble = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not hasattr(ensemble, "stratifier_"):
        return
    memberships = ensemble.stratifier_.memberships_
    sizes = ensemble.member_sizes_
    lasts = [each[-1] if isinstance(each, Pipeline) else each for each in ensemble.estimators_]
    kinds = Counter(type(member).__name__ for member in lasts)
    # A stratum of one class has a constant member; the others are what was asked for.
    member = max(kinds, key=lambda kind: (kind != "DummyClassifier", kinds[kind]))
    yield f"{len(sizes)} strata of {_range(sizes)} of the {len(memberships)} rows"
    often = (memberships > 0.5).sum(axis=1)
    yield f"a row is in {_range(often)} strata, {int((often == 0).sum())} rows are in none"
    yield f"one {member} per stratum, fused by {type(ensemble.fusion_).__name__.lower()}"
    if len(ensemble.constant_strata_):
        n_constant = len(ensemble.constant_strata_)
        yield f"{n_constant} of {ensemble.n_strata_} strata hold one class only"


def _network(estimator: Any) -> Iterator[str]:
    parents = getattr(estimator, "parents_", None)
    if parents is None:
        return
    arrows = sum(map(len, parents.values()))
    yield f"a network of {_count(len(parents), 'node')} and {_count(arrows, 'arrow')}"
    linked = {node: names for node, names in parents.items() if len(names) > 1}
    for node, names in list(linked.items())[:MANY_NODES]:
        yield f"{node} depends on {' and '.join(names)}"
    if len(linked) > MANY_NODES:
        yield f"and {len(linked) - MANY_NODES} more nodes with two parents or more"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _subspace(estimator: Any) -> Iterator[str]:
    if not hasattr(estimator, "co_selection_"):
        return
    sizes = estimator.supports_.sum(axis=1)
    fused = estimator.fusion_
    name = fused if isinstance(fused, str) else type(fused).__name__.lower()
    yield f"{len(sizes)} members on {_range(sizes)} features each, fused by {name}"
    always = int((np.diag(estimator.co_selection_) == 1).sum())
    yield f"{_count(always, 'feature')} {'is' if always == 1 else 'are'} used by every member"


def _range(counts: np.ndarray) -> str:
    low, high = int(counts.min()), int(counts.max())
    return str(low) if low == high else f"{low} to {high}"
