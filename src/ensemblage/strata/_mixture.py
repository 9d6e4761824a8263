"""Strata by a Gaussian mixture."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from ensemblage._core import expect_array, set_module, with_shared
from ensemblage.blocks import Block, BlockSource, lazy_on_dask, of_carries
from ensemblage.strata._gaussian import GAUSSIAN_DOCS, EMState, GaussianStrata, Rule, StrataModel
from ensemblage.strata._gaussian_kernels import Kind, Moments, expectation

Floats = NDArray[np.floating[Any]]

Assignment = Literal["hard", "soft"]


class WeightRules(NamedTuple):
    """Rules under which all rows have a cluster's weight as their membership in it."""

    n_strata: int

    @property
    def first(self) -> Rule:
        """Equal weights."""
        return Rule(np.full((self.n_strata, 1), -np.log(self.n_strata)))

    def following(self, source: BlockSource, moments: Moments, rule: Rule) -> Rule:
        """Weights are the shares of responsibility."""
        # a cluster that nobody belongs to any more keeps a weight whose log is finite
        weights = np.maximum(moments.mass, np.finfo(float).tiny)
        return Rule(np.log(weights / weights.sum())[:, None])


def _to_memberships(log_responsibilities: Floats, assignment: Assignment) -> Floats:
    """Responsibilities, or a one for the most responsible stratum of each row."""
    if assignment == "soft":
        memberships: Floats = np.exp(log_responsibilities).T
        return memberships
    winners = log_responsibilities.argmax(axis=0)
    units = np.eye(len(log_responsibilities), dtype=log_responsibilities.dtype)
    chosen: Floats = units[winners]
    return chosen


@of_carries
def _carried(block: Block, assignment: Assignment) -> tuple[Floats, tuple[()]]:
    carry: Any = block.carry
    return _to_memberships(carry, assignment), ()


def _new_memberships(
    block: Block, model: StrataModel, log_weights: Floats, assignment: Assignment
) -> Floats:
    carry, _ = expectation(block.rows, block.weights, log_weights, *model)
    return _to_memberships(carry, assignment)


@set_module("ensemblage.strata")
@with_shared(GAUSSIAN_DOCS)
class MixtureStrata(GaussianStrata):
    r"""Strata that are the clusters of a Gaussian mixture, disjoint or soft.

    The comparator of the HISS paper's Table 3: clusters come out as large or small as the data
    have it, and each row belongs to one of them.

    Parameters
    ----------
    n_strata : int, default=10
        Number of clusters.
    assignment : {"hard", "soft"}, default="hard"
        Give each row wholly to its most probable cluster, or split it by probability.
    {covariance_type, init, max_iter, tol, variance_floor, random_state}

    Attributes
    ----------
    memberships_ : ndarray of shape (n_samples, n_strata)
        Memberships of the training rows; each row adds up to one.
    weights_ : ndarray of shape (n_strata,)
        Share of the rows that each cluster holds.
    {means_, covariances_, objective_path_, n_iter_, converged_}
    {n_features_in_, feature_names_in_}

    See Also
    --------
    HISS : Strata of equal size that may overlap.

    Notes
    -----
    The likelihood of eq. 1 with :math:`\tau_{ij} = \theta_j`, the clusters' weights (eq. 2), by
    expectation maximisation. Unlike scikit-learn's mixture it takes row weights.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensemblage.strata import MixtureStrata
    >>> strata = MixtureStrata(n_strata=3, random_state=0).fit(load_iris().data)
    >>> strata.memberships_.sum()
    np.float64(150.0)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GaussianStrata._parameter_constraints,  # noqa: SLF001
        "assignment": [StrOptions({"hard", "soft"})],
    }

    def __init__(
        self,
        n_strata: int = 10,
        *,
        assignment: Assignment = "hard",
        covariance_type: Kind = "diag",
        init: Any = "k-means++",
        max_iter: int = 200,
        tol: float = 1e-4,
        variance_floor: float = 1e-2,
        random_state: Any = None,
    ) -> None:
        self.n_strata = n_strata
        self.assignment = assignment
        self.covariance_type = covariance_type
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.variance_floor = variance_floor
        self.random_state = random_state

    def _membership_rules(self, n_samples: int) -> WeightRules:
        return WeightRules(self.n_strata)

    def _finish(
        self, source: BlockSource, state: EMState, classes: NDArray[np.intp] | None
    ) -> None:
        log_weights: Any = state.rule.prior
        self.weights_ = np.exp(log_weights[:, 0])
        memberships, _ = source.collect(_carried, self.assignment)
        if memberships is not None:
            self.memberships_ = memberships

    def _check_fitted(self) -> None:
        super()._check_fitted()
        expect_array(self, "weights_", (self.n_strata,), low=0, high=1 + 1e-6)

    @lazy_on_dask
    def transform(self, X: ArrayLike) -> Floats:
        """Memberships of new rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Dask collection
            Rows.

        Returns
        -------
        ndarray or Dask array of shape (n_samples, n_strata)
            Memberships; each row adds up to one.
        """
        check_is_fitted(self)
        log_weights = np.log(self.weights_)[:, None]
        parts = self._map_rows(X, _new_memberships, self._model(), log_weights, self.assignment)
        return np.concatenate(list(parts))
