"""Exact prices after expectation maximisation: memberships that no row could better.

Strata that coincide have one price, and share.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ensemblage.blocks import Block, BlockSource, of_carries
from ensemblage.kernels import (
    Caps,
    log_memberships,
    priced_memberships,
    share_rows,
    sizes_at_prices,
)
from ensemblage.strata._caps import log_scales_of
from ensemblage.strata._gaussian_start import StrataModel

Floats = NDArray[np.floating[Any]]
Doubles = NDArray[np.float64]
Numbers = NDArray[np.intp]
Flags = NDArray[np.bool_]

SAME = 5e-3
"""Gaussians with a smaller divergence coincide: where they are high their log densities differ by
7 %, and iterations that stopped there had not begun to part them."""
N_BINS = 128
"""On each side of a price."""
TOGETHER, PATIENCE, TURNS = 3, 8, 3
"""After so many passes that brought no size closer, move one price at a time, or stop: but not
before each stratum whose size is not met had so many turns."""
MOST_PASSES, FEW_PASSES, MOST_ENTRIES = 1000, 50, 2e8
"""So many passes at most; with so many memberships to look at in all of them, fewer."""
TOLERANCE = 1e-10
"""Sizes this close, relatively, need no other price."""
STEEP = 12.0
"""From this log scale on a membership turns within 1e-5 of it."""
FIRST_REACH, GROWTH, CLOSER, LAST_REACH = 0.5, 8.0, 16.0, 1e9
HIGH = 600.0
"""Larger log scales are as good as this one: fractions turn within less than a float."""


class Groups(NamedTuple):
    r"""Strata that coincide, taken as one.

    Members of a group share a row equally. With :math:`\tau` the membership in each of them, the
    row's likelihood has the part :math:`\tau \sum_j p_j`: a group is a stratum like any other,
    with the sum of its members' densities, a price that is the sum of theirs, and their size.
    """

    numbers: Numbers
    """Group of each stratum, of shape (n_strata,), numbered by their first members."""

    @property
    def counts(self) -> Numbers:
        """Number of strata in each group."""
        return np.bincount(self.numbers)

    @property
    def distinct(self) -> bool:
        """Whether each stratum is a group of its own."""
        return len(self.counts) == len(self.numbers)

    def join_densities(self, log_density: Floats) -> Floats:
        """Log densities of the groups, of shape (n_groups, n_rows), from those of the strata."""
        if self.distinct:
            return log_density
        members = (log_density[self.numbers == group] for group in range(len(self.counts)))
        return np.stack([np.logaddexp.reduce(own) for own in members])

    def join_sizes(self, sizes: Doubles) -> Doubles:
        """Size of each group's members, the mean where sizes may range."""
        return sizes if self.distinct else self._means(sizes)

    def join_scales(self, log_scales: Doubles) -> Doubles:
        """Log scales of the groups, that is, minus the logs of their prices."""
        return log_scales if self.distinct else self._means(log_scales) - np.log(self.counts)

    def split_scales(self, log_scales: Doubles) -> Doubles:
        """Log scales of the strata from those of their groups."""
        return log_scales if self.distinct else (log_scales + np.log(self.counts))[self.numbers]

    def join_memberships(self, log_memberships: Floats) -> Floats:
        """Log of the mean membership in each group, of shape (n_groups, n_rows)."""
        means: Floats = self.join_densities(log_memberships) - np.log(self.counts)[:, None]
        return means

    def split_memberships(self, memberships: Floats) -> Floats:
        """Memberships in the strata, of shape (n_rows, n_strata), from those in their groups."""
        return memberships if self.distinct else memberships[:, self.numbers]

    def _means(self, values: Doubles) -> Doubles:
        return np.bincount(self.numbers, values) / self.counts


class SharedModel(NamedTuple):
    """Densities in which strata that coincide are one."""

    model: StrataModel
    groups: Groups

    def log_densities(self, rows: Floats) -> Floats:
        """Log density of each row, of shape (n_groups, n_rows)."""
        return self.groups.join_densities(self.model.log_densities(rows))


def find_groups(model: StrataModel) -> Groups:
    """Put each stratum to the first one before it that it coincides with, or else apart."""
    firsts = [0]
    numbers = np.zeros(len(model.gaussians.means), dtype=np.intp)
    for j in range(1, len(numbers)):
        same = divergences(model, j, firsts) < SAME
        numbers[j] = same.argmax() if same.any() else len(firsts)
        if not same.any():
            firsts.append(j)
    return Groups(numbers)


def divergences(model: StrataModel, j: int, others: list[int]) -> Doubles:
    r"""Jeffreys' divergence, the sum of both Kullback-Leibler divergences, from some strata.

    It is :math:`\frac12 \mathrm{tr}((P_j - P_k)(\Sigma_k - \Sigma_j)) + \frac12 \delta'(P_j +
    P_k)\delta` with precisions :math:`P` and :math:`\delta = \mu_k - \mu_j`: about the mean square
    of the difference of the log densities.
    """
    means, covariances, factors = model.gaussians
    apart = means[others] - means[j]
    twice: Doubles
    if model.kind == "tied":
        twice = 2 * ((apart @ factors) ** 2).sum(axis=1)
    elif model.kind == "full":
        spread = covariances[others] - covariances[j]
        precisions = factors @ np.swapaxes(factors, 1, 2)
        less, more = precisions[j] - precisions[others], precisions[j] + precisions[others]
        twice = (less * spread).sum(axis=(1, 2)) + np.einsum("kd,kde,ke->k", apart, more, apart)
    else:
        by_column = (len(others), -1)  # one column if spherical
        own, theirs = factors[j].reshape(-1), factors[others].reshape(by_column)
        spread = (covariances[others] - covariances[j]).reshape(by_column)
        parts = (own - theirs) * spread + apart**2 * (own + theirs)
        twice = parts.sum(axis=1)
    return twice / 2


class Change(NamedTuple):
    """What to add to the membership that is best for a row, to make a size exact."""

    row: int
    group: int
    amount: np.float64
    """NumPy's own, so that a float32 membership is added to in double precision."""


class Prices(NamedTuple):
    r"""Where each group of strata stands, and what single rows do to make its size exact."""

    log_scales: Doubles
    r""":math:`\log c_j`, minus the log prices, of shape (n_groups,)."""
    changes: list[Change]


class Reached(NamedTuple):
    """What memberships come to; blocks add up."""

    objective: float
    """Weighted sum of log likelihoods."""
    sizes: Doubles
    """Of the strata, in weight."""


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


class AtPrices(NamedTuple):
    """What a block's rows do at given prices."""

    log_density: Floats
    """Of shape (n_groups, n_rows)."""
    memberships: Floats
    """Of shape (n_rows, n_groups)."""
    log_sums: Doubles
    """Log likelihood of each row."""


class Measured(NamedTuple):
    """Sizes at given prices, and how they would change with these; a row per group."""

    sizes: Doubles
    fractions: Doubles
    """Weight of the rows with a fraction."""
    turns: Doubles
    """Weight of the rows that turn in each bin around the log scale."""
    rounding: Doubles


class Outlook(NamedTuple):
    """How far each log scale has to go, as far as the histogram tells; fields by group."""

    moves: Doubles
    reach: Doubles
    """How far to look around the new scales."""
    settled: Flags
    """Whether no price is better: the very next row makes up for all that is missing, and beyond
    STEEP prices hardly make fractions."""


class Turning(NamedTuple):
    """Rows that could take what sizes lack, one entry for each group and row."""

    groups: Numbers
    distance: Doubles
    """From the price at which the membership turns, in logs."""
    room: Doubles
    """By how much the membership may change."""
    rows: Numbers
    weights: Doubles


def find_prices(
    source: BlockSource, shared: SharedModel, log_scales: Doubles, sizes: Doubles
) -> Prices:
    r"""Find the prices at which the rows' own best memberships give the wanted sizes.

    Log scales :math:`\log c_j = -\log\lambda_j` to start from and sizes are those of the strata.
    With the Gaussians fixed the problem in :math:`\tau` is concave, and at the optimum each row
    has the memberships that are best for it at the prices :math:`\lambda_j`. A size rises with its
    own :math:`c_j` and falls with the others', the more so its own: so all prices are corrected at
    once, each as if the others stood still. Of strata that coincide that would not be true, and
    no price tells them apart: they are one group and have one price.
    A row turns from none to full membership at one value of :math:`\log c_j`; where :math:`c_j` is
    so large that no float lies between, one row takes the fraction that makes the size exact.
    """
    log_scales, sizes = shared.groups.join_scales(log_scales), shared.groups.join_sizes(sizes)
    row = source.total(_largest_weight, combine=max)
    reach = np.full(len(sizes), FIRST_REACH)
    best_left, best_scales, best_missing, since = np.inf, log_scales, sizes, 0
    for turn in range(1, _passes(source.shape[0], len(sizes)) + 1):
        measured = Measured(*source.total(_measure, shared, log_scales, reach))
        missing = sizes - measured.sizes
        outlook = _look_out(missing, measured, log_scales, reach, row)
        done = outlook.settled | (np.abs(missing) <= TOLERANCE * sizes + measured.rounding)
        left = np.abs(missing[~done]).sum()
        since = 0 if left <= 0.9 * best_left else since + 1
        if left < best_left:
            best_left, best_scales, best_missing = left, log_scales, missing
        if done.all() or since >= PATIENCE + TURNS * (~done).sum():
            break
        # strata that take rows from each other in turn come to rest if one of them moves at a time
        moving = ~done if since <= TOGETHER else np.arange(len(sizes)) == _pick(~done, turn)
        log_scales = np.where(moving, log_scales + outlook.moves, log_scales)
        reach = np.where(moving, outlook.reach, reach)
    return Prices(best_scales, _last_changes(source, shared, best_scales, best_missing))


def _passes(n_rows: int, n_groups: int) -> int:
    """How often the rows may be gone through."""
    return int(np.clip(MOST_ENTRIES / (n_rows * n_groups), FEW_PASSES, MOST_PASSES))


def polished(block: Block, shared: SharedModel, prices: Prices) -> BlockFit:
    """Fit a block at given prices: best for each row but for the last changes."""
    log_density, memberships, log_sums = _at_prices(block, shared, prices.log_scales)
    for row, group, amount in prices.changes:
        i = row - block.start
        if 0 <= i < len(memberships):
            memberships[i, group] = np.clip(memberships[i, group] + amount, 0.0, 1.0)
            with np.errstate(divide="ignore"):
                log_sums[i] = np.logaddexp.reduce(np.log(memberships[i]) + log_density[:, i])
    objective = float(block.weights @ log_sums)
    return _block_fit(block, shared.groups.split_memberships(memberships), objective)


def _block_fit(block: Block, memberships: Floats, objective: float) -> BlockFit:
    sizes = block.weights @ memberships.astype(np.float64)
    return BlockFit(memberships, Reached(objective, sizes))


def _at_prices(block: Block, shared: SharedModel, log_scales: Doubles) -> AtPrices:
    log_density = shared.log_densities(block.rows)
    return AtPrices(log_density, *priced_memberships(log_density, log_scales))


def _measure(block: Block, shared: SharedModel, log_scales: Doubles, reach: Doubles) -> Measured:
    at_prices = _at_prices(block, shared, log_scales)
    sizes, fractions, turns = sizes_at_prices(*at_prices, block.weights, log_scales, reach, N_BINS)
    rounding = fractions * np.finfo(at_prices.memberships.dtype).eps
    return Measured(sizes, fractions, turns, rounding)


def _pick(eligible: Flags, turn: int) -> int:
    """One of the eligible groups, another each turn."""
    groups = np.flatnonzero(eligible)
    return int(groups[turn % len(groups)])


@of_carries
def _largest_weight(block: Block) -> float:
    return float(block.weights.max())


def _look_out(
    missing: Doubles, measured: Measured, log_scales: Doubles, reach: Doubles, row: float
) -> Outlook:
    """Walk outwards from each price until enough rows have turned; ``row`` is the heaviest."""
    side = np.where(missing > 0, 1.0, -1.0)
    turns, fractions = measured.turns, measured.fractions
    outwards = np.where(missing[:, None] > 0, turns[:, N_BINS:], turns[:, N_BINS - 1 :: -1])
    gained = np.cumsum(outwards, axis=1) + _by_fractions(side, fractions, log_scales, reach)
    enough = gained >= np.abs(missing)[:, None]
    crossed = enough[:, -1]
    k = np.where(crossed, enough.argmax(axis=1), N_BINS - 1)
    own = np.arange(len(missing))
    before = np.where(k > 0, gained[own, k - 1], 0.0)
    gap = gained[own, k] - before
    part = np.minimum(np.abs(missing) - before, gap) / np.where(gap > 0, gap, 1.0)
    next_row = outwards[own, k]
    # a single row that turns in this bin has to be passed, or nothing changes
    moves = (k + np.where(next_row > 0, 1.0, part)) * reach / N_BINS
    moves = np.where(crossed, moves, reach)
    first = k == (outwards > 0).argmax(axis=1)
    single = (next_row <= row) & first & (np.abs(missing) <= next_row)
    # equal rows turn together: no float lies between none and all of them
    stuck = crossed & (moves <= 4 * np.spacing(np.abs(log_scales)))
    next_reach = np.where(crossed, reach / CLOSER, np.minimum(GROWTH * reach, LAST_REACH))
    return Outlook(side * moves, next_reach, single & (log_scales > STEEP) | stuck)


def _by_fractions(
    side: Doubles, fractions: Doubles, log_scales: Doubles, reach: Doubles
) -> Doubles:
    """Weight that rows with a fraction gain up to each far edge, of shape (n_groups, N_BINS)."""
    edges = np.arange(1, N_BINS + 1) * (reach / N_BINS)[:, None]
    slope = fractions * np.exp(np.minimum(log_scales, HIGH))
    growth = np.abs(np.expm1(np.clip(side[:, None] * edges, -HIGH / 12, HIGH / 12)))
    return np.minimum(growth * slope[:, None], fractions[:, None])


def _last_changes(
    source: BlockSource, shared: SharedModel, log_scales: Doubles, missing: Doubles
) -> list[Change]:
    """Choose rows that take what the sizes still lack, few for each group."""
    found = source.total(_next_to_turn, shared, log_scales, missing, combine=_join)
    changes = []
    for j, lack in enumerate(missing):
        own = np.flatnonzero(found.groups == j)
        own = own[np.argsort(found.distance[own], kind="stable")]
        roomy = own[found.room[own] * found.weights[own] >= abs(lack)]
        taken = 0.0
        for entry in roomy[:1] if len(roomy) else own:
            room, weight = found.room[entry], found.weights[entry]
            amount = np.clip((lack - taken) / weight, -room, room)
            changes.append(Change(int(found.rows[entry]), j, amount))
            taken += amount * weight
    return changes


def _next_to_turn(
    block: Block, shared: SharedModel, log_scales: Doubles, missing: Doubles
) -> Turning:
    """Find the rows nearest to each group's price that have room for what its size lacks."""
    log_density, memberships, log_sums = _at_prices(block, shared, log_scales)
    parts = []
    for j, lack in enumerate(missing):
        tau = memberships[:, j].astype(np.float64)
        room = 1 - tau if lack > 0 else tau
        distance = np.abs(log_sums - log_density[j] - log_scales[j])
        capacity = room * block.weights
        eligible = np.flatnonzero(capacity > 0)
        roomy = eligible[capacity[eligible] >= abs(lack)]
        if len(roomy) > 0:
            best = roomy[[distance[roomy].argmin()]]
        else:
            nearest = eligible[np.argsort(distance[eligible], kind="stable")]
            best = nearest[: np.searchsorted(np.cumsum(capacity[nearest]), abs(lack)) + 1]
        own = np.full(len(best), j)
        found = Turning(own, distance[best], room[best], block.start + best, block.weights[best])
        parts.append(found)
    return Turning(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _join(left: Turning, right: Turning) -> Turning:
    return Turning(*(np.concatenate(pair) for pair in zip(left, right, strict=True)))


def fit_by_prices(
    source: BlockSource, shared: SharedModel, log_scales: Doubles, sizes: Doubles
) -> Fitted:
    """Memberships at exact prices, sought from given log scales of the strata."""
    prices = find_prices(source, shared, log_scales, sizes)
    fitted = source.collect(polished, shared, prices)
    return Fitted(*fitted, shared.groups.split_scales(prices.log_scales))


def fit_by_caps(source: BlockSource, shared: SharedModel, caps: Caps) -> Fitted:
    """Memberships under caps, as the last iteration left them."""
    return Fitted(*source.collect(_capped, shared.model, caps), log_scales_of(caps))


def objective_by_caps(source: BlockSource, shared: SharedModel, caps: Caps) -> float:
    """Objective of the last iteration, with what strata that coincide lose by sharing."""
    if shared.groups.distinct:
        return source.total(_capped_objective, shared.model, caps)[0]
    return source.total(_capped_and_shared, shared, caps)[0]


def _capped(block: Block, model: StrataModel, caps: Caps) -> BlockFit:
    affinity, (objective,) = _affinity(block), _capped_objective(block, model, caps)
    return _block_fit(block, np.exp(log_memberships(affinity, caps)).T, objective)


def _capped_objective(block: Block, model: StrataModel, caps: Caps) -> tuple[float]:
    log_density, affinity = model.log_densities(block.rows), _affinity(block)
    *_, objective = share_rows(log_density, affinity, block.weights, *caps)
    return (float(objective),)


def _capped_and_shared(block: Block, shared: SharedModel, caps: Caps) -> tuple[float]:
    """Objective of a block under given caps, if strata that coincide share equally."""
    log_shares = shared.groups.join_memberships(log_memberships(_affinity(block), caps))
    log_sums = np.logaddexp.reduce(log_shares + shared.log_densities(block.rows), axis=0)
    return (float(block.weights @ log_sums),)


def _affinity(block: Block) -> Floats:
    """Log responsibilities that the last pass left with the rows, of shape (n_strata, n_rows)."""
    return cast("Floats", block.carry)
