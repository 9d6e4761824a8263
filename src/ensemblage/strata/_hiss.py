"""HISS: strata of bounded size, from soft memberships to exact ones."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils._param_validation import Interval
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ensemblage._core import (
    expect,
    expect_array,
    expect_fitted,
    guarded_fit,
    read_weights,
    set_module,
    validate_numbers,
    with_shared,
)
from ensemblage.blocks import Block, BlockSource, MemoryBlocks, lazy_on_dask
from ensemblage.strata._gaussian import (
    GAUSSIAN_DOCS,
    EMState,
    GaussianStrata,
    StrataModel,
    TrainingRows,
    expect_block,
)
from ensemblage.strata._gaussian_kernels import (
    Gaussians,
    Kind,
    Moments,
    estimate,
    share_rows,
    within_reach,
)
from ensemblage.strata._hiss_kernels import Caps, log_memberships, priced_memberships
from ensemblage.strata._hiss_sizes import (
    Groups,
    Prices,
    SharedModel,
    SizedRules,
    SizeRange,
    find_groups,
    find_prices,
    log_scales_of,
)

Doubles = NDArray[np.float64]
Floats = NDArray[np.floating[Any]]


class Reached(NamedTuple):
    """What memberships come to; blocks add up."""

    objective: float
    """Weighted sum of log likelihoods."""
    sizes: Doubles
    """Of the strata, in weight."""
    capped: float = 0.0
    """The objective under the iterations' last caps, where these are given."""


class BlockFit(NamedTuple):
    """Memberships of a block's rows, of shape (n_rows, n_strata), and what they come to."""

    memberships: Floats
    reached: Reached


class Fitted(NamedTuple):
    """The same of all rows, and the log scales of the strata that led there."""

    memberships: Floats | None
    """None where the source does not keep them in memory."""
    reached: Reached
    log_scales: Doubles


def fit_by_prices(
    source: BlockSource,
    shared: SharedModel,
    log_scales: Doubles,
    sizes: Doubles,
    caps: Caps | None = None,
) -> Fitted:
    """Memberships at exact prices, sought from given log scales of the strata."""
    prices = find_prices(source, shared, log_scales, sizes)
    fitted = source.collect(polished, shared, prices, caps)
    return Fitted(*fitted, shared.groups.split_scales(prices.log_scales))


def polished(
    block: Block, shared: SharedModel, prices: Prices, caps: Caps | None = None
) -> BlockFit:
    """Fit a block at given prices: best for each row but for the last changes."""
    log_density = shared.log_densities(block.rows)
    by_group, log_sums = priced_memberships(log_density, prices.log_scales)
    for row, group, amount in prices.changes:
        i = row - block.start
        if 0 <= i < len(log_sums):
            by_group[group, i] = np.clip(by_group[group, i] + amount, 0.0, 1.0)
            with np.errstate(divide="ignore"):
                log_sums[i] = np.logaddexp.reduce(np.log(by_group[:, i]) + log_density[:, i])
    memberships = shared.groups.split_memberships(np.ascontiguousarray(by_group.T))
    fitted = _block_fit(block, memberships, float(block.weights @ log_sums))
    if caps is None:
        return fitted
    capped = _capped_objective(block, log_density, shared, caps)
    return fitted._replace(reached=fitted.reached._replace(capped=capped))


def fit_by_caps(source: BlockSource, shared: SharedModel, caps: Caps) -> Fitted:
    """Memberships under caps, as the last iteration left them."""
    return Fitted(*source.collect(_capped, shared.model, caps), log_scales_of(caps))


def _capped(block: Block, model: StrataModel, caps: Caps) -> BlockFit:
    affinity, log_density = _affinity(block), model.log_densities(block.rows)
    *_, objective = share_rows(log_density, affinity, block.weights, *caps)
    return _block_fit(block, np.exp(log_memberships(affinity, caps)).T, float(objective))


def _capped_objective(block: Block, log_density: Floats, shared: SharedModel, caps: Caps) -> float:
    """Objective of a block under given caps, if strata that coincide share equally.

    ``log_density``, of the groups, is not needed afterwards.
    """
    if shared.groups.distinct:
        *_, objective = share_rows(log_density, _affinity(block), block.weights, *caps)
        return float(objective)
    log_shares = shared.groups.join_memberships(log_memberships(_affinity(block), caps))
    return float(block.weights @ np.logaddexp.reduce(log_shares + log_density, axis=0))


def _block_fit(block: Block, memberships: Floats, objective: float) -> BlockFit:
    sizes = block.weights @ memberships.astype(np.float64)
    return BlockFit(memberships, Reached(objective, sizes))


def _affinity(block: Block) -> Floats:
    """Log responsibilities that the last pass left with the rows, of shape (n_strata, n_rows)."""
    return cast("Floats", block.carry)


FORGETTING = 0.7
"""A step is the batch's share of all weight so far to this power, which is in (0.5, 1]."""
PASSES = 5
"""So many times memberships of a batch's rows follow from responsibilities, Gaussians fixed."""


class Averages(NamedTuple):
    """Statistics per unit of weight, averaged over batches; fields as those of ``Moments``."""

    mass: Floats
    first: Floats
    second: Floats

    def towards(self, other: Averages, step: float) -> Averages:
        r"""Go a step: :math:`s \leftarrow (1 - \rho) s + \rho s_b`."""
        return Averages(*(old + step * (new - old) for old, new in zip(self, other, strict=True)))


class StreamState(NamedTuple):
    """What a stream knows of the batches so far."""

    model: StrataModel
    log_scales: Doubles
    """Minus the log prices, of shape (n_strata,)."""
    weights: Floats
    """Responsibility of each stratum; they add up to the weight of all rows so far."""


def take_step(
    source: BlockSource, before: StreamState, rules: SizedRules, variance_floor: float
) -> StreamState:
    """Move Gaussians and prices towards those of a batch.

    The floor is a share of the columns' mean variance.
    """
    model, past, weight = before.model, float(before.weights.sum()), float(source.weights.sum())
    step = (weight / (past + weight)) ** FORGETTING
    batch, aim = expect_batch(source, model, rules)
    own = Averages(*(each / weight for each in (batch.mass, batch.first, batch.second)))
    known = remembered(model.gaussians, before.weights / past, model.kind)
    mean = known.towards(own, step)
    floor = variance_floor * mean_variance(mean, model.kind) or 1.0
    gaussians = estimate(batch._replace(**mean._asdict()), model.gaussians, floor, model.kind)
    return StreamState(
        model._replace(gaussians=gaussians),
        before.log_scales + step * (aim - before.log_scales),
        mean.mass * (past + weight),
    )


def expect_batch(
    source: BlockSource, model: StrataModel, rules: SizedRules
) -> tuple[Moments, Doubles]:
    """Statistics and log scales of a batch in which the strata have their sizes."""
    rule = rules.first
    total = source.advance_total(expect_block, model, rule)
    for _ in range(PASSES):
        rule = rules.following(source, total, rule)
        total = source.advance_total(expect_block, model, rule)
    return total, log_scales_of(rules.caps(source, total, rule))


def remembered(gaussians: Gaussians, shares: Floats, kind: Kind) -> Averages:
    r"""Statistics that Gaussians stand for, where stratum j has a share of all responsibility.

    :math:`s_j`, :math:`s_j \mu_j` and :math:`s_j (\Sigma_j + \mu_j \mu_j')`.
    """
    means, covariances = gaussians.means, gaussians.covariances
    first = shares[:, None] * means
    if kind == "tied":
        second = shares.sum() * covariances + first.T @ means
    elif kind == "full":
        second = shares[:, None, None] * covariances + first[:, :, None] * means[:, None, :]
    else:
        second = shares[:, None] * covariances.reshape(len(means), -1) + first * means
    return Averages(shares, first, second)


def mean_variance(each: Averages, kind: Kind) -> float:
    """Mean over the columns of their variance in all rows."""
    # responsibilities of a row add up to one, so those of all strata count it once
    second = each.second if kind == "tied" else each.second.sum(axis=0)
    squares = second if second.ndim == 1 else np.diagonal(second)
    return max(float((squares - each.first.sum(axis=0) ** 2).mean()), 0.0)


def _new_memberships(block: Block, shared: SharedModel, log_scales: Doubles) -> Floats:
    by_group, _ = priced_memberships(shared.log_densities(block.rows), log_scales)
    return shared.groups.split_memberships(np.ascontiguousarray(by_group.T))


@set_module("ensemblage.strata")
@with_shared(GAUSSIAN_DOCS)
class HISS(GaussianStrata):
    r"""Strata of similar rows, each of the size you ask for, free to overlap.

    A mixture of Gaussians gives each row to one cluster, and clusters come out small or large as
    the data have it. HISS lets a row belong to several strata, or to none, and holds each
    stratum at the same size, so that a model can be trained on each.

    Parameters
    ----------
    n_strata : int, default=20
        Number of strata.
    stratum_size : float or (float, float), default=0.4
        Size of each stratum as a share of all rows, in (0, 1]. A pair bounds the sizes from below
        and above, and ``total_size`` says what they add up to.
    total_size : float, default=None
        Only with a pair: sum of all strata's sizes, in multiples of the number of rows.
    {covariance_type, init, max_iter, tol, variance_floor}
    polish : bool, default=True
        After the last iteration, find exact prices and give each row the memberships that are best
        for it at these, so that ``transform`` of the training rows is ``memberships_``. False
        leaves the memberships of the last iteration, as the paper does.
    class_balance : bool, default=False
        Give each stratum the same share of every class, that is, of the class's rows; ``fit``
        then needs ``y``, and ``memberships_`` depends on it. The strata themselves, and with them
        ``transform``, are found without labels.
    {random_state}

    Attributes
    ----------
    memberships_ : ndarray of shape (n_samples, n_strata)
        Memberships of the training rows; each column adds up to the stratum's size.
    log_scales_ : ndarray of shape (n_strata,)
        :math:`\log c_j`; minus the log price of a membership.
    {means_, covariances_, objective_path_}
    objective_ : float
        Mean log likelihood of ``memberships_``; never below that of the last iteration, except
        for what strata that coincide lose by sharing (see the notes).
    polished_ : bool
        Whether ``memberships_`` follow from exact prices.
    groups_ : ndarray of shape (n_strata,)
        Strata with the same number coincide, and share each row equally.
    stratum_weights_ : ndarray of shape (n_strata,)
        Responsibility of each stratum, :math:`\sum_i w_i \upsilon_{ij}`; what a stream remembers
        of its rows beside the Gaussians and prices.
    {n_iter_, converged_, n_features_in_, feature_names_in_}

    See Also
    --------
    MixtureStrata : Clusters of a Gaussian mixture.
    BootstrapStrata : Random subsets.
    StrataEnsembleClassifier : One member per stratum.

    Notes
    -----
    HISS maximises (eq. 5)

    .. math:: \sum_i \log \sum_j \tau_{ij}\, p_j(x_i)
        \quad\text{subject to}\quad \sum_i \tau_{ij} = \gamma n,\; 0 \le \tau_{ij} \le 1

    by expectation maximisation: responsibilities :math:`\upsilon_{ij}` (eq. 7), Gaussians from
    them, and memberships :math:`\tau_{ij} = \min(1, c_j \upsilon_{ij})` (eq. 8 and Figure 1), where
    the paper iterates and we solve for :math:`c_j` exactly. All of it runs in logarithms.

    New rows get the memberships that are best for them at the prices :math:`1 / c_j`. Where rows
    are near zero the iterations hardly move them, so a few memberships of training rows differ
    from that. Polishing solves for the prices with the Gaussians fixed: sizes stay, the objective
    does not fall, and at most one row per stratum (or several equal rows) takes a fraction that
    the prices would not give it, to make the size exact. Some fits have no such prices, for
    instance where a row of few is torn between two strata. If the memberships would be worse than
    the last iteration's, those are kept and ``polished_`` is false.

    Where there are more strata than places to be, some coincide: their Gaussians are the same, or
    differ by so little (Jeffreys' divergence below 0.005) that the iterations stopped before they
    parted. No price tells them apart, so they share each row equally. Memberships are then the
    best of those that do so; for Gaussians that are not quite the same the mean log likelihood may
    be lower by a part of that divergence than if they did not share.

    In a stream (``partial_fit``) the statistics :math:`s` of the Gaussians and the log prices are
    averages over batches, :math:`s \leftarrow (1 - \rho) s + \rho s_b`, where a batch of weight w
    counts :math:`\rho = (w / W)^{0.7}` if all batches so far weigh W together. In each batch
    strata have their sizes while memberships and responsibilities are found in turn, six times.

    With ``class_balance`` each class has prices of its own, at which a stratum takes the share
    :math:`\gamma` of that class; new rows, whose class is unknown, get the prices of all rows.

    References
    ----------
    R. Jin and H. Liu, "A Novel Approach to Model Generation for Heterogeneous Data
    Classification".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import StandardScaler
    >>> from ensemblage.strata import HISS
    >>> X = StandardScaler().fit_transform(load_iris().data)
    >>> hiss = HISS(n_strata=4, stratum_size=0.3, random_state=0).fit(X)
    >>> hiss.memberships_.sum(axis=0).round(6)
    array([45., 45., 45., 45.])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GaussianStrata._parameter_constraints,  # noqa: SLF001
        "stratum_size": [Interval(Real, 0, 1, closed="right"), tuple, list],
        "polish": ["boolean"],
        "class_balance": ["boolean"],
        "total_size": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        n_strata: int = 20,
        stratum_size: Any = 0.4,
        *,
        total_size: Any = None,
        covariance_type: Kind = "diag",
        init: Any = "k-means++",
        max_iter: int = 200,
        tol: float = 1e-4,
        variance_floor: float = 1e-2,
        polish: bool = True,
        class_balance: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_strata = n_strata
        self.stratum_size = stratum_size
        self.total_size = total_size
        self.covariance_type = covariance_type
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.variance_floor = variance_floor
        self.polish = polish
        self.class_balance = class_balance
        self.random_state = random_state

    def _membership_rules(self, n_samples: int) -> SizedRules:
        if isinstance(self.stratum_size, Real):
            smallest = float(self.stratum_size)
            if self.total_size is not None:
                raise ValueError(
                    f"total_size={self.total_size} goes with a pair of sizes; "
                    f"stratum_size={self.stratum_size} already fixes them all. Leave it out."
                )
        else:
            smallest = self._check_range()
        if smallest * n_samples < 1:
            raise ValueError(
                f"stratum_size={self.stratum_size} of n_samples={n_samples} rows is less than one "
                f"row. Take at least {1 / n_samples:.3g}."
            )
        return self._rules()

    def _rules(self) -> SizedRules:
        share: Any = self.stratum_size
        if not isinstance(share, Real):
            low, high = share
            share = SizeRange(low, high, self.total_size)
        return SizedRules(self.n_strata, share)

    def _check_range(self) -> float:
        try:
            low, high = (float(bound) for bound in self.stratum_size)
        except (TypeError, ValueError):
            raise ValueError(
                f"stratum_size={self.stratum_size!r} is neither a number nor a pair of numbers."
            ) from None
        if not 0 < low <= high <= 1:
            raise ValueError(
                f"stratum_size={self.stratum_size!r} must be a pair with 0 < low <= high <= 1."
            )
        least, most = self.n_strata * low, self.n_strata * high
        if self.total_size is None or not least <= self.total_size <= most:
            raise ValueError(
                f"total_size={self.total_size} cannot be met by {self.n_strata} strata of sizes "
                f"{low} to {high}. Give a total_size between {least:.6g} and {most:.6g}."
            )
        return low

    def _finish(
        self, source: BlockSource, state: EMState, classes: NDArray[np.intp] | None
    ) -> None:
        rules, weight = self._rules(), state.total.near.weight
        caps = rules.caps(source, state.total, state.rule)
        model = self._model()
        groups = find_groups(model)
        self.groups_, shared = groups.numbers, SharedModel(model, groups)
        self.polished_ = False
        if self.polish:
            sizes = rules.sizes(source, weight)
            fitted = fit_by_prices(source, shared, log_scales_of(caps), sizes, caps)
            objective, _, capped = fitted.reached
            rounding = 32 * np.finfo(source.dtype).eps * (abs(capped) + weight)
            self.polished_ = bool(objective >= capped - rounding)
        if not self.polished_:
            fitted = fit_by_caps(source, shared, caps)
        self.log_scales_, self.stratum_weights_ = fitted.log_scales, state.total.mass
        self.objective_ = float(fitted.reached.objective / weight)
        if fitted.memberships is not None:
            self.memberships_ = fitted.memberships
        if classes is not None:
            self._balance(source, fitted.reached, classes)

    @guarded_fit
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        r"""Go on with one more batch of rows, where a stream of these is all there is.

        The first batch is fitted as ``fit`` does. Each further one moves prices and Gaussians a
        step towards its own, so steps become smaller. That is an approximation: no row is seen
        twice, and sizes hold in expectation.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The batch: some hundred rows or more, in no order that means something.
        y : array-like of shape (n_samples,), default=None
            Ignored, unless strata are to be balanced by class.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights.

        Returns
        -------
        self : object
            The stratifier, with ``memberships_`` and ``objective_`` of this batch, which is one
            more iteration: ``objective_path_`` goes on with it, and may fall.
        """
        if not hasattr(self, "means_"):
            fitted: Self = self.fit(X, y, sample_weight)
            return fitted
        source, classes = self._read_batch(X, y, sample_weight)
        before = StreamState(self._model(), self.log_scales_, self.stratum_weights_)
        after = take_step(source, before, self._rules(), self.variance_floor)
        model, self.log_scales_, self.stratum_weights_ = after
        self.means_ = model.gaussians.means + model.centre
        self.covariances_ = model.gaussians.covariances
        self.groups_, self.polished_ = find_groups(model).numbers, False
        shared = self._shared()
        prices = Prices(shared.groups.join_scales(self.log_scales_), [])
        self.memberships_, reached = source.collect(polished, shared, prices)
        self.objective_ = float(reached.objective / source.weights.sum())
        if classes is not None:
            self._balance(source, reached, classes)
        self.objective_path_ = np.append(self.objective_path_, self.objective_)
        self.n_iter_ += 1
        return self

    def _read_batch(self, X: Any, y: Any, sample_weight: Any) -> TrainingRows:
        if len(self.means_) != self.n_strata:
            raise ValueError(
                f"n_strata={self.n_strata}, but the stream began with {len(self.means_)} strata: "
                "call fit to start anew."
            )
        rows = validate_numbers(self, X, dtype=[np.float64, np.float32], reset=False)
        weights = None if sample_weight is None else read_weights(sample_weight, rows)
        if within_reach(rows, *self._model()) is not rows:
            raise ValueError(
                f"X holds values as large as {np.abs(rows).max():.3g}, whose squares overflow "
                f"{rows.dtype}. Scale the columns as those of the batches before."
            )
        return TrainingRows(MemoryBlocks(rows, weights), self._check_classes(rows, y))

    def _balance(self, source: BlockSource, reached: Reached, classes: NDArray[np.intp]) -> None:
        """Solve for prices of each class alone; the sizes of the strata stay."""
        weights = source.weights
        shares = reached.sizes / weights.sum()
        shared, total = self._shared(), 0.0
        for code in np.unique(classes[weights > 0]):
            own = np.flatnonzero(classes == code)
            sizes = shares * weights[own].sum()
            fitted = fit_by_prices(source.select(own), shared, self.log_scales_, sizes)
            if fitted.memberships is not None:
                self.memberships_[own] = fitted.memberships
            total += fitted.reached.objective
        self.objective_ = float(total / weights.sum())

    def _shared(self) -> SharedModel:
        """Densities of the fitted strata, those that coincide as one."""
        return SharedModel(self._model(), Groups(self.groups_))

    def _check_fitted(self) -> None:
        super()._check_fitted()
        expect_fitted(self, {"objective_": "number", "polished_": "flag"})
        expect_array(self, "log_scales_", (self.n_strata,))
        expect_array(self, "stratum_weights_", (self.n_strata,), low=0)
        expect_array(self, "groups_", (self.n_strata,), "integer", low=0, high=self.n_strata - 1)
        used = np.unique(self.groups_)
        expect(len(used) == used[-1] + 1, "groups_ leaves numbers out")

    @property
    def _needs_classes(self) -> bool:
        return self.class_balance

    def _check_classes(self, X: Floats, y: Any) -> NDArray[np.intp] | None:
        if not self.class_balance:
            return None
        if y is None:
            raise ValueError(
                "HISS with class_balance=True requires y to be passed, but the target y is None. "
                "Call fit(X, y), or leave class_balance out."
            )
        labels = column_or_1d(y, warn=True)
        check_classification_targets(labels)
        check_consistent_length(X, labels)
        return np.unique(labels, return_inverse=True)[1]

    @lazy_on_dask
    def transform(self, X: ArrayLike) -> Floats:
        """Memberships that are best for new rows at the strata's prices.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Dask collection
            Rows.

        Returns
        -------
        ndarray or Dask array of shape (n_samples, n_strata)
            Memberships in [0, 1], at most one of a row's strictly between, or the same one for
            strata that coincide.
        """
        check_is_fitted(self)
        shared = self._shared()
        log_scales = shared.groups.join_scales(self.log_scales_)
        return np.concatenate(list(self._map_rows(X, _new_memberships, shared, log_scales)))
