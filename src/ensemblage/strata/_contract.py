"""What every stratifier promises, as checks that anybody can run on their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_blobs


def _rows():
    return make_blobs(60, n_features=3, centers=4, random_state=0)[0]


def _fitted(stratifier, X=None, **fit_params):
    fresh = clone(stratifier)
    if "random_state" in fresh.get_params():
        fresh.set_params(random_state=0)
    return fresh.fit(_rows() if X is None else X, **fit_params)


def _require(condition, promise: str) -> None:
    if not condition:
        raise AssertionError(f"A stratifier must {promise}.")


def check_memberships_are_shares(stratifier) -> None:
    """Check that ``memberships_`` has one row per sample and entries in [0, 1].

    Parameters
    ----------
    stratifier : stratifier
        Not fitted.
    """
    memberships = _fitted(stratifier).memberships_
    _require(memberships.ndim == 2 and len(memberships) == 60, "set memberships_ row by row")
    _require(np.isfinite(memberships).all(), "give finite memberships")
    inside = memberships.min() >= 0 and memberships.max() <= 1
    _require(inside, "keep memberships between 0 and 1")
    _require((memberships.max(axis=0) > 0).all(), "leave no stratum empty")


def check_new_rows_have_memberships(stratifier) -> None:
    """Check that ``transform`` and ``log_affinity`` give one entry per new row and stratum.

    Parameters
    ----------
    stratifier : stratifier
        Not fitted.
    """
    fitted = _fitted(stratifier)
    shape = (7, fitted.memberships_.shape[1])
    new = _rows()[:7] + 0.1
    memberships, affinity = np.asarray(fitted.transform(new)), fitted.log_affinity(new)
    _require(memberships.shape == shape, "transform new rows to (n_samples, n_strata)")
    _require(affinity.shape == shape, "give log_affinity of shape (n_samples, n_strata)")
    inside = memberships.min() >= 0 and memberships.max() <= 1
    _require(inside, "keep new rows' memberships between 0 and 1")
    _require(np.isfinite(affinity).all(), "give finite log affinities")


def check_labels_are_not_used(stratifier) -> None:
    """Check that y changes nothing.

    Parameters
    ----------
    stratifier : stratifier
        Not fitted.
    """
    without = _fitted(stratifier).memberships_
    given = _fitted(stratifier, y=np.arange(60) % 2).memberships_
    _require(np.array_equal(without, given), "find its strata without labels")


def check_the_seed_decides(stratifier) -> None:
    """Check that the same seed gives the same bits.

    Parameters
    ----------
    stratifier : stratifier
        Not fitted.
    """
    first, second = _fitted(stratifier), _fitted(stratifier)
    same = first.memberships_.tobytes() == second.memberships_.tobytes()
    _require(same, "give the same memberships for the same random_state")


def check_weights_are_taken(stratifier) -> None:
    """Check that equal weights change nothing, whatever their unit.

    Parameters
    ----------
    stratifier : stratifier
        Not fitted.
    """
    plain = _fitted(stratifier).memberships_
    weighted = _fitted(stratifier, sample_weight=np.full(60, 2.0)).memberships_
    same = np.allclose(plain, weighted, atol=1e-6)
    _require(same, "give the same memberships when all weights are doubled")


def check_names_come_out(stratifier) -> None:
    """Check that each stratum has a name.

    Parameters
    ----------
    stratifier : stratifier
        Not fitted.
    """
    fitted = _fitted(stratifier)
    names = fitted.get_feature_names_out()
    _require(len(set(names)) == fitted.memberships_.shape[1], "name its strata")


def stratifier_checks() -> Iterator[Callable]:
    """Give the checks of the stratifier's contract.

    Yields
    ------
    callable
        Takes a stratifier that is not fitted; raises AssertionError if a promise is broken.

    Examples
    --------
    >>> from ensemblage.strata import BootstrapStrata, stratifier_checks
    >>> for check in stratifier_checks():
    ...     check(BootstrapStrata(n_strata=3))
    """
    yield check_memberships_are_shares
    yield check_new_rows_have_memberships
    yield check_labels_are_not_used
    yield check_the_seed_decides
    yield check_weights_are_taken
    yield check_names_come_out
