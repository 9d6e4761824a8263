"""What HISS and mixtures share: Gaussians fitted to blocks of rows."""

from __future__ import annotations

import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
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
from ensemblage.kernels import Kind, Moments, make_gaussians
from ensemblage.parallel import CallbackSupportMixin, fit_progress, with_callbacks
from ensemblage.strata._densities import StrataModel
from ensemblage.strata._em import EMSettings, EMState, Rule, column_spread, pick_rows, run_em

Floats = NDArray[np.floating[Any]]
Doubles = NDArray[np.float64]
T = TypeVar("T")

SEED_ROWS = 10_000
"""Start centres are sought among at most so many rows."""


class TrainingRows(NamedTuple):
    """What a fit was given, checked."""

    X: Floats
    weights: Doubles
    classes: NDArray[np.intp] | None
    """Code of each row's class, where strata look at classes."""


def start_means(
    source: BlockSource, weights: Doubles, init: Any, n_strata: int, random_state: Any
) -> Doubles:
    """Choose the first centres, rows with some weight; an array is taken as it is."""
    if not isinstance(init, str):
        return _given_means(init, (n_strata, source.shape[1]))
    rng = check_random_state(random_state)
    eligible = np.flatnonzero(weights)
    if len(eligible) > SEED_ROWS:
        eligible = np.sort(rng.choice(eligible, SEED_ROWS, replace=False))
    rows = pick_rows(source, eligible)
    if init == "random":
        share = weights[eligible] / weights[eligible].sum()
        chosen = rng.choice(len(rows), n_strata, replace=len(rows) < n_strata, p=share)
        drawn: Doubles = rows[chosen].astype(np.float64)
        return drawn
    means, _ = kmeans_plusplus(
        rows, min(n_strata, len(rows)), sample_weight=weights[eligible], random_state=rng
    )
    return np.resize(means, (n_strata, rows.shape[1])).astype(np.float64)


def _given_means(init: ArrayLike, shape: tuple[int, int]) -> Doubles:
    means: Doubles = check_array(init, dtype=np.float64, input_name="init")
    if means.shape != shape:
        raise ValueError(
            f"init has shape {means.shape}; expected one row per stratum and one column per "
            f"feature, {shape}."
        )
    return means


def start_model(centre: Floats, means: Doubles, variance: Floats, kind: Kind) -> StrataModel:
    """Give each stratum its first mean and the variances of all rows."""
    n_strata = len(means)
    if kind == "spherical":
        covariances = np.full(n_strata, variance.mean())
    elif kind == "diag":
        covariances = np.tile(variance, (n_strata, 1))
    else:
        matrix = np.diag(variance)
        covariances = matrix if kind == "tied" else np.tile(matrix, (n_strata, 1, 1))
    return StrataModel(centre, make_gaussians(means - centre, covariances, kind), kind)


def _log_affinity(block: Block, model: StrataModel) -> Floats:
    return model.log_densities(block.rows).T


class GaussianStrata(
    ClassNamePrefixFeaturesOutMixin,
    CallbackSupportMixin,
    TransformerMixin,
    BaseEstimator,
    metaclass=ABCMeta,
):
    """Template of a stratifier with one Gaussian per stratum.

    A subclass says what the first rule of membership is, what follows from one pass, and what the
    memberships are in the end.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_strata": [Interval(Integral, 1, None, closed="left")],
        "covariance_type": [StrOptions({"spherical", "diag", "tied", "full"})],
        "init": [StrOptions({"k-means++", "random"}), "array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "variance_floor": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    n_strata: int
    covariance_type: Kind
    init: Any
    max_iter: int
    tol: float
    variance_floor: float
    random_state: Any
    memberships_: Floats

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Find the strata.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to stratify; columns on comparable scales.
        y : array-like of shape (n_samples,), default=None
            Ignored, unless strata are to be balanced by class.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights; strata have their sizes in weight.

        Returns
        -------
        self : object
            Fitted stratifier.
        """
        rows = self._check_rows(X, y, sample_weight)
        source = MemoryBlocks(rows.X, rows.weights)
        state = self._run_em(source, rows)
        self.means_ = state.model.gaussians.means + state.model.centre
        self.covariances_ = state.model.gaussians.covariances
        self.objective_path_ = np.array(state.path)
        self.n_iter_ = len(state.path) - 1
        self.converged_ = state.converged
        self._finish(source, state, rows)
        if not state.converged:
            warnings.warn(
                f"{type(self).__name__} stopped after max_iter={self.max_iter} iterations; the "
                f"last gained {state.path[-1] - state.path[-2]:.3g}, more than tol={self.tol}. "
                "Raise max_iter or tol, or scale the columns.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return self

    def _check_rows(self, X: Any, y: Any, sample_weight: Any) -> TrainingRows:
        X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        self._check_sizes(len(X))
        return TrainingRows(X, weights, self._check_classes(X, y))

    def _run_em(self, source: BlockSource, rows: TrainingRows) -> EMState:
        centre, variance = column_spread(source)
        self._check_spread(rows.X, variance)
        floor = self.variance_floor * variance.mean() or 1.0
        means = start_means(source, rows.weights, self.init, self.n_strata, self.random_state)
        model = start_model(centre, means, np.maximum(variance, floor), self.covariance_type)
        settings = EMSettings(rows.weights.sum(), floor, self.max_iter, self.tol)
        with fit_progress(self, "iteration", self.max_iter) as step:
            return run_em(source, model, self._first_rule(), self._next_rule, settings, step)

    def _check_sizes(self, n_samples: int) -> None:
        if self.n_strata > n_samples:
            raise ValueError(
                f"n_strata={self.n_strata} is larger than n_samples={n_samples}. "
                "Ask for fewer strata, or bring more rows."
            )

    def _check_classes(self, X: Floats, y: Any) -> NDArray[np.intp] | None:
        """Codes of the rows' classes where they matter; here they do not."""
        return None

    def _check_spread(self, X: Floats, variance: Floats) -> None:
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
        warnings.warn(message, ConvergenceWarning, stacklevel=6)

    @abstractmethod
    def _first_rule(self) -> Rule:
        """Rule of membership to start from."""

    @abstractmethod
    def _next_rule(self, source: BlockSource, moments: Moments, rule: Rule) -> Rule:
        """Rule of membership that follows from one pass."""

    @abstractmethod
    def _finish(self, source: BlockSource, state: EMState, rows: TrainingRows) -> None:
        """Set ``memberships_`` from the last responsibilities."""

    def log_affinity(self, X: ArrayLike) -> Floats:
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
        check_is_fitted(self)
        return np.concatenate(list(self._map_rows(X, _log_affinity, self._model())))

    def _map_rows(self, X: ArrayLike, kernel: Callable[..., T], *state: Any) -> Iterator[T]:
        """Run ``kernel(block, *state)`` over new rows."""
        rows = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return MemoryBlocks(rows).map(kernel, *state)

    def _model(self) -> StrataModel:
        """Densities of the fitted strata, around the mean of their centres."""
        centre, kind = self.means_.mean(axis=0), self.covariance_type
        gaussians = make_gaussians(self.means_ - centre, self.covariances_, kind)
        return StrataModel(centre, gaussians, kind)

    @property
    def _n_features_out(self) -> int:
        return int(self.memberships_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
