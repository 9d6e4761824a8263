"""HISS: strata of constrained size by EM, with exact memberships from the dual problem."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ensemblage._core import (
    Interval,
    expect,
    expect_array,
    expect_fitted,
    fit_context,
    guarded_fit,
    read_weights,
    set_module,
    validate_numbers,
    with_shared,
)
from ensemblage.blocks import Block, BlockSource, MemoryBlocks, lazy_on_dask
from ensemblage.strata._gaussian import GAUSSIAN_DOCS, GaussianStrata
from ensemblage.strata._gaussian_kernels import (
    CovarianceType,
    Gaussians,
    MembershipPrior,
    Moments,
    clip_far_rows,
    e_step,
    m_step,
)
from ensemblage.strata._hiss_sizes import (
    MergedDensities,
    SizeConstraint,
    as_log_scales,
    coincident_groups,
    constrained_scales,
    em_block,
    exact_block,
    exact_memberships,
    extrapolate_windows,
    optimal_memberships,
)

Doubles = NDArray[np.float64]
Floats = NDArray[np.floating[Any]]

STEP_EXPONENT = 0.7
"""Exponent of the step size, in (0.5, 1]: the batch's share of all weight so far to this power."""
N_INNER_STEPS = 5
"""Updates of a batch's memberships with the Gaussians fixed."""


def implied_moments(
    gaussians: Gaussians, shares: Floats, covariance_type: CovarianceType
) -> tuple[Floats, Floats, Floats]:
    r"""Mass, first and second moments implied by Gaussians, per unit of weight.

    Where stratum j has the share :math:`s_j` of all responsibility these are :math:`s_j`,
    :math:`s_j \mu_j` and :math:`s_j (\Sigma_j + \mu_j \mu_j')`.
    """
    means, covariances = gaussians.means, gaussians.covariances
    first = shares[:, None] * means
    if covariance_type == "tied":
        second = shares.sum() * covariances + first.T @ means
    elif covariance_type == "full":
        second = shares[:, None, None] * covariances + first[:, :, None] * means[:, None, :]
    else:
        second = shares[:, None] * covariances.reshape(len(means), -1) + first * means
    return shares, first, second


def mean_variance(first: Floats, second: Floats, covariance_type: CovarianceType) -> float:
    """Mean over the columns of their variance in all rows, from moments per unit of weight."""
    # responsibilities of a row sum to one, so the sum over strata counts it once
    second = second if covariance_type == "tied" else second.sum(axis=0)
    squares = second if second.ndim == 1 else np.diagonal(second)
    return max(float((squares - first.sum(axis=0) ** 2).mean()), 0.0)


def _new_memberships(block: Block, densities: MergedDensities, log_scales: Doubles) -> Floats:
    by_group, _ = optimal_memberships(densities.log_densities(block.rows), log_scales)
    return densities.expand_memberships(by_group)


@set_module("ensemblage.strata")
@with_shared(GAUSSIAN_DOCS)
class HISS(GaussianStrata):
    r"""Strata of similar rows, of a given size, which may overlap.

    A Gaussian mixture assigns each row to one cluster, and cluster sizes depend on the data. In
    HISS a row may belong to several strata or to none, and each stratum has the same size, so that
    a model can be fitted on each.

    Parameters
    ----------
    n_strata : int, default=20
        Number of strata.
    stratum_size : float or (float, float), default=0.4
        Size of each stratum as a share of all rows, in (0, 1]. A pair gives a lower and an upper
        bound, and ``total_size`` the sum of the sizes.
    total_size : float, default=None
        Only with a pair: sum of all strata's sizes, in multiples of the number of rows.
    {covariance_type, init, max_iter, tol, variance_floor}
    polish : bool, default=True
        After the last iteration, solve the dual problem and give each row its optimal memberships,
        so that ``transform`` of the training rows is ``memberships_``. False keeps the memberships
        of the last iteration, as the paper does.
    class_balance : bool, default=False
        Give each stratum the same share of the rows of every class; ``fit`` then requires ``y``,
        and ``memberships_`` depends on it. The Gaussians, and so ``transform``, do not.
    {random_state}

    Attributes
    ----------
    memberships_ : ndarray of shape (n_samples, n_strata)
        Memberships of the training rows; each column sums to the stratum's size.
    log_scales_ : ndarray of shape (n_strata,)
        :math:`\log c_j = -\log \lambda_j`, with the dual variables (Lagrange multipliers)
        :math:`\lambda_j` of the size constraints.
    {means_, covariances_, objective_path_}
    objective_ : float
        Mean log likelihood of ``memberships_``; not below that of the last iteration, except
        where coincident strata share rows (see the notes).
    polished_ : bool
        Whether ``memberships_`` are optimal at exact dual variables.
    coincident_groups_ : ndarray of shape (n_strata,)
        Group index of each stratum; strata of a group coincide and share each row equally.
    effective_counts_ : ndarray of shape (n_strata,)
        Sum of responsibilities, :math:`\sum_i w_i \upsilon_{ij}`; weight of the past rows in
        ``partial_fit``.
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

    by expectation maximisation: responsibilities :math:`\upsilon_{ij}` (eq. 7), Gaussians, and
    memberships :math:`\tau_{ij} = \min(1, c_j \upsilon_{ij})` (eq. 8 and Figure 1). The paper finds
    :math:`c_j` by iteration; here it is solved for exactly. All computations are in the log domain.

    New rows get the optimal memberships at the dual variables :math:`\lambda_j = 1 / c_j`. EM
    changes memberships near zero slowly, so a few memberships of training rows differ from that.
    Polishing solves the dual problem with the Gaussians fixed: the sizes do not change, the
    objective does not decrease, and at most one row per stratum (or several tied rows) takes a
    fractional membership that is not optimal, to make the size exact. Some fits have no such dual
    variables, for instance where one of few rows is split between two strata. If the memberships
    would be worse than those of the last iteration, these are kept and ``polished_`` is false.

    Where rows have many copies, a size may be reached between them: ``memberships_`` then includes
    as many copies as the size allows, while ``transform``, which sees equal rows, gives all of them
    the same membership. Its sizes differ from ``stratum_size`` by less than the weight of the
    copies of one row, which is much where there are few different rows.

    With more strata than clusters in the data, some strata coincide: their Gaussians are the same,
    or differ by so little (Jeffreys divergence below 0.005) that EM stopped before they separated.
    Their dual variables are not identified, so they share each row equally. Memberships are then
    optimal under that constraint; for Gaussians that are not quite the same the mean log likelihood
    may be lower by a part of that divergence than without it.

    In a stream (``partial_fit``, online EM) the statistics :math:`s` of the Gaussians and the log
    scales are averages over batches, :math:`s \leftarrow (1 - \rho) s + \rho s_b`, with step size
    :math:`\rho = (w / W)^{0.7}` for a batch of weight w out of a total weight W so far. In each
    batch memberships under the size constraints and responsibilities are updated alternately, six
    times.

    With ``class_balance`` each class has its own dual variables, at which a stratum has the share
    :math:`\gamma` of that class; new rows, whose class is unknown, use the dual variables of all
    rows.

    Scaling a single column changes the strata; standardise columns of different units. Random draws
    are by position: another order of rows may give other initial means.

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
        covariance_type: CovarianceType = "diag",
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

    def _size_constraint(self) -> SizeConstraint:
        if isinstance(self.stratum_size, Real):
            return SizeConstraint(float(self.stratum_size), float(self.stratum_size))
        low, high = self.stratum_size
        return SizeConstraint(low, high, self.total_size)

    def _initial_prior(self, n_samples: int) -> MembershipPrior:
        """Reject sizes that are infeasible for the number of rows."""
        if not isinstance(self.stratum_size, Real):
            self._check_range()
        elif self.total_size is not None:
            raise ValueError(
                f"total_size={self.total_size} requires a pair of bounds; "
                f"stratum_size={self.stratum_size} already fixes all sizes. Omit total_size."
            )
        if self._size_constraint().lower * n_samples < 1:
            raise ValueError(
                f"stratum_size={self.stratum_size} of n_samples={n_samples} rows is less than one "
                f"row. Use at least {1 / n_samples:.3g}."
            )
        return self._even_prior()

    def _even_prior(self) -> MembershipPrior:
        lower, _, total = self._size_constraint()
        share = lower if total is None else total / self.n_strata
        return MembershipPrior(np.full((self.n_strata, 1), np.log(share)))

    def _check_range(self) -> None:
        try:
            low, high = (float(bound) for bound in self.stratum_size)
        except (TypeError, ValueError):
            raise ValueError(
                f"stratum_size={self.stratum_size!r} must be a float or a pair of floats."
            ) from None
        if not 0 < low <= high <= 1:
            raise ValueError(
                f"stratum_size={self.stratum_size!r} must be a pair with 0 < low <= high <= 1."
            )
        least, most = self.n_strata * low, self.n_strata * high
        if self.total_size is None or not least <= self.total_size <= most:
            raise ValueError(
                f"total_size={self.total_size} is infeasible for {self.n_strata} strata of sizes "
                f"{low} to {high}. Use a total_size between {least:.6g} and {most:.6g}."
            )

    def _update_prior(
        self, source: BlockSource, moments: Moments, prior: MembershipPrior
    ) -> MembershipPrior:
        scales, _ = constrained_scales(source, self._size_constraint(), moments, prior)
        windows = extrapolate_windows(source, scales, prior, moments.window_sums)
        return MembershipPrior(scales, windows)

    def _finish(
        self,
        source: BlockSource,
        moments: Moments,
        prior: MembershipPrior,
        classes: NDArray[np.intp] | None,
    ) -> None:
        weight, model = moments.window_sums.weight, self._model()
        scales, sizes = constrained_scales(source, self._size_constraint(), moments, prior)
        self.coincident_groups_ = coincident_groups(model)
        self.log_scales_, self.effective_counts_ = as_log_scales(scales), moments.mass
        self.polished_ = False
        if self.polish:
            densities = MergedDensities(model, self.coincident_groups_)
            fitted, log_scales = exact_memberships(
                source, densities, self.log_scales_, sizes, scales
            )
            _, (objective, reached, em_objective) = fitted
            rounding = 32 * np.finfo(source.dtype).eps * (abs(em_objective) + weight)
            self.polished_ = bool(objective >= em_objective - rounding)
        if self.polished_:
            self.log_scales_ = log_scales
        else:
            fitted = source.collect(em_block, model, scales)
        memberships, (objective, reached, _) = fitted
        self.objective_ = float(objective / weight)
        if memberships is not None:
            self.memberships_ = memberships
        if classes is not None:
            self._balance_classes(source, reached, classes)

    @guarded_fit
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        r"""Update the strata with a batch of rows from a stream (online EM).

        The first batch is fitted as in ``fit``. Each further batch changes log scales and Gaussians
        by a step towards its own, with decreasing step sizes. This is an approximation: each row is
        used once, and sizes hold in expectation.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The batch: some hundred rows or more, in random order.
        y : array-like of shape (n_samples,), default=None
            Required with ``class_balance=True``, otherwise ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights.

        Returns
        -------
        self : object
            The stratifier, with ``memberships_`` and ``objective_`` of this batch; the objective
            is appended to ``objective_path_``, and may decrease.
        """
        if not hasattr(self, "means_"):
            fitted: Self = self.fit(X, y, sample_weight)
            return fitted
        if len(self.means_) != self.n_strata:
            raise ValueError(
                f"n_strata={self.n_strata}, but the first batch was fitted with "
                f"{len(self.means_)} strata. Call fit to start again."
            )
        rows = validate_numbers(self, X, dtype=[np.float64, np.float32], reset=False)
        weights = None if sample_weight is None else read_weights(sample_weight, rows)
        if clip_far_rows(rows, self._model()) is not rows:
            raise ValueError(
                f"X holds values as large as {np.abs(rows).max():.3g}, whose squares overflow "
                f"{rows.dtype}. Scale the columns as in the earlier batches."
            )
        classes = self._class_codes(y, rows) if self.class_balance else None
        source = MemoryBlocks(rows, weights)
        self._online_em_step(source)
        densities = self._densities()
        log_scales = densities.merge_scales(self.log_scales_)
        self.memberships_, reached = source.collect(exact_block, densities, log_scales, [])
        self.objective_ = float(reached[0] / source.weights.sum())
        if classes is not None:
            self._balance_classes(source, reached[1], classes)
        self.objective_path_ = np.append(self.objective_path_, self.objective_)
        self.n_iter_ += 1
        return self

    def _online_em_step(self, source: BlockSource) -> None:
        """Move Gaussians and log scales towards those of a batch under the size constraints."""
        model, form = self._model(), self.covariance_type
        past, weight = float(self.effective_counts_.sum()), float(source.weights.sum())
        step = (weight / (past + weight)) ** STEP_EXPONENT
        batch, log_scales = self._batch_statistics(source)
        known = implied_moments(model.gaussians, self.effective_counts_ / past, form)
        mass, first, second = (
            old + step * (new / weight - old)
            for old, new in zip(known, (batch.mass, batch.first, batch.second), strict=True)
        )
        floor = self.variance_floor * mean_variance(first, second, form) or 1.0
        averages = batch._replace(mass=mass, first=first, second=second)
        model = m_step(averages, model, floor)
        self.means_ = model.gaussians.means + model.centre
        self.covariances_ = model.gaussians.covariances
        self.log_scales_ = self.log_scales_ + step * (log_scales - self.log_scales_)
        self.effective_counts_ = mass * (past + weight)
        self.coincident_groups_, self.polished_ = coincident_groups(model), False

    def _batch_statistics(self, source: BlockSource) -> tuple[Moments, Doubles]:
        """Moments and log scales of a batch under the size constraints."""
        model, prior = self._model(), self._even_prior()
        moments = source.reduce_with_state(e_step, model, prior)
        for _ in range(N_INNER_STEPS):
            prior = self._update_prior(source, moments, prior)
            moments = source.reduce_with_state(e_step, model, prior)
        scales, _ = constrained_scales(source, self._size_constraint(), moments, prior)
        return moments, as_log_scales(scales)

    def _balance_classes(
        self, source: BlockSource, sizes: Doubles, classes: NDArray[np.intp]
    ) -> None:
        """Solve the dual problem of each class; the sizes of the strata do not change."""
        weights, densities, total = source.weights, self._densities(), 0.0
        shares = sizes / weights.sum()
        for code in np.unique(classes[weights > 0]):
            own = np.flatnonzero(classes == code)
            fitted, _ = exact_memberships(
                source.select(own), densities, self.log_scales_, shares * weights[own].sum()
            )
            memberships, (objective, *_) = fitted
            if memberships is not None:
                self.memberships_[own] = memberships
            total += objective
        self.objective_ = float(total / weights.sum())

    def _densities(self) -> MergedDensities:
        return MergedDensities(self._model(), self.coincident_groups_)

    @lazy_on_dask
    def transform(self, X: ArrayLike) -> Floats:
        """Optimal memberships of new rows at the dual variables of the size constraints.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or Dask collection
            Rows.

        Returns
        -------
        ndarray or Dask array of shape (n_samples, n_strata)
            Memberships in [0, 1]. At most one of a row is strictly between 0 and 1, or the same one
            for coincident strata.
        """
        check_is_fitted(self)
        densities = self._densities()
        log_scales = densities.merge_scales(self.log_scales_)
        return np.concatenate(list(self._map_rows(X, _new_memberships, densities, log_scales)))

    def _check_fitted(self) -> None:
        super()._check_fitted()
        k = self.n_strata
        expect_fitted(self, {"objective_": "number", "polished_": "flag"})
        expect_array(self, "log_scales_", (k,))
        expect_array(self, "effective_counts_", (k,), low=0)
        expect_array(self, "coincident_groups_", (k,), "integer", low=0, high=k - 1)
        used = np.unique(self.coincident_groups_)
        expect(len(used) == used[-1] + 1, "coincident_groups_ skips an index")
