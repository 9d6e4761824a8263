"""What a fitted model learned, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline


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
    for describe in (_chosen, _trees, _rounds, _strata):
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
    kinds = Counter(type(member).__name__ for member in ensemble.estimators_)
    # A stratum of one class has a constant member; the others are what was asked for.
    member = max(kinds, key=lambda kind: (kind != "DummyClassifier", kinds[kind]))
    yield f"{len(sizes)} strata of {_range(sizes)} of the {len(memberships)} rows"
    often = (memberships > 0.5).sum(axis=1)
    yield f"a row is in {_range(often)} strata, {int((often == 0).sum())} rows are in none"
    yield f"one {member} per stratum, fused by {type(ensemble.fusion_).__name__.lower()}"
    if len(ensemble.constant_strata_):
        yield f"{len(ensemble.constant_strata_)} strata hold one class only"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _range(counts: np.ndarray) -> str:
    low, high = int(counts.min()), int(counts.max())
    return str(low) if low == high else f"{low} to {high}"
