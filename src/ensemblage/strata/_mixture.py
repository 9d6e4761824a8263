"""Strata by a Gaussian mixture or K-means."""

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
    m_step,
    make_gaussians,
)

Floats = NDArray[np.floating[Any]]
Assignment = Literal["hard", "soft"]

LLOYD_VARIANCE = 1e-8
"""Variance at which each row belongs to its nearest mean, as a share of the columns' variance."""


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
    KMeansStrata : Clusters by K-means.

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


@set_module("ensemblage.strata")
@with_shared(GAUSSIAN_DOCS)
class KMeansStrata(GaussianStrata):
    r"""Clusters by K-means as strata.

    The clusters that the HISS paper names first beside those of a mixture: each row belongs to the
    cluster with the nearest mean, and cluster sizes depend on the data.

    Parameters
    ----------
    n_strata : int, default=10
        Number of clusters.
    {init, max_iter, random_state}

    Attributes
    ----------
    memberships_ : ndarray of shape (n_samples, n_strata)
        1 for the cluster of a training row, else 0.
    {means_}
    covariances_ : ndarray of shape (n_strata,)
        Mean squared distance to the nearest mean per column, the same for all clusters.
    objective_path_ : ndarray of shape (n_iter_ + 1,)
        Minus the mean squared distance to the nearest mean, at the start and after each iteration;
        it never decreases.
    {n_iter_}
    converged_ : bool
        Whether the last iteration did not move a row.
    {n_features_in_, feature_names_in_}

    See Also
    --------
    MixtureStrata : Clusters of a Gaussian mixture.
    HISS : Strata of equal size that may overlap.

    Notes
    -----
    Lloyd's algorithm, which is the limit of expectation maximisation for a mixture with equal
    weights and one spherical covariance :math:`s^2 I` as :math:`s \to 0`. It is computed as such,
    at a variance of :math:`10^{-8}` times that of the columns; a row that is equally near to
    several means counts for each in equal shares. ``log_affinity`` is the log density at the mean
    squared distance. A cluster that loses all its rows keeps its mean and remains empty.

    Scaling a single column changes the strata; standardise columns of different units. Random draws
    are by position: another order of rows may give other initial means.

    References
    ----------
    R. Jin and H. Liu, "A Novel Approach to Model Generation for Heterogeneous Data
    Classification".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensemblage.strata import KMeansStrata
    >>> strata = KMeansStrata(n_strata=3, random_state=0).fit(load_iris().data)
    >>> strata.memberships_.sum(axis=0)
    array([61., 50., 39.])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: GaussianStrata._parameter_constraints[name]  # noqa: SLF001
        for name in ("n_strata", "init", "max_iter", "random_state")
    }
    covariance_type: CovarianceType = "spherical"
    tol: float = 0.0
    variance_floor: float = LLOYD_VARIANCE

    def __init__(
        self,
        n_strata: int = 10,
        *,
        init: Any = "k-means++",
        max_iter: int = 200,
        random_state: Any = None,
    ) -> None:
        self.n_strata = n_strata
        self.init = init
        self.max_iter = max_iter
        self.random_state = random_state

    def _equal_prior(self) -> MembershipPrior:
        return MembershipPrior(np.full((self.n_strata, 1), -np.log(self.n_strata)))

    def _initial_prior(self, n_samples: int) -> MembershipPrior:
        return self._equal_prior()

    def _update_prior(
        self, source: BlockSource, moments: Moments, prior: MembershipPrior
    ) -> MembershipPrior:
        return prior

    def _initialise(self, source: BlockSource) -> tuple[StrataModel, float]:
        model, floor = super()._initialise(source)
        return self._with_variance(model, floor), floor

    def _update_gaussians(self, moments: Moments, model: StrataModel, floor: float) -> StrataModel:
        return self._with_variance(m_step(moments, model, floor), floor)

    def _with_variance(self, model: StrataModel, variance: float) -> StrataModel:
        covariances = np.full(self.n_strata, variance)
        gaussians = make_gaussians(model.gaussians.means, covariances, self.covariance_type)
        return model._replace(gaussians=gaussians)

    def _finish(
        self,
        source: BlockSource,
        moments: Moments,
        prior: MembershipPrior,
        classes: NDArray[np.intp] | None,
    ) -> None:
        n_features, variance = self.means_.shape[1], self.covariances_[0]
        constant = n_features / 2 * np.log(2 * np.pi * variance) + np.log(self.n_strata)
        # rounding must not make a distance negative
        self.objective_path_ = np.minimum(2 * variance * (self.objective_path_ + constant), 0.0)
        mean_square = -self.objective_path_[-1] / n_features
        self.covariances_ = np.full(self.n_strata, max(mean_square, variance))
        memberships, _ = source.collect(_memberships, "hard")
        if memberships is not None:
            self.memberships_ = memberships

    @lazy_on_dask
    def transform(self, X: ArrayLike) -> Floats:
        """Find the nearest mean of new rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Dask collection
            Rows.

        Returns
        -------
        ndarray or Dask array of shape (n_samples, n_strata)
            1 for the cluster with the nearest mean, else 0.
        """
        check_is_fitted(self)
        state = self._model(), self._equal_prior(), "hard"
        return np.concatenate(list(self._map_rows(X, _new_memberships, *state)))
