"""Many fresh copies of one estimator, each with seeds of its own."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from sklearn.base import clone

from ensemblage.parallel._seeds import seed_owners


class Blueprint:
    """An estimator of which many copies are to be fitted; the estimator given is left as it is.

    ``clone`` and ``get_params`` look up the parameters of all steps anew each time, which takes a
    tenth as long as to fit a small member. Here that is done once, and copies cost little.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> Blueprint(DecisionTreeClassifier(max_depth=2)).build([7])
    DecisionTreeClassifier(max_depth=2, random_state=7)
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = clone(estimator)
        self._owners = seed_owners(self.estimator)
        for owner in self._owners:
            owner.random_state = None  # a generator would be copied each time
        self._shared = _shared_by_clone(estimator, self.estimator)

    @property
    def n_seeds(self) -> int:
        """How many seeds a copy takes."""
        return len(self._owners)

    def build(self, seeds: Sequence[int]) -> Any:
        """Give a fresh copy; one seed for each ``random_state``, in the order of their names."""
        shared = {id(each): each for each in self._shared}
        estimator, owners = deepcopy((self.estimator, self._owners), shared)
        for owner, seed in zip(owners, seeds, strict=True):
            owner.random_state = seed
        return estimator


def _shared_by_clone(estimator: Any, copy: Any) -> list[Any]:
    """List what clones have in common with the original: frozen estimators, and callbacks."""
    theirs, ours = _with_nested(estimator), _with_nested(copy)
    same = [each for name, each in ours.items() if each is theirs.get(name)]
    callbacks = [getattr(each, "_skl_callbacks", None) for each in ours.values()]
    return same + [each for each in callbacks if each is not None]


def _with_nested(estimator: Any) -> dict[str, Any]:
    nested = {"": estimator, **estimator.get_params(deep=True)}
    return {name: each for name, each in nested.items() if hasattr(each, "get_params")}
