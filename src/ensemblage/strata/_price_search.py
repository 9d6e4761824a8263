r"""The search for exact prices, at which the rows' own best memberships give the wanted sizes.

A row's memberships change only where a price passes the value at which the row turns. So once
prices are nearly right, the few rows that turn nearby are taken aside, and the search goes on with
them alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ensemblage.blocks import Block, BlockSource
from ensemblage.kernels import priced_memberships, sizes_at_prices
from ensemblage.strata._coinciding import SharedModel

Floats = NDArray[np.floating[Any]]
Doubles = NDArray[np.float64]
Numbers = NDArray[np.intp]
Flags = NDArray[np.bool_]
R = TypeVar("R", "PricedRows", "Turning")

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
ASIDE, LEAST_ENTRIES, MOST_ASIDE, LARGEST_SHARE = 4.0, 2**18, 1e6, 1 / 8
"""Rows that turn within so many times the reach are taken aside: if there are so many memberships
or more, if so many at most are taken, and no larger share of them."""


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


class PricedRows(NamedTuple):
    """Rows as prices see them."""

    log_density: Floats
    """Of shape (n_groups, n_rows)."""
    weights: Doubles
    numbers: Numbers

    def take(self, which: Flags) -> PricedRows:
        """Give some of the rows."""
        return PricedRows(self.log_density[:, which], self.weights[which], self.numbers[which])


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


class Sighting(NamedTuple):
    """What all rows come to at given prices, and those of them that turn nearby."""

    measured: Measured
    near: PricedRows


class Aside(NamedTuple):
    r"""The rows that turn near given prices, and what all others come to.

    A row without a fraction has :math:`Z = \sum_j p_j` over the strata that it is full in. That
    does not depend on prices: none of its memberships changes before some price passes its
    :math:`Z / p_j`.
    """

    rows: PricedRows
    elsewhere: Doubles
    """Sizes that the strata have in the other rows."""
    log_scales: Doubles
    within: Doubles
    """Every other row turns farther away than this from its log scale."""

    def left(self, log_scales: Doubles) -> Doubles:
        """How far from these log scales no other row turns."""
        return self.within - np.abs(log_scales - self.log_scales)

    def measure(self, log_scales: Doubles, reach: Doubles) -> Measured:
        """Measure all rows by looking at these."""
        measured, _ = _measure_rows(self.rows, log_scales, reach)
        return measured._replace(sizes=measured.sizes + self.elsewhere)

    def next_to_turn(self, log_scales: Doubles, missing: Doubles) -> Turning | None:
        """Give the rows that turn next, unless others might be among them."""
        found = _turning(self.rows, log_scales, missing)
        there = np.bincount(found.groups, found.room * found.weights, minlength=len(missing))
        known = found.distance <= self.left(log_scales)[found.groups]
        return found if known.all() and (there >= np.abs(missing)).all() else None


class Market:
    """All rows of a source, asked what they would do at given prices."""

    def __init__(self, source: BlockSource, shared: SharedModel) -> None:
        self._source, self._shared, self._weight = source, shared, source.weights.sum()
        self._aside: Aside | None = None
        self._few = False

    def measure(self, log_scales: Doubles, reach: Doubles) -> Measured:
        """Sizes at these prices, and how they would change within reach."""
        if self._aside is not None and (self._aside.left(log_scales) >= reach).all():
            return self._aside.measure(log_scales, reach)
        if not self._few:
            self._aside = None
            return Measured(*self._source.total(_measure, self._shared, log_scales, reach))
        state = self._shared, log_scales, reach, ASIDE * reach
        measured, near = self._source.total(_measure_and_take_aside, *state, combine=_join_sights)
        own, _ = _measure_rows(near, log_scales, reach)
        elsewhere = measured.sizes - own.sizes
        self._aside = Aside(near, elsewhere, log_scales, ASIDE * reach)
        return measured

    def expect(self, measured: Measured, reach: Doubles, next_reach: Doubles) -> None:
        """Tell from what was measured within reach how many rows turn within the next."""
        n_rows, n_groups = self._source.shape[0], len(reach)
        turning = measured.turns.sum(axis=1) * ASIDE * next_reach / reach + measured.fractions
        share = turning.sum() / self._weight
        most = min(MOST_ASIDE / n_groups, LARGEST_SHARE * n_rows)
        self._few = n_rows * n_groups >= LEAST_ENTRIES and share * n_rows <= most

    def next_to_turn(self, log_scales: Doubles, missing: Doubles) -> Turning:
        """For each group the rows that could take what its size lacks, the nearest to turning."""
        found = None if self._aside is None else self._aside.next_to_turn(log_scales, missing)
        if found is None:
            state = self._shared, log_scales, missing
            found = self._source.total(_next_to_turn, *state, combine=_join)
        return found


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
    row = float(source.weights.max())
    reach, market = np.full(len(sizes), FIRST_REACH), Market(source, shared)
    best_left, best_scales, best_missing, since = np.inf, log_scales, sizes, 0
    for turn in range(1, _passes(source.shape[0], len(sizes)) + 1):
        measured = market.measure(log_scales, reach)
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
        next_reach = np.where(moving, outlook.reach, reach)
        market.expect(measured, reach, next_reach)
        reach = next_reach
    found = market.next_to_turn(best_scales, best_missing)
    return Prices(best_scales, _last_changes(found, best_missing))


def _passes(n_rows: int, n_groups: int) -> int:
    """How often the rows may be gone through."""
    return int(np.clip(MOST_ENTRIES / (n_rows * n_groups), FEW_PASSES, MOST_PASSES))


def _pick(eligible: Flags, turn: int) -> int:
    """One of the eligible groups, another each turn."""
    groups = np.flatnonzero(eligible)
    return int(groups[turn % len(groups)])


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


def _last_changes(found: Turning, missing: Doubles) -> list[Change]:
    """Choose rows that take what the sizes still lack, few for each group."""
    changes = []
    for j, lack in enumerate(missing):
        own = np.flatnonzero(found.groups == j)
        own = own[np.argsort(found.distance[own], kind="stable")]
        roomy = own[found.room[own] * found.weights[own] >= abs(lack)]
        taken = 0.0
        for entry in roomy[:1] if len(roomy) else own:
            room, weight = found.room[entry], found.weights[entry]
            amount = np.clip((lack - taken) / weight, -room, room)
            if amount != 0:
                changes.append(Change(int(found.rows[entry]), j, amount))
            taken += amount * weight
    return changes


def _priced(block: Block, shared: SharedModel) -> PricedRows:
    numbers = block.start + np.arange(len(block.rows))
    return PricedRows(shared.log_densities(block.rows), block.weights, numbers)


def _measure(block: Block, shared: SharedModel, log_scales: Doubles, reach: Doubles) -> Measured:
    return _measure_rows(_priced(block, shared), log_scales, reach)[0]


def _measure_and_take_aside(
    block: Block, shared: SharedModel, log_scales: Doubles, reach: Doubles, within: Doubles
) -> Sighting:
    rows = _priced(block, shared)
    measured, log_sums = _measure_rows(rows, log_scales, reach)
    distances = np.abs(log_sums - rows.log_density - log_scales[:, None])
    near = np.any(distances <= within[:, None], axis=0)
    return Sighting(measured, rows.take(near))


def _measure_rows(
    rows: PricedRows, log_scales: Doubles, reach: Doubles
) -> tuple[Measured, Doubles]:
    """Measure rows, and give the log likelihood of each."""
    memberships, log_sums = priced_memberships(rows.log_density, log_scales)
    sizes, fractions, turns = sizes_at_prices(
        rows.log_density, memberships, log_sums, rows.weights, log_scales, reach, N_BINS
    )
    rounding = fractions * np.finfo(memberships.dtype).eps
    return Measured(sizes, fractions, turns, rounding), log_sums


def _join_sights(left: Sighting, right: Sighting) -> Sighting:
    measured = Measured(*(a + b for a, b in zip(left.measured, right.measured, strict=True)))
    return Sighting(measured, _join(left.near, right.near))


def _next_to_turn(
    block: Block, shared: SharedModel, log_scales: Doubles, missing: Doubles
) -> Turning:
    return _turning(_priced(block, shared), log_scales, missing)


def _turning(rows: PricedRows, log_scales: Doubles, missing: Doubles) -> Turning:
    """Find the rows nearest to each group's price that have room for what its size lacks."""
    memberships, log_sums = priced_memberships(rows.log_density, log_scales)
    parts = []
    for j, lack in enumerate(missing):
        tau = memberships[j].astype(np.float64)
        room = 1 - tau if lack > 0 else tau
        distance = np.abs(log_sums - rows.log_density[j] - log_scales[j])
        capacity = room * rows.weights
        eligible = np.flatnonzero(capacity > 0)
        roomy = eligible[capacity[eligible] >= abs(lack)]
        if len(roomy) > 0:
            best = roomy[[distance[roomy].argmin()]]
        else:
            nearest = eligible[np.argsort(distance[eligible], kind="stable")]
            best = nearest[: np.searchsorted(np.cumsum(capacity[nearest]), abs(lack)) + 1]
        own = np.full(len(best), j)
        parts.append(
            Turning(own, distance[best], room[best], rows.numbers[best], rows.weights[best])
        )
    return Turning(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _join(left: R, right: R) -> R:
    """Put the rows of two blocks side by side."""
    pairs = zip(left, right, strict=True)
    return type(left)(*(np.concatenate(pair, axis=-1) for pair in pairs))
