"""Checks of the stratifier interface."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import get_tags

N_ROWS = 60


def _rows() -> NDArray[np.float64]:
    from sklearn.datasets import make_blobs  # noqa: PLC0415  slow to import

    rows: NDArray[np.float64] = make_blobs(N_ROWS, n_features=3, centers=4, random_state=0)[0]
    return rows


def _needs_labels(stratifier: Any) -> bool:
    return bool(get_tags(stratifier).target_tags.required)


def _fitted(stratifier: Any, **fit_params: Any) -> Any:
    fresh = clone(stratifier)
    if "random_state" in fresh.get_params():
        fresh.set_params(random_state=0)
    if _needs_labels(fresh):
        fit_params = {"y": np.arange(N_ROWS) % 2, **fit_params}
    return fresh.fit(_rows(), **fit_params)


def _require(condition: Any, rule: str) -> None:
    if not condition:
        raise AssertionError(f"A stratifier must {rule}.")


def check_memberships(stratifier: Any) -> None:
    """Check that ``memberships_`` has one row per sample and entries in [0, 1]."""
    memberships = _fitted(stratifier).memberships_
    two_dimensional = memberships.ndim == 2 and len(memberships) == N_ROWS
    _require(two_dimensional, "set memberships_ of shape (n_samples, n_strata)")
    _require(np.isfinite(memberships).all(), "give finite memberships")
    inside = memberships.min() >= 0 and memberships.max() <= 1
    _require(inside, "keep memberships between 0 and 1")
    _require((memberships.max(axis=0) > 0).all(), "leave no stratum empty")


def check_new_rows(stratifier: Any) -> None:
    """Check that ``transform`` and ``log_affinity`` give one entry per new row and stratum."""
    fitted = _fitted(stratifier)
    shape = (7, fitted.memberships_.shape[1])
    new = _rows()[:7] + 0.1
    memberships, affinity = np.asarray(fitted.transform(new)), fitted.log_affinity(new)
    _require(memberships.shape == shape, "transform new rows to (n_samples, n_strata)")
    _require(affinity.shape == shape, "give log_affinity of shape (n_samples, n_strata)")
    inside = memberships.min() >= 0 and memberships.max() <= 1
    _require(inside, "keep new rows' memberships between 0 and 1")
    _require(np.isfinite(affinity).all(), "give finite log affinities")


def check_labels(stratifier: Any) -> None:
    """Check that y has no effect, or that fit without it fails where tags require it."""
    if _needs_labels(stratifier):
        rejected = _rejects_missing_labels(stratifier)
        _require(rejected, "raise ValueError without the labels that its tags require")
        return
    without = _fitted(stratifier).memberships_
    given = _fitted(stratifier, y=np.arange(N_ROWS) % 2).memberships_
    _require(np.array_equal(without, given), "give the same memberships with and without labels")


def _rejects_missing_labels(stratifier: Any) -> bool:
    try:
        _fitted(stratifier, y=None)
    except ValueError:
        return True
    return False


def check_reproducibility(stratifier: Any) -> None:
    """Check that the same seed gives bit-identical memberships."""
    first, second = _fitted(stratifier), _fitted(stratifier)
    same = first.memberships_.tobytes() == second.memberships_.tobytes()
    _require(same, "give the same memberships for the same random_state")


def check_sample_weight(stratifier: Any) -> None:
    """Check that equal weights have no effect, whatever their value."""
    plain = _fitted(stratifier).memberships_
    weighted = _fitted(stratifier, sample_weight=np.full(N_ROWS, 2.0)).memberships_
    same = np.allclose(plain, weighted, atol=1e-6)
    _require(same, "give the same memberships when all weights are doubled")


def check_feature_names_out(stratifier: Any) -> None:
    """Check that ``get_feature_names_out`` gives one unique name per stratum."""
    fitted = _fitted(stratifier)
    names = fitted.get_feature_names_out()
    _require(len(set(names)) == fitted.memberships_.shape[1], "give each stratum a unique name")


def stratifier_checks() -> Iterator[Callable[[Any], None]]:
    """Give the checks of the stratifier interface, for your own stratifiers.

    Yields
    ------
    callable
        Takes an unfitted stratifier; raises AssertionError if it fails the check.

    Notes
    -----
    ``y`` must have no effect. A stratifier whose tags require ``y``, such as :class:`HISS` with
    ``class_balance``, may use it for ``memberships_`` and must raise ValueError without it.

    Examples
    --------
    >>> from ensemblage.strata import BootstrapStrata, stratifier_checks
    >>> for check in stratifier_checks():
    ...     check(BootstrapStrata(n_strata=3))
    """
    yield check_memberships
    yield check_new_rows
    yield check_labels
    yield check_reproducibility
    yield check_sample_weight
    yield check_feature_names_out
