"""Search for joint feature subsets: annealing, Algorithm 1, the gate, ensemble sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from ensemblage._core import Fold, deal_folds
from ensemblage.fusion import FusionContext, SoftmaxGate, product_rule
from ensemblage.subspace._kernels import (
    MixtureParameters,
    StepBuffers,
    mixture_loss,
    step_buffers,
)
from ensemblage.subspace._objectives import (
    Member,
    Rows,
    Settings,
    member_logits,
    member_outputs,
    outputs_of,
    resolve,
    stacked,
)

Doubles = NDArray[np.float64]
Floats = NDArray[np.floating[Any]]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

# Standard deviation of a member's initial coefficients.
START_SCALE = 0.01
# Proposals drawn at once.
N_DRAWN = 64
# Smallest row weight of a later member.
MIN_WEIGHT = 1e-6
# Score differences below this fraction of the mean weight count as rounding errors.
TIE = 1e-10
# Most iterations of L-BFGS for one member.
MEMBER_ITERATIONS = 200
# Most iterations of L-BFGS for a mixture.
GATE_ITERATIONS = 300
# Grid of C="auto".
STRENGTHS = (1000.0, 100.0, 10.0, 1.0, 0.1, 0.01)
# Cross-validation folds, for C="auto" and out-of-fold predictions.
N_FOLDS = 5
# Standard deviation of the gate's initial logits, so that members start on different rows.
GATE_START = 4.0
# Fraction of the rows in a development set.
DEVELOPMENT_SHARE = 0.1
# Development rows wanted over all splits.
N_DEVELOPMENT_ROWS = 200
# Most development splits.
MAX_SPLITS = 5
# Most members with n_estimators="auto".
MAX_MEMBERS = 50
# Members without improvement after which the search for a size stops.
MEMBER_PATIENCE = 5
# Sizes of gated ensembles tried.
GATE_SIZES = (2, 5, 10)
# Grid of C for the gate.
GATE_STRENGTHS = (0.3, 3.0, 30.0, 300.0)


class State(NamedTuple):
    """State of the fit of one member."""

    member: Member
    logits: Floats  # (n_outputs, n_rows), or predictions
    score: float  # weighted accuracy (eq. 7), or another objective's score


class Plan(NamedTuple):
    """A candidate ensemble: its size, and the gate's ``C``, or None for the product."""

    n_members: int
    gate: float | None

    def name(self) -> str:
        """Key of ``development_scores_``."""
        fused = "product" if self.gate is None else f"gate with C={self.gate:g}"
        return f"{fused}, {self.n_members} members"


def first_member(rows: Rows, rng: np.random.Generator) -> Member:
    r"""Initialise a member: :math:`\Theta^0 \sim N(0, 0.01^2)` and all features (line 3)."""
    n_columns, dtype = len(rows.features), rows.features.dtype
    coef = rng.normal(0.0, START_SCALE, (rows.n_outputs, n_columns)).astype(dtype)
    all_columns = np.ones(n_columns, dtype=bool)
    return Member(coef, np.zeros(rows.n_outputs, dtype), all_columns, np.empty(0), 0)


def state_of(member: Member, rows: Rows) -> State:
    logits = member_logits(rows.features, member)
    return State(member, logits, rows.objective.score(logits, rows.targets, rows.weights))


def proposals(
    rng: np.random.Generator, n_units: int, flip_probability: float, *, at_least_one: bool
) -> Iterator[Indices]:
    """Yield proposals, units to flip (lines 6 and 7); the paper's may flip none."""
    while True:
        for drawn in rng.random((N_DRAWN, n_units)) < flip_probability:
            flipped = np.flatnonzero(drawn)
            none = at_least_one and not flipped.size
            yield rng.integers(n_units, size=1) if none else flipped


def unit_support(rows: Rows, support: Mask) -> Mask:
    """Mask of the units: features, or groups of features."""
    return support if rows.units is None else support[rows.units.lead]


def leaves_none(support: Mask, flipped: Indices) -> bool:
    kept = int(support.sum()) + flipped.size - 2 * int(support[flipped].sum())
    return kept == 0


def try_flip(
    rows: Rows, state: State, flipped: Indices, rate: float, decay: float, buffers: StepBuffers
) -> Indices:
    """Take a gradient step under the current and the proposed mask; return the flipped columns.

    The results of the steps are in the buffers.
    """
    member = state.member
    if rows.units is not None:
        flipped = rows.units.flipped_columns(member.support, flipped)
    rows.objective.step(
        rows.features, rows.targets, rows.weights, member.coef, member.support, state.logits,
        flipped, rate, decay, buffers,
    )  # fmt: skip
    return flipped


def moved(state: State, buffers: StepBuffers, flipped: Indices, accept: bool) -> State:
    """State after a step under the current or, if ``accept``, the proposed mask."""
    n_outputs = len(state.logits)
    part = slice(n_outputs, None) if accept else slice(n_outputs)
    coef = state.member.coef + buffers.coef_step[part]
    intercept = (state.member.intercept + buffers.intercept_step[part]).astype(coef.dtype)
    support = state.member.support
    if accept:
        support = support.copy()
        support[flipped] ^= True
    member = state.member._replace(coef=coef, intercept=intercept, support=support)
    return State(member, buffers.logits[part].copy(), float(buffers.scores[int(accept)]))


def anneal(rows: Rows, rng: np.random.Generator, settings: Settings) -> Member:
    r"""Fit one member: fit to convergence, search over masks, fit again under the best mask.

    The weights of the rows are :math:`w_{km} / M`. A proposal :math:`\Lambda'` is accepted if
    :math:`A' - A + \rho \bar w (|\Lambda| - |\Lambda'|) > 0`, or on a tie if it is smaller.
    Both candidates take one gradient step before they are compared, as in Algorithm 1, so the
    coefficients adapt to the mask. The best has the largest :math:`A - \rho \bar w |\Lambda|`.
    With ``flip_probability=0`` all features are kept.
    """
    mean_weight = float(rows.weights.sum())
    decay = 1.0 / (settings.C * rows.total) * mean_weight
    penalty, tie = settings.size_penalty * mean_weight, TIE * mean_weight
    member = converge(rows, first_member(rows, rng), decay, settings.tol)
    state = state_of(member, rows)
    path, stalled = [state.score], 0
    if settings.flip_probability == 0:
        return member._replace(score_path=np.array(path))
    best, best_value = state, state.score - penalty * unit_support(rows, member.support).sum()
    buffers = step_buffers(rows.n_outputs, rows.features)
    drawn = proposals(rng, rows.n_units, settings.flip_probability, at_least_one=True)
    for _, flipped in zip(range(settings.max_iter), drawn, strict=False):
        stalled += 1
        seen = unit_support(rows, state.member.support)
        if not leaves_none(seen, flipped):
            columns = try_flip(rows, state, flipped, settings.learning_rate, decay, buffers)
            shrinks = 2 * int(seen[flipped].sum()) - flipped.size
            gain = float(buffers.scores[1] - buffers.scores[0]) + penalty * shrinks
            state = moved(state, buffers, columns, gain > tie or (gain >= -tie and shrinks > 0))
        path.append(state.score)
        value = state.score - penalty * unit_support(rows, state.member.support).sum()
        if value > best_value + tie:
            best, best_value, stalled = state, value, 0
        if stalled >= settings.patience:
            break
    member = converge(rows, best.member, decay, settings.tol)
    return member._replace(score_path=np.array(path), n_iter=len(path) - 1)


def gradient_ascent(rows: Rows, rng: np.random.Generator, settings: Settings) -> Member:
    r"""Fit one member by Algorithm 1, lines 3 to 22; the weights of rows are :math:`w_{km} / M`.

    It stops at the first iteration that gains less than ``tol``, the paper's ``thr``.
    """
    state = state_of(first_member(rows, rng), rows)
    path, n_iter = [state.score], 0
    buffers = step_buffers(rows.n_outputs, rows.features)
    drawn = proposals(rng, rows.n_units, settings.flip_probability, at_least_one=False)
    for n_iter, proposed in zip(  # noqa: B007  counts the last one too
        range(1, settings.max_iter + 1), drawn, strict=False
    ):
        # an empty mask is not proposed
        nothing = leaves_none(unit_support(rows, state.member.support), proposed)
        flipped = proposed[:0] if nothing else proposed
        columns = try_flip(rows, state, flipped, settings.learning_rate, 0.0, buffers)
        if buffers.scores.max() - state.score < settings.tol:
            break
        state = moved(state, buffers, columns, bool(buffers.scores[0] < buffers.scores[1]))
        path.append(state.score)
    return state.member._replace(score_path=np.array(path), n_iter=n_iter)


SOLVERS = {"paper": gradient_ascent, "lbfgs": anneal}


def next_row_weights(probability_sum: Floats, n_before: int) -> Floats:
    r"""Row weights of the next member, between 1e-6 and 1 (eq. 8).

    :math:`w_m = 1 - \frac{1}{k-1} \sum_{k'} p_{k'}(y_m \mid x_m)` of the earlier members'
    probabilities of the true class; ones for the first member, which the paper does not specify.
    """
    if n_before == 0:
        return np.ones_like(probability_sum)
    return np.clip(1.0 - probability_sum / n_before, MIN_WEIGHT, 1.0)


def fit_sequence(rows: Rows, seeds: Sequence[int], settings: Settings) -> Iterator[Member]:
    """Fit one member per seed, in sequence (lines 2 to 4)."""
    solve, settings = SOLVERS[settings.solver], resolve(settings, rows)
    probability_sum = np.zeros_like(rows.weights)
    for k, seed in enumerate(seeds):
        weights = next_row_weights(probability_sum, k) * rows.weights
        member = solve(rows._replace(weights=weights), np.random.default_rng(seed), settings)
        yield member
        outputs = member_logits(rows.features, member)
        ratio = rows.objective.likelihood_ratio(outputs, rows.targets, rows.weights)
        probability_sum = probability_sum + ratio


def converge(rows: Rows, member: Member, decay: float, tol: float = 1e-5) -> Member:
    """Maximise the likelihood under a fixed mask, by L-BFGS or in closed form.

    Coefficients outside the mask do not change. ``decay`` is in units of the weighted
    log-likelihood, and ``tol`` is the tolerance on the gradient, per unit of total weight.
    """
    seen = np.ascontiguousarray(rows.features[member.support])
    shape = (rows.n_outputs, len(seen) + 1)

    def loss(flat: Doubles) -> tuple[float, Doubles]:
        parameters = flat.astype(seen.dtype, copy=False).reshape(shape)
        value, gradient = rows.objective.loss(seen, rows.targets, rows.weights, parameters, decay)
        return value, gradient.ravel().astype(float, copy=False)

    if rows.objective.optimum is not None:
        parameters = rows.objective.optimum(seen, rows.targets, rows.weights, decay)
        n_iter = 1
    else:
        start = np.column_stack([member.coef[:, member.support], member.intercept])
        gtol = tol * float(rows.weights.sum())
        found = minimize(
            loss, start.ravel().astype(float), jac=True, method="L-BFGS-B",
            options={"maxiter": MEMBER_ITERATIONS, "gtol": gtol, "ftol": 1e-12},
        )  # fmt: skip
        parameters, n_iter = found.x.reshape(shape), max(1, found.nit)
    parameters = parameters.astype(seen.dtype)
    coef = member.coef.copy()
    coef[:, member.support] = parameters[:, :-1]
    return member._replace(coef=coef, intercept=parameters[:, -1].copy(), n_iter=n_iter)


def choose_strength(rows: Rows, rng: np.random.Generator) -> float:
    """``C`` with the lowest cross-validated loss of a single model on all features."""
    losses = np.zeros(len(STRENGTHS))
    for fold in deal_folds(rows.targets, N_FOLDS, rng):
        train, held = rows.take(fold.train), rows.take(fold.test)
        member = first_member(train, rng)
        # from the strongest penalty to the weakest, with warm starts
        for i, strength in reversed(list(enumerate(STRENGTHS))):
            member = converge(train, member, 1.0 / (strength * train.total), 1e-4)
            parameters = np.column_stack([member.coef, member.intercept])
            loss, _ = held.objective.loss(
                held.features, held.targets, held.weights, parameters, 0.0
            )  # fmt: skip
            losses[i] += loss * held.total
    return STRENGTHS[int(losses.argmin())]


def random_gate_start(coef: Floats, intercept: Floats, seed: int) -> MixtureParameters:
    """Initialise a refit: the members under a random gate; masked ``coef`` are 0.

    Members can be nearly equal, and under a uniform gate would stay so; a random gate starts each
    in a different region.
    """
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
    """Refit all members and the gate jointly by L-BFGS, to a gradient tolerance of ``tol``.

    The members keep their masks, (n_members, n_features); the gate uses every feature. ``decay``
    is the strength of the ridge penalty on all coefficients.
    """
    seen = supports[:, None, :]

    def loss(flat: Doubles) -> tuple[float, Doubles]:
        value, gradient = mixture_loss(
            rows.features, rows.targets, rows.weights, _unpack(flat, start), decay
        )
        return value, _pack(gradient._replace(coef=gradient.coef * seen))

    found = minimize(
        loss, _pack(start._replace(coef=start.coef * seen)), jac=True, method="L-BFGS-B",
        options={"maxiter": GATE_ITERATIONS, "gtol": tol},
    )  # fmt: skip
    return MixtureParameters(*(part.copy() for part in _unpack(found.x, start)))


def gated_proba(features: Floats, mixture: MixtureParameters) -> Doubles:
    """Probabilities of a mixture, (n_rows, n_classes)."""
    outputs = outputs_of(features, mixture.coef, mixture.intercept)
    gate = SoftmaxGate.from_coefficients(mixture.gate_coef, mixture.gate_intercept)
    return gate.combine(outputs, FusionContext(X=features.T))


def development_fold(labels: Indices, rng: np.random.Generator) -> Fold:
    """Draw a development set of a tenth of each class, rounded up.

    Every class keeps at least one training row.
    """
    held = np.zeros(labels.size, dtype=bool)
    for label in np.unique(labels):
        members = rng.permutation(np.flatnonzero(labels == label))
        count = min(int(np.ceil(DEVELOPMENT_SHARE * members.size)), members.size - 1)
        held[members[:count]] = True
    return Fold(np.flatnonzero(~held), np.flatnonzero(held))


def development_folds(labels: Indices, rng: np.random.Generator) -> list[Fold]:
    """Draw development splits until there are enough development rows, at most five."""
    count = int(np.ceil(N_DEVELOPMENT_ROWS / max(1, DEVELOPMENT_SHARE * labels.size)))
    return [development_fold(labels, rng) for _ in range(min(MAX_SPLITS, count))]


def row_codes(rows: Rows) -> Indices:
    """Index of each distinct row, in sorted order; -1 for rows of zero weight.

    Folds of these indices keep copies of a row together, and so do not distinguish them from a
    weight.
    """
    weighted = rows.weights > 0
    table = np.column_stack([rows.features.T[weighted], rows.targets[weighted]])
    codes = np.full(weighted.size, -1, dtype=np.intp)
    codes[weighted] = np.unique(table, axis=0, return_inverse=True)[1].ravel()
    return codes


def rows_with_codes(codes: Indices, fold: Fold) -> Fold:
    """Rows of a fold of distinct rows."""
    return Fold(*(np.flatnonzero(np.isin(codes, part)) for part in fold))


def plan_scores(
    rows: Rows,
    fold: Fold,
    seeds: Sequence[int],
    settings: Settings,
    vary_size: bool,
    product: bool,
    gates: tuple[float, ...],
) -> dict[Plan, float]:
    """Weighted accuracy of each candidate plan on the development rows, at most a member per seed.

    With ``vary_size`` smaller ensembles are tried too; ``product`` includes the product without a
    gate, and ``gates`` is the C of each gate.
    """
    train, held = rows.take(fold.train), rows.take(fold.test)

    def accuracy(proba: Doubles) -> float:
        return float(held.weights[proba.argmax(axis=1) == held.targets].sum())

    members: list[Member] = []
    path: list[float] = []  # accuracy of the product (eq. 10) after each member
    for member in fit_sequence(train, seeds, settings):
        members.append(member)
        path.append(accuracy(product_rule(member_outputs(held.features, members))))
        stalled = len(path) - 1 - int(np.argmax(path))
        if vary_size and stalled >= MEMBER_PATIENCE and len(path) >= max(GATE_SIZES):
            break
    sizes = range(1, len(path) + 1) if vary_size else [len(seeds)]
    scores = {Plan(size, None): path[size - 1] for size in sizes if product}
    for size in GATE_SIZES if vary_size else [len(seeds)]:
        start = random_gate_start(*stacked(members[:size]), seeds[0])
        supports = np.array([member.support for member in members[:size]])
        for C in gates:
            mixture = refit_with_gate(train, start, supports, 1.0 / (C * train.total))
            scores[Plan(size, C)] = accuracy(gated_proba(held.features, mixture))
    return scores


def mean_scores(scores: Sequence[Mapping[Plan, float]]) -> dict[Plan, float]:
    """Mean over splits of each plan evaluated in all splits, in the order of the first."""
    everywhere = set.intersection(*(set(split) for split in scores))
    return {
        plan: float(np.mean([split[plan] for split in scores]))
        for plan in scores[0]
        if plan in everywhere
    }


def best_plan(means: Mapping[Plan, float]) -> Plan:
    """Plan with the best score; ties go to no gate, then to fewer members."""
    top = max(means.values())
    equals = [plan for plan, mean in means.items() if mean >= top - 1e-12]
    return min(equals, key=lambda plan: (plan.gate is not None, plan.n_members, plan.gate or 0))
