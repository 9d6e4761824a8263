"""What HISS and mixtures share: Gaussians fitted to blocks of rows."""

from __future__ import annotations

import warnings
from abc import ABCMeta, abstractmethod
from numbers import Integral, Real

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.cluster import kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ensemblage.blocks import Block, BlockSource, MemoryBlocks
from ensemblage.kernels import Gaussians, centred_columns, log_densities, make_gaussians
from ensemblage.parallel import CallbackSupportMixin, fit_progress, with_callbacks
from ensemblage.strata._em import EMState, Rule, column_spread, pick_rows, run_em

SEED_ROWS = 10_000
"""Start centres are sought among at most so many rows."""


def start_means(source: BlockSource, weights, init, n_strata: int, random_state) -> np.ndarray:
    """Choose the first centres.

    Parameters
    ----------
    source : BlockSource
        The rows.
    weights : ndarray of shape (n_samples,)
        Rows with no weight are never chosen.
    init : {"k-means++", "random"} or array-like of shape (n_strata, n_features)
        How; an array is taken as it is.
    n_strata : int
        How many.
    random_state : int, RandomState instance or None
        For the draw.

    Returns
    -------
    ndarray of shape (n_strata, n_features)
    """
    if not isinstance(init, str):
        means = check_array(init, dtype=np.float64, input_name="init")
        if means.shape != (n_strata, source.shape[1]):
            raise ValueError(
                f"init has shape {means.shape}; expected one row per stratum and one column per "
                f"feature, {(n_strata, source.shape[1])}."
            )
        return means
    rng = check_random_state(random_state)
    eligible = np.flatnonzero(weights)
    if len(eligible) > SEED_ROWS:
        eligible = np.sort(rng.choice(eligible, SEED_ROWS, replace=False))
    rows = pick_rows(source, eligible)
    if init == "random":
        share = weights[eligible] / weights[eligible].sum()
        chosen = rng.choice(len(rows), n_strata, replace=len(rows) < n_strata, p=share)
        return rows[chosen].astype(np.float64)
    means, _ = kmeans_plusplus(
        rows, min(n_strata, len(rows)), sample_weight=weights[eligible], random_state=rng
    )
    return np.resize(means, (n_strata, rows.shape[1])).astype(np.float64)


def _shaped_covariances(variance, n_strata: int, kind: str, floor: float) -> np.ndarray:
    """One covariance for all strata, in the shape that ``kind`` asks for."""
    variance = np.maximum(variance, floor)
    if kind == "spherical":
        return np.full(n_strata, variance.mean())
    if kind == "diag":
        return np.tile(variance, (n_strata, 1))
    matrix = np.diag(variance)
    return matrix if kind == "tied" else np.tile(matrix, (n_strata, 1, 1))


def _log_affinity(block: Block, centre, gaussians: Gaussians, kind: str):
    return log_densities(centred_columns(block.rows, centre, kind), gaussians, kind)


class GaussianStrata(
    ClassNamePrefixFeaturesOutMixin,
    CallbackSupportMixin,
    TransformerMixin,
    BaseEstimator,
    metaclass=ABCMeta,
):
    """Template of a stratifier with one Gaussian per stratum.

    A subclass says what the first rule of membership is and what follows from one pass.
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        "n_strata": [Interval(Integral, 1, None, closed="left")],
        "covariance_type": [StrOptions({"spherical", "diag", "tied", "full"})],
        "init": [StrOptions({"k-means++", "random"}), "array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "variance_floor": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Find the strata.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to stratify; columns on comparable scales.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights; strata have their sizes in weight.

        Returns
        -------
        self : object
            Fitted stratifier.
        """
        X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        self._check_sizes(len(X))
        source = MemoryBlocks(X, weights)
        centre, variance = column_spread(source)
        self._check_spread(X, variance)
        floor = self.variance_floor * variance.mean() or 1.0
        means = start_means(source, weights, self.init, self.n_strata, self.random_state)
        kind = self.covariance_type
        covariances = _shaped_covariances(variance, self.n_strata, kind, floor)
        with fit_progress(self, "iteration", self.max_iter) as step:
            state = run_em(
                source,
                make_gaussians(means - centre, covariances, kind),
                self._first_rule(),
                self._next_rule,
                weight=weights.sum(), centre=centre, kind=kind, floor=floor,
                max_iter=self.max_iter, tol=self.tol, step=step,
            )  # fmt: skip
        self.means_ = state.gaussians.means + centre
        self.covariances_ = state.gaussians.covariances
        self.objective_path_ = np.array(state.path)
        self.n_iter_ = len(state.path) - 1
        self.converged_ = state.converged
        self._finish(source, state)
        if not state.converged:
            warnings.warn(
                f"{type(self).__name__} stopped after max_iter={self.max_iter} iterations; the "
                f"last gained {state.path[-1] - state.path[-2]:.3g}, more than tol={self.tol}. "
                "Raise max_iter or tol, or scale the columns.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _check_sizes(self, n_samples: int) -> None:
        if self.n_strata > n_samples:
            raise ValueError(
                f"n_strata={self.n_strata} is larger than n_samples={n_samples}. "
                "Ask for fewer strata, or bring more rows."
            )

    def _check_spread(self, X, variance) -> None:
        if not np.isfinite(variance).all():
            raise ValueError(
                f"X holds values as large as {np.abs(X).max():.3g}, whose squares overflow "
                f"{X.dtype}. Scale the columns first, for instance divide X by its largest value."
            )
        constant = np.flatnonzero(variance == 0)
        if len(constant) == 0:
            return
        if len(constant) == len(variance):
            message = "All rows of X are equal, so all strata are the same."
        else:
            names = getattr(self, "feature_names_in_", np.arange(len(variance)))[constant]
            message = f"Columns {names.tolist()} of X are constant and tell strata nothing apart."
        warnings.warn(message, ConvergenceWarning, stacklevel=4)

    @abstractmethod
    def _first_rule(self) -> Rule:
        """Rule of membership to start from."""

    @abstractmethod
    def _next_rule(self, source: BlockSource, moments, rule: Rule) -> Rule:
        """Rule of membership that follows from one pass."""

    @abstractmethod
    def _finish(self, source: BlockSource, state: EMState) -> None:
        """Set ``memberships_`` from the last responsibilities."""

    def log_affinity(self, X):
        """Log density of each row under each stratum's Gaussian.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_strata)
            Log densities.
        """
        return np.concatenate([part.T for part in self._map_rows(X, _log_affinity)])

    def _map_rows(self, X, kernel, *state):
        """Run ``kernel(block, centre, gaussians, kind, *state)`` over new rows."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return MemoryBlocks(X).map(kernel, *self._centred(), *state)

    def _centred(self):
        """Centre, Gaussians around it, and their kind."""
        centre = self.means_.mean(axis=0)
        gaussians = make_gaussians(self.means_ - centre, self.covariances_, self.covariance_type)
        return centre, gaussians, self.covariance_type

    @property
    def _n_features_out(self) -> int:
        return self.memberships_.shape[1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
