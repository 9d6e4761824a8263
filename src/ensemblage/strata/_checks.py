"""Checks of the stratifier contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import get_tags

N_ROWS = 60


def _rows() -> NDArray[np.float64]:
    from sklearn.datasets import make_blobs  # noqa: PLC0415  its readers of files take a while

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


def _require(condition: Any, promise: str) -> None:
    if not condition:
        raise AssertionError(f"A stratifier must {promise}.")


def check_memberships_are_shares(stratifier: Any) -> None:
    """Check that ``memberships_`` has one row per sample and entries in [0, 1]."""
    memberships = _fitted(stratifier).memberships_
    _require(memberships.ndim == 2 and len(memberships) == N_ROWS, "set memberships_ row by row")
    _require(np.isfinite(memberships).all(), "give finite memberships")
    inside = memberships.min() >= 0 and memberships.max() <= 1
    _require(inside, "keep memberships between 0 and 1")
    _require((memberships.max(axis=0) > 0).all(), "leave no stratum empty")


def check_new_rows_have_memberships(stratifier: Any) -> None:
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


def check_labels_count_only_where_required(stratifier: Any) -> None:
    """Check that y changes nothing, or that there is no fit without the y that tags require."""
    if _needs_labels(stratifier):
        _require(_refuses(stratifier), "refuse to fit without the labels that its tags require")
        return
    without = _fitted(stratifier).memberships_
    given = _fitted(stratifier, y=np.arange(N_ROWS) % 2).memberships_
    _require(np.array_equal(without, given), "find its strata without labels")


def _refuses(stratifier: Any) -> bool:
    try:
        _fitted(stratifier, y=None)
    except ValueError:
        return True
    return False


def check_the_seed_decides(stratifier: Any) -> None:
    """Check that the same seed gives the same bits."""
    first, second = _fitted(stratifier), _fitted(stratifier)
    same = first.memberships_.tobytes() == second.memberships_.tobytes()
    _require(same, "give the same memberships for the same random_state")


def check_weights_are_taken(stratifier: Any) -> None:
    """Check that equal weights change nothing, whatever their unit."""
    plain = _fitted(stratifier).memberships_
    weighted = _fitted(stratifier, sample_weight=np.full(N_ROWS, 2.0)).memberships_
    same = np.allclose(plain, weighted, atol=1e-6)
    _require(same, "give the same memberships when all weights are doubled")


def check_names_come_out(stratifier: Any) -> None:
    """Check that each stratum has a name."""
    fitted = _fitted(stratifier)
    names = fitted.get_feature_names_out()
    _require(len(set(names)) == fitted.memberships_.shape[1], "name its strata")


def stratifier_checks() -> Iterator[Callable[[Any], None]]:
    """Give the checks of the stratifier's contract.

    Yields
    ------
    callable
        Takes a stratifier that is not fitted; raises AssertionError if a promise is broken.

    Notes
    -----
    Strata are found without labels: ``y`` changes nothing. A stratifier whose tags say that ``y``
    is required, such as :class:`HISS` with ``class_balance``, may use it for ``memberships_`` and
    must refuse to fit without it.

    Examples
    --------
    >>> from ensemblage.strata import BootstrapStrata, stratifier_checks
    >>> for check in stratifier_checks():
    ...     check(BootstrapStrata(n_strata=3))
    """
    yield check_memberships_are_shares
    yield check_new_rows_have_memberships
    yield check_labels_count_only_where_required
    yield check_the_seed_decides
    yield check_weights_are_taken
    yield check_names_come_out
