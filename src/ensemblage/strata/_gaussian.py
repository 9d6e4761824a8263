"""What HISS and the Gaussian mixture share: initialisation, EM, log densities."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

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
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.validation import check_is_fitted

from ensemblage._core import (
    CallbackSupportMixin,
    DocLinkMixin,
    expect_array,
    expect_fitted,
    fit_progress,
    guarded_fit,
    memory_at_hand,
    read_weights,
    validate_numbers,
    warn_user,
    with_callbacks,
)
from ensemblage.blocks import (
    Block,
    BlockSource,
    ColumnExtent,
    MemoryBlocks,
    column_extent,
    is_source,
    lazy_on_dask,
    note_columns,
    open_blocks,
    pick_rows,
)
from ensemblage.strata._gaussian_kernels import (
    Gaussians,
    Kind,
    Moments,
    estimate,
    expectation,
    log_densities,
    make_gaussians,
    within_reach,
)
from ensemblage.strata._hiss_kernels import NO_WINDOWS, Caps, Windows

Doubles = NDArray[np.float64]
Floats = NDArray[np.floating[Any]]


SEED_ROWS = 10_000
"""Start centres are sought among at most so many rows."""
SHUFFLED_ROWS = 1_000_000
"""From so many rows they are drawn without a list of all rows' numbers."""


class StrataModel(NamedTuple):
    """One Gaussian per stratum, around a centre that keeps squares from cancelling."""

    centre: Floats
    gaussians: Gaussians
    kind: Kind

    def log_densities(self, rows: Floats) -> Floats:
        """Log density of each row, of shape (n_strata, n_rows)."""
        return log_densities(rows, *self)


def column_spread(source: BlockSource) -> tuple[Floats, Floats]:
    """Mean and variance of each column; variances are not finite where squares overflow.

    The mean is one that the rows' dtype can hold: equal rows then lie on it.
    """
    weight, sums = source.total(_sums)
    mean = (sums / weight).astype(source.dtype).astype(np.float64)
    (squares,) = source.total(_centred_squares, mean)
    return mean, squares / weight


def _sums(block: Block) -> tuple[Any, Floats]:
    return block.weights.sum(), block.weights @ block.rows


def _centred_squares(block: Block, mean: Floats) -> tuple[Floats]:
    # in the rows' own dtype, as the densities will be
    with np.errstate(over="ignore", invalid="ignore"):
        return (block.weights @ (block.rows - mean.astype(block.rows.dtype)) ** 2,)


def start_means(source: BlockSource, init: Any, n_strata: int, random_state: Any) -> Doubles:
    """Choose the first centres, rows with some weight; an array is taken as it is."""
    if not isinstance(init, str):
        return _given_means(init, (n_strata, source.shape[1]))
    rng = check_random_state(random_state)
    weights, eligible = source.weights, _draw_eligible(source.weights, rng)
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


def _draw_eligible(weights: Doubles, rng: np.random.RandomState) -> NDArray[np.intp]:
    """Numbers of at most SEED_ROWS rows with some weight, rising."""
    n_eligible = np.count_nonzero(weights)
    if n_eligible <= SEED_ROWS:
        return np.flatnonzero(weights)
    if n_eligible <= SHUFFLED_ROWS:
        drawn = rng.choice(n_eligible, SEED_ROWS, replace=False)
    else:
        drawn = sample_without_replacement(n_eligible, SEED_ROWS, random_state=rng)
    drawn = np.sort(drawn)
    return drawn if n_eligible == len(weights) else np.flatnonzero(weights)[drawn]


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


T = TypeVar("T")

GAUSSIAN_DOCS = r"""
covariance_type : {"spherical", "diag", "tied", "full"}, default="diag"
    Form of the strata's covariances.
init : {"k-means++", "random"} or array-like of shape (n_strata, n_features), \
        default="k-means++"
    First centres: drawn far apart, drawn at random, or given.
max_iter : int, default=200
    At most so many iterations.
tol : float, default=1e-4
    Stop when an iteration raises the mean log likelihood by no more than this.
variance_floor : float, default=1e-2
    Lower bound on variances, as a share of the columns' mean variance.
random_state : int, RandomState instance or None, default=None
    For the first centres.
means_ : ndarray of shape (n_strata, n_features)
    Centres.
covariances_ : ndarray
    Shaped as in :class:`sklearn.mixture.GaussianMixture`.
objective_path_ : ndarray of shape (n_iter_ + 1,)
    Mean log likelihood at the start and after each iteration; it never falls.
n_iter_ : int
    Number of iterations.
converged_ : bool
    Whether the last iteration gained no more than ``tol``.
n_features_in_ : int
    Number of columns seen in ``fit``.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the columns, where they all have one.
"""


class Rule(NamedTuple):
    """How the rows' affinities become memberships in one pass."""

    prior: Caps | Floats
    """Caps, or the same log membership for all rows, of shape (n_strata, 1)."""
    windows: Windows | None = None
    """Where to look for the next caps."""


class Rules(Protocol):
    """The rule of membership to start from, and the one that follows from a pass under another."""

    @property
    def first(self) -> Rule: ...

    def following(self, source: BlockSource, moments: Moments, rule: Rule) -> Rule: ...


class EMSettings(NamedTuple):
    """What does not change from one iteration to the next."""

    weight: float
    """Total weight of the rows."""
    floor: float
    """Lower bound on variances."""
    max_iter: int
    tol: float
    """Stop when an iteration gains no more than this."""


class EMState(NamedTuple):
    """Where expectation maximisation ended."""

    model: StrataModel
    rule: Rule
    total: Moments
    """Statistics of the last pass."""
    path: list[float]
    """Mean log likelihood at the start and after each iteration."""
    converged: bool
    """Whether the last iteration gained no more than the tolerance."""


class TrainingRows(NamedTuple):
    """What a fit was given, checked."""

    source: BlockSource
    classes: NDArray[np.intp] | None
    """Code of each row's class, where strata look at classes."""


def run_em(
    source: BlockSource,
    model: StrataModel,
    rules: Rules,
    settings: EMSettings,
    step: Callable[[], bool],
) -> EMState:
    """Alternate between responsibilities and parameters until the objective settles.

    The log responsibilities stay with the source as its carry. ``step`` is called after each
    iteration; if it returns true, this was the last.
    """
    rule = rules.first
    total = source.advance_total(expect_block, model, rule)
    path = [total.log_likelihood / settings.weight]
    converged = False
    for _ in range(settings.max_iter):
        gaussians = estimate(total, model.gaussians, settings.floor, model.kind)
        model, rule = model._replace(gaussians=gaussians), rules.following(source, total, rule)
        total = source.advance_total(expect_block, model, rule)
        path.append(total.log_likelihood / settings.weight)
        converged = not path[-1] - path[-2] > settings.tol
        if step() or converged:
            break
    return EMState(model, rule, total, path, converged)


def expect_block(block: Block, model: StrataModel, rule: Rule) -> tuple[Floats, Moments]:
    windows = NO_WINDOWS if rule.windows is None else rule.windows
    return expectation(block.rows, block.weights, rule.prior, *model, block.carry, windows)


def _log_affinity(block: Block, model: StrataModel) -> Floats:
    return model.log_densities(block.rows).T


class GaussianStrata(
    ClassNamePrefixFeaturesOutMixin,
    CallbackSupportMixin,
    TransformerMixin,
    DocLinkMixin,
    BaseEstimator,
    metaclass=ABCMeta,
):
    """Template of a stratifier with one Gaussian per stratum.

    A subclass says by which rules memberships follow from one pass to the next, and what they are
    in the end.
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

    @guarded_fit
    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Find the strata.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, Dask collection or BlockSource
            Rows to stratify; columns on comparable scales. A ``.npy`` or Parquet file, or rows on
            a cluster, are read where they are; ``memberships_`` is then not set
            (:func:`ensemblage.blocks.open_blocks` says where to write it).
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
        rules = self._membership_rules(rows.source.shape[0])
        self.__dict__.pop("memberships_", None)  # those of an earlier fit
        with rows.source as source:
            state = self._run_em(source, rules)
            self.means_ = state.model.gaussians.means + state.model.centre
            self.covariances_ = state.model.gaussians.covariances
            self.objective_path_ = np.array(state.path)
            self.n_iter_ = len(state.path) - 1
            self.converged_ = state.converged
            self._finish(source, state, rows.classes)
        if not state.converged:
            warn_user(
                f"{type(self).__name__} stopped after max_iter={self.max_iter} iterations; the "
                f"last gained {state.path[-1] - state.path[-2]:.3g}, more than tol={self.tol}. "
                "Raise max_iter or tol, or scale the columns.",
                ConvergenceWarning,
            )
        return self

    def _check_rows(self, X: Any, y: Any, sample_weight: Any) -> TrainingRows:
        if is_source(X):
            source = open_blocks(X)
            note_columns(self, source, min_rows=2)
        else:
            checks: Any = {"dtype": [np.float64, np.float32], "ensure_min_samples": 2}
            source = MemoryBlocks(validate_numbers(self, X, **checks))
        n_samples, like = source.shape[0], source.stand_in
        weights = None if sample_weight is None else read_weights(sample_weight, like)
        if self.n_strata > n_samples:
            raise ValueError(
                f"n_strata={self.n_strata} is larger than n_samples={n_samples}. "
                "Ask for fewer strata, or bring more rows."
            )
        if isinstance(source, MemoryBlocks):
            self._check_memory(source)
        return TrainingRows(source.begin(weights), self._check_classes(like, y))

    def _check_memory(self, source: BlockSource) -> None:
        """Refuse, before any work, more responsibilities and memberships than the memory holds."""
        n_samples, limit = source.shape[0], memory_at_hand()
        need = 2.0 * n_samples * self.n_strata * source.dtype.itemsize
        if need > limit:
            raise MemoryError(
                f"n_strata={self.n_strata} strata of n_samples={n_samples} rows take at least "
                f"{need / 1e9:.3g} GB, more than the {limit / 1e9:.3g} GB at hand. Ask for fewer "
                "strata, or give the rows as a file: ensemblage.blocks.open_blocks."
            )

    def _run_em(self, source: BlockSource, rules: Rules) -> EMState:
        extent = column_extent(source)
        centre, variance = column_spread(source)
        self._check_spread(source.dtype, extent, variance)
        floor = self.variance_floor * variance.mean() or 1.0
        means = start_means(source, self.init, self.n_strata, self.random_state)
        model = start_model(centre, means, np.maximum(variance, floor), self.covariance_type)
        settings = EMSettings(source.weights.sum(), floor, self.max_iter, self.tol)
        with fit_progress(self, "iteration", self.max_iter) as step:
            return run_em(source, model, rules, settings, step)

    def _check_spread(self, dtype: Any, extent: ColumnExtent, variance: Floats) -> None:
        if not np.isfinite(variance).all():
            raise ValueError(
                f"X holds values as large as {extent.largest:.3g}, whose squares overflow "
                f"{dtype}. Scale the columns first, for instance divide X by its largest value."
            )
        spread = extent.highest - extent.lowest
        faint = (spread > 0) & (variance < np.finfo(dtype).tiny)
        if faint.any():
            raise ValueError(
                f"Columns of X vary by as little as {spread[faint].min():.3g}, whose square is no "
                f"number of {dtype}. Scale the columns first, for instance with StandardScaler."
            )
        constant = np.flatnonzero(variance == 0)
        if len(constant) == 0:
            return
        if len(constant) == len(variance):
            message = "All rows of X are equal, so all strata are the same."
        else:
            names = getattr(self, "feature_names_in_", np.arange(len(variance)))[constant]
            message = f"Columns {names.tolist()} of X are constant and tell strata nothing apart."
        warn_user(message, ConvergenceWarning)

    @property
    def _needs_classes(self) -> bool:
        """Whether strata look at the rows' classes."""
        return False

    def _check_classes(self, X: Floats, y: Any) -> NDArray[np.intp] | None:
        """Codes of the rows' classes where they matter; here they do not."""
        return None

    @abstractmethod
    def _membership_rules(self, n_samples: int) -> Rules:
        """Give the rules of membership, or refuse parameters that so many rows cannot meet."""

    @abstractmethod
    def _finish(
        self, source: BlockSource, state: EMState, classes: NDArray[np.intp] | None
    ) -> None:
        """Set ``memberships_`` from the last responsibilities, if the source gives them back."""

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
        return np.concatenate(list(self._map_rows(X, _log_affinity, self._model())))

    def _map_rows(self, X: ArrayLike, kernel: Callable[..., T], *state: Any) -> Iterator[T]:
        """Run ``kernel(block, *state)`` over new rows."""
        rows = validate_numbers(self, X, dtype=[np.float64, np.float32], reset=False)
        rows = within_reach(rows, *self._model())
        return MemoryBlocks(rows).map(kernel, *state)

    def _model(self) -> StrataModel:
        """Densities of the fitted strata, around the mean of their centres."""
        centre, kind = self.means_.mean(axis=0), self.covariance_type
        gaussians = make_gaussians(self.means_ - centre, self.covariances_, kind)
        return StrataModel(centre, gaussians, kind)

    def _check_fitted(self) -> None:
        """Refuse Gaussians that no fit makes, before compiled code reads them."""
        k, d = self.n_strata, self.n_features_in_
        shapes = {"spherical": (k,), "diag": (k, d), "tied": (d, d), "full": (k, d, d)}
        expect_array(self, "means_", (k, d))
        expect_array(self, "covariances_", shapes[self.covariance_type])
        if hasattr(self, "memberships_"):  # rows on disk or on a cluster have theirs elsewhere
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
        tags.target_tags.required = self._needs_classes
        return tags
