"""Homogeneous strata of similar size (HISS)."""

from __future__ import annotations

from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from ensemblage.blocks import Block, BlockSource
from ensemblage.kernels import Caps, log_memberships, priced_memberships, share_rows
from ensemblage.strata._caps import bins_around, first_bins, share_budget, solve_caps
from ensemblage.strata._em import EMState, Rule
from ensemblage.strata._gaussian import GaussianStrata, _log_affinity
from ensemblage.strata._polish import find_prices, polished


def _capped(block: Block, model: tuple, caps: Caps):
    """Memberships of a block under given caps, and their objective."""
    log_density = _log_affinity(block, *model)
    *_, objective = share_rows(log_density, block.carry, block.weights, *caps)
    return np.exp(log_memberships(block.carry, caps)).T, objective


def _collect(parts, shape: tuple[int, int]):
    """Put the blocks' memberships into one array, and add up their objectives."""
    memberships, total, start = None, 0.0, 0
    for part, objective in parts:
        if memberships is None:
            memberships = np.empty(shape, dtype=part.dtype)
        memberships[start : start + len(part)] = part
        total, start = total + objective, start + len(part)
    return memberships, total


def _new_memberships(block: Block, centre, gaussians, kind, log_scales):
    return priced_memberships(_log_affinity(block, centre, gaussians, kind), log_scales)[0]


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
    polish : bool, default=True
        After the last iteration, find exact prices and give each row the memberships that are best
        for it at these, so that ``transform`` of the training rows is ``memberships_``. False
        leaves the memberships of the last iteration, as the paper does.
    random_state : int, RandomState instance or None, default=None
        For the first centres.

    Attributes
    ----------
    memberships_ : ndarray of shape (n_samples, n_strata)
        Memberships of the training rows; each column adds up to the stratum's size.
    log_scales_ : ndarray of shape (n_strata,)
        :math:`\log c_j`; minus the log price of a membership.
    means_ : ndarray of shape (n_strata, n_features)
        Centres.
    covariances_ : ndarray
        Shaped as in :class:`sklearn.mixture.GaussianMixture`.
    objective_path_ : ndarray of shape (n_iter_ + 1,)
        Mean log likelihood at the start and after each iteration; it never falls.
    objective_ : float
        Mean log likelihood of ``memberships_``; never below that of the last iteration.
    polished_ : bool
        Whether ``memberships_`` follow from exact prices.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the last iteration gained no more than ``tol``.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where they all have one.

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
    instance where two strata coincide or a row of few is torn between two strata. If the
    memberships would be worse than the last iteration's, those are kept and ``polished_`` is
    false.

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

    _parameter_constraints: dict = {  # noqa: RUF012
        **GaussianStrata._parameter_constraints,  # noqa: SLF001
        "stratum_size": [Interval(Real, 0, 1, closed="right"), tuple, list],
        "polish": ["boolean"],
        "total_size": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        n_strata=20,
        stratum_size=0.4,
        *,
        total_size=None,
        covariance_type="diag",
        init="k-means++",
        max_iter=200,
        tol=1e-4,
        variance_floor=1e-2,
        polish=True,
        random_state=None,
    ):
        self.n_strata = n_strata
        self.stratum_size = stratum_size
        self.total_size = total_size
        self.covariance_type = covariance_type
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.variance_floor = variance_floor
        self.polish = polish
        self.random_state = random_state

    def _check_sizes(self, n_samples: int) -> None:
        super()._check_sizes(n_samples)
        if isinstance(self.stratum_size, Real):
            smallest = self.stratum_size
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

    def _sizes(self, source: BlockSource, weight: float) -> np.ndarray:
        if isinstance(self.stratum_size, Real):
            return np.full(self.n_strata, self.stratum_size * weight)
        low, high = self.stratum_size
        return share_budget(
            source, low * weight, high * weight, self.total_size * weight, self.n_strata
        )

    def _first_rule(self) -> Rule:
        pair = not isinstance(self.stratum_size, Real)
        share = self.total_size / self.n_strata if pair else self.stratum_size
        return Rule(np.full((self.n_strata, 1), np.log(share)), first_bins(self.n_strata))

    def _next_rule(self, source: BlockSource, moments, rule: Rule) -> Rule:
        # the bins of any stratum hold each row once
        sizes = self._sizes(source, moments.counts[0].sum())
        caps = solve_caps(source, sizes, rule.bins, (moments.counts, moments.masses))
        before = rule.prior if isinstance(rule.prior, Caps) else None
        return Rule(caps, bins_around(caps, before))

    def _finish(self, source: BlockSource, state: EMState) -> None:
        caps = self._next_rule(source, state.total, state.rule).prior
        weight, model = state.total.counts[0].sum(), self._centred()
        shape = source.shape[0], self.n_strata
        reached = sum(objective for _, objective in source.map(_capped, model, caps))
        self.polished_ = False
        if self.polish:
            prices = find_prices(source, model, caps.log_scales, self._sizes(source, weight))
            self.memberships_, total = _collect(source.map(polished, model, prices), shape)
            rounding = 32 * np.finfo(self.memberships_.dtype).eps * (abs(reached) + weight)
            self.log_scales_, self.polished_ = prices.log_scales, bool(total >= reached - rounding)
        if not self.polished_:
            self.memberships_, total = _collect(source.map(_capped, model, caps), shape)
            self.log_scales_ = caps.log_scales
        self.objective_ = float(total / weight)

    def transform(self, X):
        """Memberships that are best for new rows at the strata's prices.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_strata)
            Memberships in [0, 1], at most one of a row's strictly between.
        """
        check_is_fitted(self)
        return np.concatenate(list(self._map_rows(X, _new_memberships, self.log_scales_)))
