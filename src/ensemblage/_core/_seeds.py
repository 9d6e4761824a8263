"""Seeds for members, views and blocks, drawn in advance; cross-validation folds."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state


def draw_seeds(random_state: Any, count: int) -> list[int]:
    """Draw independent seeds, which do not depend on the number of workers.

    They are valid for ``random_state`` of any scikit-learn estimator.
    """
    entropy = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=4)
    states = np.random.SeedSequence(entropy.astype(np.uint32)).generate_state(count)
    return [int(state >> 1) for state in states]


def draw_seeds_each(seeds: Sequence[int], counts: Sequence[int]) -> list[list[int]]:
    """Draw seeds from many seeds: :func:`draw_seeds` for each, but faster."""
    generator = np.random.RandomState(0)
    drawn = []
    for seed, count in zip(seeds, counts, strict=True):
        generator.seed(seed)  # creating a new generator is slow
        drawn.append(draw_seeds(generator, count))
    return drawn


def seed_owners(estimator: Any) -> list[Any]:
    """List the estimators that have a ``random_state``, nested ones included, by parameter name."""
    params = {"": estimator, **estimator.get_params(deep=True)}
    names = sorted(
        name for name in params if name == "random_state" or name.endswith("__random_state")
    )
    return [params[name.removesuffix("random_state").removesuffix("__")] for name in names]


def set_seed(estimator: Any, seed: int) -> Any:
    """Set every ``random_state`` of an estimator, nested ones included, in place: pass a clone."""
    owners = seed_owners(estimator)
    for owner, own in zip(owners, draw_seeds(seed, len(owners)), strict=True):
        # faster than set_params
        owner.random_state = own
    return estimator


class EstimatorTemplate:
    """An estimator of which many copies are fitted; the given estimator is not changed.

    ``clone`` and ``get_params`` look up the parameters of all steps each time, which takes a tenth
    of the fit of a small member. Here that is done once.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> EstimatorTemplate(DecisionTreeClassifier(max_depth=2)).build([7])
    DecisionTreeClassifier(max_depth=2, random_state=7)
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = clone(estimator)
        self._owners = seed_owners(self.estimator)
        for owner in self._owners:
            owner.random_state = None  # avoids copies of a generator
        self.n_seeds = len(self._owners)  # seeds per copy
        self._shared = _shared_by_clone(estimator, self.estimator)

    def build(self, seeds: Sequence[int]) -> Any:
        """Build an unfitted copy; one seed per ``random_state``, in the order of their names."""
        shared = {id(each): each for each in self._shared}
        estimator, owners = deepcopy((self.estimator, self._owners), shared)
        for owner, seed in zip(owners, seeds, strict=True):
            owner.random_state = seed
        return estimator


def _shared_by_clone(estimator: Any, copy: Any) -> list[Any]:
    """List objects that clones share with the original: frozen estimators and callbacks."""
    theirs, ours = _with_nested(estimator), _with_nested(copy)
    same = [each for name, each in ours.items() if each is theirs.get(name)]
    callbacks = [getattr(each, "_skl_callbacks", None) for each in ours.values()]
    return same + [each for each in callbacks if each is not None]


def _with_nested(estimator: Any) -> dict[str, Any]:
    nested = {"": estimator, **estimator.get_params(deep=True)}
    return {name: each for name, each in nested.items() if hasattr(each, "get_params")}


Indices = NDArray[np.intp]


class Fold(NamedTuple):
    """Row indices of a fold."""

    train: Indices
    test: Indices


def make_folds(
    y: Any, n_folds: int, seed: int | np.random.RandomState, groups: Any = None
) -> list[Fold]:
    """Shuffled stratified folds; rows of a group are in the same fold.

    The number of folds is at most the number of groups. A class with fewer rows than folds is
    missing from some test folds, without a warning.
    """
    # imported here, so that workers that only draw seeds start faster
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold  # noqa: PLC0415

    splitter: Any = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    if groups is not None:
        n_groups = len(np.unique(groups))
        if n_groups < 2:
            raise ValueError(f"groups has {n_groups} group; at least two are required.")
        splitter = StratifiedGroupKFold(min(n_folds, n_groups), shuffle=True, random_state=seed)
    elif np.unique(y, return_counts=True)[1].max() < n_folds:
        raise ValueError(
            f"No class has {n_folds} rows, as {n_folds} folds require. Use more rows of each "
            "class, or fewer folds."
        )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        return [Fold(*parts) for parts in splitter.split(np.zeros(len(y)), y, groups)]


def deal_folds(labels: Indices, n_folds: int, rng: np.random.Generator) -> list[Fold]:
    """Stratified folds whose sizes differ by at most one.

    Unlike :func:`make_folds` this supports classes of any size.
    """
    order = rng.permutation(labels.size)
    order = order[np.argsort(labels[order], kind="stable")]
    fold_of_row = np.empty(labels.size, dtype=int)
    fold_of_row[order] = np.arange(labels.size) % n_folds
    folds = range(min(n_folds, labels.size))
    return [Fold(np.flatnonzero(fold_of_row != k), np.flatnonzero(fold_of_row == k)) for k in folds]
