"""Base class of HISS and the Gaussian mixture: initialisation, EM, log densities."""

from __future__ import annotations

import os
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import suppress
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.cluster import kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.validation import check_is_fitted

from ensemblage._core import (
    CallbackSupportMixin,
    DocLinkMixin,
    Interval,
    StrOptions,
    expect_array,
    expect_fitted,
    fit_context,
    fit_progress,
    guarded_fit,
    read_weights,
    refuse_missing_targets,
    validate_numbers,
    warn_user,
    with_callbacks,
)
from ensemblage.blocks import (
    Block,
    BlockSource,
    MemoryBlocks,
    column_range,
    is_source,
    lazy_on_dask,
    note_columns,
    open_blocks,
    pick_rows,
)
from ensemblage.strata._gaussian_kernels import (
    CovarianceType,
    MembershipPrior,
    Moments,
    StrataModel,
    clip_far_rows,
    e_step,
    log_density_block,
    m_step,
    make_gaussians,
)

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

Doubles = NDArray[np.float64]
Floats = NDArray[np.floating[Any]]
T = TypeVar("T")

MAX_INIT_ROWS = 10_000
"""Number of rows among which the initial means are chosen."""
MAX_PERMUTED_ROWS = 1_000_000
"""Number of rows above which sampling avoids a permutation of all rows."""

GAUSSIAN_DOCS = r"""
covariance_type : {"spherical", "diag", "tied", "full"}, default="diag"
    Covariance parameters, as in :class:`sklearn.mixture.GaussianMixture`.
init : {"k-means++", "random"} or array-like of shape (n_strata, n_features), \
        default="k-means++"
    Initial means: by k-means++, random rows, or given.
max_iter : int, default=200
    Maximum number of iterations.
tol : float, default=1e-4
    Convergence threshold: smallest gain of the mean log likelihood per iteration.
variance_floor : float, default=1e-2
    Lower bound on variances, as a share of the columns' mean variance.
random_state : int, RandomState instance or None, default=None
    For the initial means.
means_ : ndarray of shape (n_strata, n_features)
    Means of the Gaussians.
covariances_ : ndarray
    Shaped as in :class:`sklearn.mixture.GaussianMixture`.
objective_path_ : ndarray of shape (n_iter_ + 1,)
    Mean log likelihood at the start and after each iteration; it never decreases.
n_iter_ : int
    Number of iterations.
converged_ : bool
    Whether the last iteration gained no more than ``tol``.
n_features_in_ : int
    Number of columns seen in ``fit``.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the columns, where they all have one.
"""


def available_memory() -> float:
    """Bytes of the machine's memory, or the limit of this process if that is less."""
    machine = process = float("inf")
    with suppress(AttributeError, ValueError, OSError):  # not on Windows
        machine = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    if resource is not None:
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        process = process if limit == resource.RLIM_INFINITY else float(limit)
    return min(machine, process)


def column_moments(source: BlockSource) -> tuple[Floats, Floats]:
    """Mean and variance of each column; variances are not finite where squares overflow.

    The mean is rounded to the rows' dtype, so that equal rows have variance zero.
    """
    weight, sums = source.reduce(_column_sums)
    mean = (sums / weight).astype(source.dtype).astype(np.float64)
    (squares,) = source.reduce(_column_squares, mean)
    return mean, squares / weight


def _column_sums(block: Block) -> tuple[Any, Floats]:
    with np.errstate(over="ignore", invalid="ignore"):
        return block.weights.sum(), block.weights @ block.rows


def _column_squares(block: Block, mean: Floats) -> tuple[Floats]:
    # in the rows' own dtype, as the densities will be
    with np.errstate(over="ignore", invalid="ignore"):
        return (block.weights @ (block.rows - mean.astype(block.rows.dtype)) ** 2,)


def initial_means(source: BlockSource, init: Any, n_strata: int, random_state: Any) -> Doubles:
    """Choose initial means among rows with positive weight, or return the given array."""
    if not isinstance(init, str):
        means: Doubles = check_array(init, dtype=np.float64, input_name="init")
        if means.shape != (n_strata, source.shape[1]):
            raise ValueError(
                f"init has shape {means.shape}; expected (n_strata, n_features) = "
                f"{(n_strata, source.shape[1])}."
            )
        return means
    rng = check_random_state(random_state)
    eligible = _draw_eligible(source.weights, rng)
    rows, weights = pick_rows(source, eligible), source.weights[eligible]
    if init == "random":
        share = weights / weights.sum()
        chosen = rng.choice(len(rows), n_strata, replace=len(rows) < n_strata, p=share)
        drawn: Doubles = rows[chosen].astype(np.float64)
        return drawn
    n_drawn = min(n_strata, len(rows))
    # squares of rows far from zero would lose their differences
    _, found = kmeans_plusplus(rows - rows[0], n_drawn, sample_weight=weights, random_state=rng)
    return np.resize(rows[found], (n_strata, rows.shape[1])).astype(np.float64)


def _draw_eligible(weights: Doubles, rng: np.random.RandomState) -> NDArray[np.intp]:
    """Draw indices of at most MAX_INIT_ROWS rows with positive weight, in ascending order."""
    n_eligible = np.count_nonzero(weights)
    if n_eligible <= MAX_INIT_ROWS:
        return np.flatnonzero(weights)
    if n_eligible <= MAX_PERMUTED_ROWS:
        drawn = rng.choice(n_eligible, MAX_INIT_ROWS, replace=False)
    else:
        drawn = sample_without_replacement(n_eligible, MAX_INIT_ROWS, random_state=rng)
    drawn = np.sort(drawn)
    return drawn if n_eligible == len(weights) else np.flatnonzero(weights)[drawn]


def initial_gaussians(
    centre: Floats, means: Doubles, variance: Floats, covariance_type: CovarianceType
) -> StrataModel:
    """Make initial Gaussians from the given means and the variances of all rows."""
    n_strata = len(means)
    if covariance_type == "spherical":
        covariances = np.full(n_strata, variance.mean())
    elif covariance_type == "diag":
        covariances = np.tile(variance, (n_strata, 1))
    else:
        matrix = np.diag(variance)
        covariances = matrix if covariance_type == "tied" else np.tile(matrix, (n_strata, 1, 1))
    gaussians = make_gaussians(means - centre, covariances, covariance_type)
    return StrataModel(centre, gaussians, covariance_type)


class GaussianStrata(
    ClassNamePrefixFeaturesOutMixin,
    CallbackSupportMixin,
    TransformerMixin,
    DocLinkMixin,
    BaseEstimator,
    metaclass=ABCMeta,
):
    """Base class of stratifiers with one Gaussian per stratum.

    A subclass defines the prior of the memberships in each pass, and the final memberships.
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
    covariance_type: CovarianceType
    init: Any
    max_iter: int
    tol: float
    variance_floor: float
    random_state: Any
    memberships_: Floats
    class_balance: bool = False
    """Whether memberships depend on classes; a parameter of HISS."""

    @guarded_fit
    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Find the strata.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, Dask collection or BlockSource
            Rows, with columns on comparable scales. A ``.npy`` or Parquet file, or rows on a
            cluster, are not loaded into memory; ``memberships_`` is then not set
            (:func:`ensemblage.blocks.open_blocks` takes a file to write it to).
        y : array-like of shape (n_samples,), default=None
            Ignored, unless strata are balanced by class.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights; sizes of strata are sums of weights.

        Returns
        -------
        self : object
            Fitted stratifier.
        """
        source, classes = self._read_rows(X, y, sample_weight)
        prior = self._initial_prior(source.shape[0])
        self.__dict__.pop("memberships_", None)  # those of an earlier fit
        with source:
            model, floor = self._initialise(source)
            weight = source.weights.sum()
            with fit_progress(self, "iteration", self.max_iter) as step:
                # the source keeps the log responsibilities as its state
                moments = source.reduce_with_state(e_step, model, prior)
                path = [moments.log_likelihood / weight]
                for _ in range(self.max_iter):
                    model = self._update_gaussians(moments, model, floor)
                    prior = self._update_prior(source, moments, prior)
                    moments = source.reduce_with_state(e_step, model, prior)
                    path.append(moments.log_likelihood / weight)
                    gain = path[-1] - path[-2]
                    self.converged_ = not gain > self.tol
                    if step() or self.converged_:
                        break
            self.means_ = model.gaussians.means + model.centre
            self.covariances_ = model.gaussians.covariances
            self.objective_path_ = np.array(path)
            self.n_iter_ = len(path) - 1
            self._finish(source, moments, prior, classes)
        if not self.converged_:
            remedy = "max_iter or tol" if "tol" in self.get_params() else "max_iter"
            warn_user(
                f"{type(self).__name__} did not converge after max_iter={self.max_iter} "
                f"iterations; the last gain was {gain:.3g}, more than tol={self.tol}. "
                f"Increase {remedy}, or scale the columns.",
                ConvergenceWarning,
            )
        return self

    def _read_rows(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[BlockSource, NDArray[np.intp] | None]:
        if is_source(X):
            source = open_blocks(X)
            note_columns(self, source, min_rows=2)
        else:
            checks: Any = {"dtype": [np.float64, np.float32], "ensure_min_samples": 2}
            source = MemoryBlocks(validate_numbers(self, X, **checks))
        n_samples, like = source.shape[0], source.placeholder
        weights = None if sample_weight is None else read_weights(sample_weight, like)
        if self.n_strata > n_samples:
            raise ValueError(
                f"n_strata={self.n_strata} is larger than n_samples={n_samples}. "
                "Use fewer strata or more rows."
            )
        if isinstance(source, MemoryBlocks):
            # for responsibilities and memberships; checked before the fit
            need = 2.0 * n_samples * self.n_strata * source.dtype.itemsize
            limit = available_memory()
            if need > limit:
                raise MemoryError(
                    f"n_strata={self.n_strata} strata of n_samples={n_samples} rows need at least "
                    f"{need / 1e9:.3g} GB, more than the {limit / 1e9:.3g} GB available. Use fewer "
                    "strata, or pass the rows as a file: ensemblage.blocks.open_blocks."
                )
        classes = self._class_codes(y, like) if self.class_balance else None
        return source.begin(weights), classes

    def _class_codes(self, y: Any, like: Floats) -> NDArray[np.intp]:
        if y is None:
            raise ValueError(
                "HISS with class_balance=True requires y to be passed, but the target y is None. "
                "Call fit(X, y), or set class_balance=False."
            )
        refuse_missing_targets(y)
        labels = column_or_1d(y, warn=True)
        check_classification_targets(labels)
        check_consistent_length(like, labels)
        return np.unique(labels, return_inverse=True)[1]

    def _initialise(self, source: BlockSource) -> tuple[StrataModel, float]:
        """Give initial Gaussians and the lower bound of variances."""
        centre, variance = column_moments(source)
        if not np.isfinite(variance).all() or variance.min() < np.finfo(source.dtype).tiny:
            self._check_columns(source, variance)
        floor = self.variance_floor * variance.mean() or 1.0
        means = initial_means(source, self.init, self.n_strata, self.random_state)
        variance = np.maximum(variance, floor)
        return initial_gaussians(centre, means, variance, self.covariance_type), floor

    def _check_columns(self, source: BlockSource, variance: Floats) -> None:
        """Reject missing values and values whose squares overflow; warn of constant columns."""
        extent = column_range(source)
        if not np.isfinite(variance).all():
            raise ValueError(
                f"X holds values as large as {extent.largest:.3g}, whose squares overflow "
                f"{source.dtype}. Scale the columns first, for instance divide X by its largest "
                "value."
            )
        width = extent.highest - extent.lowest
        faint = (width > 0) & (variance < np.finfo(source.dtype).tiny)
        if faint.any():
            raise ValueError(
                f"Columns of X have a range as small as {width[faint].min():.3g}, whose square "
                f"underflows {source.dtype}. Scale the columns first, for instance with "
                "StandardScaler."
            )
        constant = np.flatnonzero(variance == 0)
        if len(constant) == len(variance):
            message = "All rows of X are equal, so all strata are equal."
        else:
            names = getattr(self, "feature_names_in_", np.arange(len(variance)))[constant]
            message = f"Columns {names.tolist()} of X are constant and have no effect on strata."
        warn_user(message, ConvergenceWarning)

    def _update_gaussians(self, moments: Moments, model: StrataModel, floor: float) -> StrataModel:
        """Gaussians of the next pass, with variances of at least ``floor``."""
        return m_step(moments, model, floor)

    @abstractmethod
    def _initial_prior(self, n_samples: int) -> MembershipPrior:
        """Prior of the first pass; reject parameters that are infeasible for the rows."""

    @abstractmethod
    def _update_prior(
        self, source: BlockSource, moments: Moments, prior: MembershipPrior
    ) -> MembershipPrior:
        """Prior of the next pass."""

    @abstractmethod
    def _finish(
        self,
        source: BlockSource,
        moments: Moments,
        prior: MembershipPrior,
        classes: NDArray[np.intp] | None,
    ) -> None:
        """Set ``memberships_`` from the last responsibilities, if the source returns them."""

    @lazy_on_dask
    def log_affinity(self, X: ArrayLike) -> Floats:
        """Log density of each row under each stratum's Gaussian.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Dask collection
            Rows.

        Returns
        -------
        ndarray or Dask array of shape (n_samples, n_strata)
            Log densities.
        """
        check_is_fitted(self)
        return np.concatenate(list(self._map_rows(X, log_density_block, self._model())))

    def _map_rows(self, X: ArrayLike, kernel: Callable[..., T], *state: Any) -> Iterator[T]:
        """Run ``kernel(block, *state)`` over new rows."""
        rows = validate_numbers(self, X, dtype=[np.float64, np.float32], reset=False)
        rows = clip_far_rows(rows, self._model())
        return MemoryBlocks(rows).map(kernel, *state)

    def _model(self) -> StrataModel:
        """Gaussians of the fitted strata, centred at the mean of their means."""
        centre, form = self.means_.mean(axis=0), self.covariance_type
        return StrataModel(
            centre, make_gaussians(self.means_ - centre, self.covariances_, form), form
        )

    def _check_fitted(self) -> None:
        """Reject Gaussians that are not the result of a fit, before compiled code reads them."""
        k, d = self.n_strata, self.n_features_in_
        shapes = {"spherical": (k,), "diag": (k, d), "tied": (d, d), "full": (k, d, d)}
        expect_array(self, "means_", (k, d))
        expect_array(self, "covariances_", shapes[self.covariance_type])
        if hasattr(self, "memberships_"):  # not set for rows on disk or on a cluster
            expect_array(self, "memberships_", (None, k), low=0, high=1)
        expect_fitted(
            self, {"objective_path_": "float (*)", "n_iter_": "count", "converged_": "flag"}
        )

    @property
    def _n_features_out(self) -> int:
        return self.n_strata

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.target_tags.required = self.class_balance
        return tags
