"""Search for joint feature subsets: steps, annealing, climbing, the paper's sequence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from ensemblage._core import Fold, deal_folds
from ensemblage.fusion import FusionContext, SoftmaxGate, product_rule
from ensemblage.subspace._kernels import (
    MaskedMember,
    MixtureParameters,
    StepBuffers,
    StepRows,
    mixture_loss,
    step_buffers,
)
from ensemblage.subspace._objectives import (
    Member,
    Rows,
    Settings,
    Walk,
    member_logits,
    member_outputs,
    outputs_of,
    resolve,
)

Doubles = NDArray[np.float64]
Floats = NDArray[np.floating[Any]]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]


START_SCALE = 0.01
DRAWN_AT_ONCE = 64


class State(NamedTuple):
    """Where the fit of one member stands."""

    member: Member
    logits: Floats  # (n_outputs, n_rows), or predictions
    accuracy: float  # weighted (eq. 7), or another objective's score


def first_member(rows: Rows, rng: np.random.Generator) -> Member:
    r"""Start of a member: :math:`\Theta^0 \sim N(0, 0.01^2)` and all features (line 3)."""
    n_columns, dtype = len(rows.features), rows.features.dtype
    coef = rng.normal(0.0, START_SCALE, (rows.n_outputs, n_columns)).astype(dtype)
    everything = np.ones(n_columns, dtype=bool)
    return Member(coef, np.zeros(rows.n_outputs, dtype), everything, np.empty(0), 0)


def state_of(member: Member, rows: Rows, weights: Floats) -> State:
    """Where a member stands on the rows, by its weights of them."""
    logits = member_logits(rows.features, member)
    return State(member, logits, rows.objective.score(logits, rows.targets, weights))


def proposals(rng: np.random.Generator, n_units: int, flip_probability: float) -> Iterator[Indices]:
    """Features to flip, one proposal after another (lines 6 and 7); some flip none."""
    while True:
        for drawn in rng.random((DRAWN_AT_ONCE, n_units)) < flip_probability:
            yield np.flatnonzero(drawn)


def seen_units(rows: Rows, state: State) -> Mask:
    """Mask of what is flipped as a whole: the features, or groups of them."""
    support = state.member.support
    return support if rows.units is None else support[rows.units.lead]


def flipped_columns(rows: Rows, state: State, flipped: Indices) -> Indices:
    """Columns that come or go with what is flipped."""
    if rows.units is None:
        return flipped
    return rows.units.flipped_columns(state.member.support, flipped)


def empties(support: Mask, flipped: Indices) -> bool:
    """Tell whether flipping would leave no feature."""
    kept = int(support.sum()) + flipped.size - 2 * int(support[flipped].sum())
    return kept == 0


def try_flip(
    rows: Rows, weights: Floats, state: State, flipped: Indices, walk: Walk, buffers: StepBuffers
) -> None:
    """Take a step uphill under the current and the proposed mask; results are in the buffers."""
    learned = StepRows(rows.features, rows.targets, weights)
    start = MaskedMember(state.member.coef, state.member.support, state.logits)
    rows.objective.step(learned, start, flipped, walk.rate, walk.decay, buffers)


def moved(state: State, buffers: StepBuffers, flipped: Indices, accept: bool) -> State:
    """State after a step under the current or, if accepted, the proposed mask."""
    n_outputs = len(state.logits)
    part = slice(n_outputs, None) if accept else slice(n_outputs)
    coef = state.member.coef + buffers.coef_step[part]
    intercept = (state.member.intercept + buffers.intercept_step[part]).astype(coef.dtype)
    support = state.member.support
    if accept:
        support = support.copy()
        support[flipped] ^= True
    member = state.member._replace(coef=coef, intercept=intercept, support=support)
    return State(member, buffers.logits[part].copy(), float(buffers.accuracy[int(accept)]))


SMALLEST_WEIGHT = 1e-6


def anneal(rows: Rows, weights: Floats, rng: np.random.Generator, walk: Walk) -> Member:
    r"""Fit one member: converge, walk over masks, converge again under the best.

    Its row weights are :math:`w_{km} / M`. A proposal :math:`\Lambda'` is accepted if
    :math:`A' - A + \rho \bar w (|\Lambda| - |\Lambda'|) > 0`, or on a tie if it is smaller.
    Both candidates take one step uphill before they are compared, as in Algorithm 1, so the
    coefficients follow the mask. Best is the largest :math:`A - \rho \bar w |\Lambda|`. Without
    flips all features stay.
    """
    mean_weight = float(weights.sum())
    walk = walk._replace(decay=walk.decay * mean_weight, price=walk.price * mean_weight)
    member = converge(rows, weights, first_member(rows, rng), walk.decay, walk.tol)
    state = state_of(member, rows, weights)
    if walk.flip_probability == 0:
        return member._replace(accuracy_path=np.array([state.accuracy]))
    drawn = _at_least_one(proposals(rng, rows.n_units, walk.flip_probability), rng, rows.n_units)
    best, path = _explore(rows, weights, state, drawn, walk)
    member = converge(rows, weights, best.member, walk.decay, walk.tol)
    return member._replace(accuracy_path=np.array(path), n_iter=len(path) - 1)


def climb(rows: Rows, weights: Floats, rng: np.random.Generator, walk: Walk) -> Member:
    r"""Fit one member by Algorithm 1, lines 3 to 22; its row weights are :math:`w_{km} / M`.

    It stops at the first iteration that gains less than ``walk.tol``, the paper's ``thr``.
    """
    state = state_of(first_member(rows, rng), rows, weights)
    path = [state.accuracy]
    buffers = step_buffers(rows.n_outputs, rows.features)
    drawn = proposals(rng, rows.n_units, walk.flip_probability)
    n_iter = 0
    for n_iter, proposed in zip(  # noqa: B007  counts the last one too
        range(1, walk.max_iter + 1), drawn, strict=False
    ):
        # an empty mask is not a proposal
        nothing = empties(seen_units(rows, state), proposed)
        flipped = proposed[:0] if nothing else flipped_columns(rows, state, proposed)
        try_flip(rows, weights, state, flipped, walk, buffers)
        if buffers.accuracy.max() - state.accuracy < walk.tol:
            break
        better = bool(buffers.accuracy[0] < buffers.accuracy[1])
        state = moved(state, buffers, flipped, better)
        path.append(state.accuracy)
    return state.member._replace(accuracy_path=np.array(path), n_iter=n_iter)


SOLVERS = {"paper": climb, "lbfgs": anneal}


def member_weights(probability_sum: Floats, n_before: int) -> Floats:
    r"""Row weights of the next member, between 1e-6 and 1 (eq. 8).

    :math:`w_m = 1 - \frac{1}{k-1} \sum_{k'} p_{k'}(y_m \mid x_m)` of the earlier members'
    probabilities of the true class; all ones for the first, for which the paper leaves them open.
    """
    if n_before == 0:
        return np.ones_like(probability_sum)
    return np.clip(1.0 - probability_sum / n_before, SMALLEST_WEIGHT, 1.0)


def fit_sequence(rows: Rows, seeds: Sequence[int], settings: Settings) -> Iterator[Member]:
    """Fit members in turn, as many as there are seeds (lines 2 to 4)."""
    solve, walk = SOLVERS[settings.solver], resolve(settings, rows)
    probability_sum = np.zeros_like(rows.weights)
    for k, seed in enumerate(seeds):
        weights = member_weights(probability_sum, k) * rows.weights
        member = solve(rows, weights, np.random.default_rng(seed), walk)
        yield member
        outputs = member_logits(rows.features, member)
        credit = rows.objective.credit(outputs, rows.targets, rows.weights)
        probability_sum = probability_sum + credit


# Differences of accuracy below this share of the mean weight are rounding, not rows.
TIE = 1e-10
MAX_LBFGS = 200


def converge(
    rows: Rows, weights: Floats, member: Member, decay: float, tol: float = 1e-5
) -> Member:
    """Climb to the top of the likelihood under a fixed mask, by L-BFGS unless it can be solved for.

    Coefficients outside the mask stay as they are. ``decay`` is in units of the weighted
    log-likelihood, and ``tol`` the largest slope at which to stop, per unit of the weights' sum.
    """
    seen = np.ascontiguousarray(rows.features[member.support])
    if rows.objective.optimum is not None:
        top = rows.objective.optimum(seen, rows.targets, weights, decay).astype(seen.dtype)
        return _with_parameters(member, top, 1)
    shape = (rows.n_outputs, len(seen) + 1)

    def loss(flat: Doubles) -> tuple[float, Doubles]:
        parameters = flat.astype(seen.dtype, copy=False).reshape(shape)
        value, slope = rows.objective.loss(seen, rows.targets, weights, parameters, decay)
        return value, slope.ravel().astype(float, copy=False)

    start = np.column_stack([member.coef[:, member.support], member.intercept])
    found = minimize(
        loss, start.ravel().astype(float), jac=True, method="L-BFGS-B",
        options={"maxiter": MAX_LBFGS, "gtol": tol * float(weights.sum()), "ftol": 1e-12},
    )  # fmt: skip
    return _with_parameters(member, found.x.astype(seen.dtype).reshape(shape), max(1, found.nit))


def _with_parameters(member: Member, parameters: Floats, n_iter: int) -> Member:
    """Put parameters, the intercept last, where the mask is."""
    coef = member.coef.copy()
    coef[:, member.support] = parameters[:, :-1]
    return member._replace(coef=coef, intercept=parameters[:, -1].copy(), n_iter=n_iter)


def _accepts(buffers: StepBuffers, shrinks: int, price: float, tie: float) -> bool:
    """Accept a better mask, or an equally good one that is smaller."""
    gain = float(buffers.accuracy[1] - buffers.accuracy[0]) + price * shrinks
    return gain > tie or (gain >= -tie and shrinks > 0)


def _at_least_one(
    drawn: Iterator[Indices], rng: np.random.Generator, n_units: int
) -> Iterator[Indices]:
    for flipped in drawn:
        yield flipped if flipped.size else rng.integers(n_units, size=1)


def _explore(
    rows: Rows, weights: Floats, state: State, drawn: Iterator[Indices], walk: Walk
) -> tuple[State, list[float]]:
    """Walk over masks; give the best state met and the accuracies on the way."""
    buffers = step_buffers(rows.n_outputs, rows.features)
    tie = TIE * float(weights.sum())
    path, stale = [state.accuracy], 0
    best, best_value = state, state.accuracy - walk.price * seen_units(rows, state).sum()
    for _, flipped in zip(range(walk.max_iter), drawn, strict=False):
        stale += 1
        seen = seen_units(rows, state)
        if not empties(seen, flipped):
            columns = flipped_columns(rows, state, flipped)
            try_flip(rows, weights, state, columns, walk, buffers)
            shrinks = 2 * int(seen[flipped].sum()) - flipped.size
            accept = _accepts(buffers, shrinks, walk.price, tie)
            state = moved(state, buffers, columns, accept)
        path.append(state.accuracy)
        value = state.accuracy - walk.price * seen_units(rows, state).sum()
        if value > best_value + tie:
            best, best_value, stale = state, value, 0
        if stale >= walk.patience:
            break
    return best, path


STRENGTHS = (1000.0, 100.0, 10.0, 1.0, 0.1, 0.01)
N_FOLDS = 5


def choose_strength(rows: Rows, rng: np.random.Generator) -> float:
    """``C`` with the lowest held-out loss of a single model on all features."""
    losses = np.zeros(len(STRENGTHS))
    for fold in deal_folds(rows.targets, N_FOLDS, rng):
        train, held = rows.take(fold.train), rows.take(fold.test)
        member = first_member(train, rng)
        # from the strongest penalty to the weakest, each starting where the last one ended
        for i, strength in reversed(list(enumerate(STRENGTHS))):
            member = converge(train, train.weights, member, 1.0 / (strength * train.total), 1e-4)
            parameters = np.column_stack([member.coef, member.intercept])
            loss, _ = held.objective.loss(
                held.features, held.targets, held.weights, parameters, 0.0
            )  # fmt: skip
            losses[i] += loss * held.total
    return STRENGTHS[int(losses.argmin())]


GATE_ITERATIONS = 300
# Spread of the gate's logits at the start: enough that each member begins with rows of its own.
GATE_START = 4.0


def loosely_gated(members: Sequence[Member], seed: int) -> MixtureParameters:
    """Mixture of the members under a random gate, from which a refit starts.

    Members of one ensemble can be near copies of each other. Under an even gate they would move
    together; a random one gives each a region of its own to begin with.
    """
    coef = np.array([member.coef * member.support for member in members])
    intercept = np.array([member.intercept for member in members])
    n_members, _, n_features = coef.shape
    drawn = np.random.default_rng([seed, n_members]).normal(size=(n_members, n_features))
    gate_coef = (GATE_START / np.sqrt(n_features) * drawn).astype(coef.dtype)
    return MixtureParameters(coef, intercept, gate_coef, np.zeros(n_members, coef.dtype))


def _pack(parameters: MixtureParameters) -> Doubles:
    return np.concatenate([part.ravel() for part in parameters]).astype(float, copy=False)


def _unpack(flat: Doubles, like: MixtureParameters) -> MixtureParameters:
    ends = np.cumsum([part.size for part in like])[:-1]
    parts = np.split(flat.astype(like.coef.dtype, copy=False), ends)
    return MixtureParameters(
        *(part.reshape(old.shape) for part, old in zip(parts, like, strict=True))
    )


def refit_with_gate(
    rows: Rows, start: MixtureParameters, supports: Mask, decay: float, tol: float = 1e-5
) -> MixtureParameters:
    """Climb together in all members and the gate, by L-BFGS, to a slope of ``tol``.

    The members keep their masks, (n_members, n_features); the gate sees every feature. ``decay``
    is the strength of the ridge penalty on all coefficients.
    """
    seen = supports[:, None, :]

    def loss(flat: Doubles) -> tuple[float, Doubles]:
        value, slope = mixture_loss(
            rows.features, rows.targets, rows.weights, _unpack(flat, start), decay
        )
        return value, _pack(slope._replace(coef=slope.coef * seen))

    found = minimize(
        loss, _pack(start._replace(coef=start.coef * seen)), jac=True, method="L-BFGS-B",
        options={"maxiter": GATE_ITERATIONS, "gtol": tol},
    )  # fmt: skip
    return MixtureParameters(*(part.copy() for part in _unpack(found.x, start)))


def gate_of(mixture: MixtureParameters) -> SoftmaxGate:
    """Give the gate of a mixture, which learned it together with the members."""
    return SoftmaxGate(mixture.gate_coef, mixture.gate_intercept)


def gated_proba(features: Floats, mixture: MixtureParameters) -> Doubles:
    """Probabilities of a mixture, (n_rows, n_classes)."""
    outputs = outputs_of(features, mixture.coef, mixture.intercept)
    return gate_of(mixture).combine(outputs, FusionContext(X=features.T))


DEVELOPMENT_SHARE = 0.1
ENOUGH_ROWS = 200
MAX_SPLITS = 5
MAX_MEMBERS = 50
# Where the size is searched for, so many members without a better ensemble end it.
MEMBER_PATIENCE = 5
GATE_SIZES = (2, 5, 10)
GATE_STRENGTHS = (0.3, 3.0, 30.0, 300.0)


class Plan(NamedTuple):
    """An ensemble to try: its size, and the gate's ``C``, or None for the plain product."""

    n_members: int
    gate: float | None

    def name(self) -> str:
        """Name the plan for people."""
        fused = "product" if self.gate is None else f"gate with C={self.gate:g}"
        return f"{fused}, {self.n_members} members"


class Search(NamedTuple):
    """Which plans to try."""

    sizes: bool  # whether other sizes than that of all seeds
    product: bool  # whether the plain product
    gates: tuple[float, ...]  # the C of each gate

    def only_plan(self, n_members: int) -> Plan | None:
        """Give the plan if there is just one, so that nothing must be tried."""
        if self.sizes or self.product + len(self.gates) > 1:
            return None
        return Plan(n_members, self.gates[0] if self.gates else None)


class Split(NamedTuple):
    """Rows to learn from, and rows to score on."""

    train: Rows
    held: Rows

    def score(self, proba: Doubles) -> float:
        """Weighted accuracy of probabilities, (n_rows, n_classes), of the held-out rows."""
        right = proba.argmax(axis=1) == self.held.targets
        return float(self.held.weights[right].sum())


def development_fold(labels: Indices, rng: np.random.Generator) -> Fold:
    """Draw a tenth of each class, rounded up, for development.

    Every class keeps a row for training, so none is seen in development alone.
    """
    held = np.zeros(labels.size, dtype=bool)
    for label in np.unique(labels):
        members = rng.permutation(np.flatnonzero(labels == label))
        count = min(int(np.ceil(DEVELOPMENT_SHARE * members.size)), members.size - 1)
        held[members[:count]] = True
    return Fold(np.flatnonzero(~held), np.flatnonzero(held))


def development_folds(labels: Indices, rng: np.random.Generator) -> list[Fold]:
    """As many splits as it takes to have enough rows for development, five at most."""
    count = int(np.ceil(ENOUGH_ROWS / max(1, DEVELOPMENT_SHARE * labels.size)))
    return [development_fold(labels, rng) for _ in range(min(MAX_SPLITS, count))]


def _fit_product(
    split: Split, seeds: Sequence[int], settings: Settings, patience: float
) -> tuple[list[Member], list[float]]:
    """Members in turn, and the product's score (eq. 10) on the held-out rows after each."""
    members: list[Member] = []
    scores: list[float] = []
    for member in fit_sequence(split.train, seeds, settings):
        members.append(member)
        scores.append(split.score(product_rule(member_outputs(split.held.features, members))))
        stale = len(scores) - 1 - int(np.argmax(scores))
        if stale >= patience and len(scores) >= max(GATE_SIZES):
            break
    return members, scores


def _gate_score(split: Split, members: list[Member], strength: float, seed: int) -> float:
    supports = np.array([member.support for member in members])
    start = loosely_gated(members, seed)
    mixture = refit_with_gate(split.train, start, supports, 1.0 / (strength * split.train.total))
    return split.score(gated_proba(split.held.features, mixture))


def plan_scores(
    rows: Rows, fold: Fold, seeds: Sequence[int], settings: Settings, search: Search
) -> dict[Plan, float]:
    """Weighted accuracy on the held-out rows of every plan to try, at most a member per seed."""
    split = Split(rows.take(fold.train), rows.take(fold.test))
    patience = MEMBER_PATIENCE if search.sizes else np.inf
    members, path = _fit_product(split, seeds, settings, patience)
    sizes = range(1, len(path) + 1) if search.sizes else [len(seeds)]
    scores = {Plan(size, None): path[size - 1] for size in sizes if search.product}
    for size in GATE_SIZES if search.sizes else [len(seeds)]:
        for strength in search.gates:
            scores[Plan(size, strength)] = _gate_score(split, members[:size], strength, seeds[0])
    return scores


def mean_scores(scores: Sequence[Mapping[Plan, float]]) -> dict[Plan, float]:
    """Mean over splits of each plan that every split tried, in the first split's order."""
    everywhere = set.intersection(*(set(split) for split in scores))
    return {
        plan: float(np.mean([split[plan] for split in scores]))
        for plan in scores[0]
        if plan in everywhere
    }


def best_plan(means: Mapping[Plan, float]) -> Plan:
    """Plan with the best score; of equals, the plainest and smallest."""
    top = max(means.values())
    equals = [plan for plan, mean in means.items() if mean >= top - 1e-12]
    return min(equals, key=lambda plan: (plan.gate is not None, plan.n_members, plan.gate or 0))
