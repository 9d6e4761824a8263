"""Strata by a Gaussian mixture."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ensemblage._core import StrOptions, expect_array, set_module, with_shared
from ensemblage.blocks import Block, BlockSource, lazy_on_dask, state_only
from ensemblage.strata._gaussian import GAUSSIAN_DOCS, GaussianStrata
from ensemblage.strata._gaussian_kernels import (
    CovarianceType,
    MembershipPrior,
    Moments,
    StrataModel,
    e_step,
)

Floats = NDArray[np.floating[Any]]
Assignment = Literal["hard", "soft"]


@state_only
def _memberships(block: Block, assignment: Assignment) -> tuple[Floats, tuple[()]]:
    """Responsibilities, or 1 for the stratum with the highest responsibility of each row."""
    log_resp: Any = block.state
    if assignment == "soft":
        return np.exp(log_resp).T, ()
    units = np.eye(len(log_resp), dtype=log_resp.dtype)
    return units[log_resp.argmax(axis=0)], ()


def _new_memberships(
    block: Block, model: StrataModel, prior: MembershipPrior, assignment: Assignment
) -> Floats:
    log_resp, _ = e_step(block, model, prior)
    return _memberships(block._replace(state=log_resp), assignment)[0]


@set_module("ensemblage.strata")
@with_shared(GAUSSIAN_DOCS)
class MixtureStrata(GaussianStrata):
    r"""Clusters of a Gaussian mixture as strata, with hard or soft assignment.

    The baseline of the HISS paper's Table 3: cluster sizes depend on the data, and each row belongs
    to one cluster.

    Parameters
    ----------
    n_strata : int, default=10
        Number of clusters.
    assignment : {"hard", "soft"}, default="hard"
        Assign each row to its most probable cluster, or to all clusters by probability.
    {covariance_type, init, max_iter, tol, variance_floor, random_state}

    Attributes
    ----------
    memberships_ : ndarray of shape (n_samples, n_strata)
        Memberships of the training rows; each row sums to one.
    weights_ : ndarray of shape (n_strata,)
        Mixture weights.
    {means_, covariances_, objective_path_, n_iter_, converged_}
    {n_features_in_, feature_names_in_}

    See Also
    --------
    HISS : Strata of equal size that may overlap.

    Notes
    -----
    Maximises the likelihood of eq. 1 with :math:`\tau_{ij} = \theta_j`, the mixture weights
    (eq. 2), by expectation maximisation. Unlike scikit-learn's mixture it takes row weights.

    Scaling a single column changes the strata; standardise columns of different units. Random draws
    are by position: another order of rows may give other initial means.

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
        covariance_type: CovarianceType = "diag",
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

    def _initial_prior(self, n_samples: int) -> MembershipPrior:
        return MembershipPrior(np.full((self.n_strata, 1), -np.log(self.n_strata)))

    def _update_prior(
        self, source: BlockSource, moments: Moments, prior: MembershipPrior
    ) -> MembershipPrior:
        # an empty cluster keeps a weight whose log is finite
        weights = np.maximum(moments.mass, np.finfo(float).tiny)
        return MembershipPrior(np.log(weights / weights.sum())[:, None])

    def _finish(
        self,
        source: BlockSource,
        moments: Moments,
        prior: MembershipPrior,
        classes: NDArray[np.intp] | None,
    ) -> None:
        log_weights: Any = prior.log_memberships
        self.weights_ = np.exp(log_weights[:, 0])
        memberships, _ = source.collect(_memberships, self.assignment)
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
            Memberships; each row sums to one.
        """
        check_is_fitted(self)
        prior = MembershipPrior(np.log(self.weights_)[:, None])
        parts = self._map_rows(X, _new_memberships, self._model(), prior, self.assignment)
        return np.concatenate(list(parts))
