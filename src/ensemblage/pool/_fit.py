"""Fit of a pool: out-of-fold predictions, fusion, refit on all rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from ensemblage._core import (
    Fold,
    draw_seeds,
    expect,
    expect_fitted,
    listing,
    run_tasks,
    set_module,
    take_rows,
    warn_user,
)
from ensemblage.fusion import Fusion, LogLinearPool, resolve_fusion
from ensemblage.pool._boosting import CATBOOST, Boosting
from ensemblage.pool._leaderboard import ACCURACY, RMSE, Leaderboard, LeaderboardRow, OutOfFold
from ensemblage.pool._member_spec import (
    BLIND,
    CODED,
    FORMS,
    PRIOR_ROWS,
    PRIOR_WEIGHT,
    TEMPERATURE_PENALTY,
    FoldPredictions,
    MemberSpec,
    TrainingData,
    TunedMember,
    fit_clone,
    stratified_subsample,
)
from ensemblage.pool._members import CLASSIFIERS, REGRESSORS

Doubles = NDArray[np.float64]
Indices = NDArray[np.intp]
AnyFusion = TypeVar("AnyFusion", bound=Fusion)

LARGE_DATA_ROWS = 10_000
"""With more rows, one holdout set replaces folds, and boosting is first."""
SECOND_SHARE_OF_ROUNDS = 0.5
"""Rounds of a second boosting at most, as a share of those of the first; they take longer."""
BOOSTING_SECONDS_PER_CLASS = 1.5
"""Seconds of boosting's cross-validation per class, at 1,000 rows on one core."""
LARGE_BOOSTING_SECONDS_PER_CLASS = 0.08
"""Seconds of boosting large data per class and 1,000 rows, on one core."""
LONG_FIT_SECONDS = 40.0
"""Seconds from which a fit to many classes is announced."""
PILOT_ROWS = 300
"""Rows of the trial fit that estimates a member's time."""
WARM_UP_ROWS = 30
"""Rows of the fit before it, which triggers compilation and imports."""
MIN_REMAINING_SHARE = 0.05
"""Share of the budget below which no further member is fitted."""
MIN_ROWS = 500
"""Fewest rows on which a member is fitted."""
RESERVED_SHARE = 0.12
"""Share of the budget reserved for the fusion, and as a margin."""
BOOSTING_SHARE = 0.7
"""Share of the budget for boosting large data; if it is used up, boosting is not refitted."""
SECOND_BOOSTING_SHARE = 0.4
"""Share of the remaining time for another one."""
MIN_WEIGHT = 0.02
"""Least weight of a member; lighter ones cost time at prediction and gain nothing."""
MIN_SHARE_OF_EQUAL = 0.2
"""Least weight with many members, as a share of the weight of each if all are equal."""
TIMED_ROWS = 100
"""Rows of the prediction that is timed."""
TIMED_CALLS = 3
"""Calls of which the fastest counts, as the first may compile."""
MAX_STORED_ROWS = 20_000
"""Rows whose out-of-fold outputs are stored."""


class MemberFailure(NamedTuple):
    """A member that was left out of the pool, and the reason, as the end of a sentence."""

    name: str
    reason: str


class suppress_member_warnings(warnings.catch_warnings):  # noqa: N801  reads as a verb
    """Ignore warnings of candidates: most are not chosen."""

    def __enter__(self) -> None:
        super().__enter__()
        for category in (ConvergenceWarning, UserWarning, RuntimeWarning):
            warnings.simplefilter("ignore", category)


def try_fold(
    spec: MemberSpec, data: TrainingData, fold: Fold | None, seed: int
) -> FoldPredictions | MemberFailure:
    """Fit and predict a fold; return a ``MemberFailure`` instead of raising."""
    tried: FoldPredictions | MemberFailure = _attempt(
        spec.name, "fitted", lambda: spec.fit_predict_fold(data, fold, seed)
    )
    return tried


def refit_member(tuned: TunedMember, data: TrainingData) -> Any:
    """Refit a tuned member on all rows; return a ``MemberFailure`` instead of raising."""
    name = tuned.spec.name
    return _attempt(name, "fitted to all rows", lambda: tuned.spec.refit(data, tuned))


def refit_on_rows(estimator: Any, data: TrainingData, max_rows: int, seed: int) -> Any:
    """Refit a fitted member to other rows, to ``max_rows`` of them at most."""
    rows = stratified_subsample(np.arange(len(data.y)), data.labels, max_rows, seed)
    with threadpool_limits(1), suppress_member_warnings():
        return fit_clone(estimator, data, rows, seed)


def _attempt(name: str, done: str, work: Callable[[], Any]) -> Any:
    try:
        with threadpool_limits(1), suppress_member_warnings():
            return work()
    except Exception as error:
        first = [f": {line}" for line in str(error).strip().splitlines()[:1]]
        reason = f"{type(error).__name__}{''.join(first)}"
        return MemberFailure(name, f"it could not be {done} ({reason})")


def cross_validate_members(
    specs: Sequence[MemberSpec], data: TrainingData, seeds: Sequence[int], n_jobs: int | None
) -> tuple[list[TunedMember], list[MemberFailure]]:
    """Cross-validate all members on the shared folds; return tuned members and failures."""
    tasks, owners = [], []
    for number, (spec, seed) in enumerate(zip(specs, seeds, strict=True)):
        parts = spec.parts(data)
        for part, part_seed in zip(parts, draw_seeds(seed, len(parts)), strict=True):
            tasks.append((spec, spec.input_data(data), part, part_seed))
            owners.append(number)
    results = run_tasks(try_fold, tasks, n_jobs)
    tuned, failures = [], []
    for number, (spec, seed) in enumerate(zip(specs, seeds, strict=True)):
        own = [each for each, owner in zip(results, owners, strict=True) if owner == number]
        failed = [each for each in own if isinstance(each, MemberFailure)]
        if failed:
            failures.append(failed[0])
        else:
            tuned.append(spec.select_candidate(data, own, seed))
    return tuned, failures


def cross_validate_large(
    specs: Sequence[MemberSpec], data: TrainingData, seeds: Sequence[int], n_jobs: int | None
) -> tuple[list[TunedMember], list[MemberFailure]]:
    """Grow boosting to its end on the holdout set, then tune the other members.

    The first boosting is refitted on all rows. Of another the model of the training rows is kept: a
    refit would take as long again, and gains little.
    """
    tuned: dict[str, TunedMember] = {}
    failures, others, max_rounds = [], [], None
    for number in order_by_value(specs, data):
        spec, seed = specs[number], seeds[number]
        if not isinstance(spec, Boosting):
            others.append((spec.with_one_candidate() if spec.optional else spec, seed))
            continue
        n_threads = int(effective_n_jobs(n_jobs))
        found = grow_boosting(spec, data, seed, n_threads, max_rounds=max_rounds)
        if isinstance(found, MemberFailure):
            failures.append(found)
        elif max_rounds is None:
            tuned[spec.name] = found._replace(model=None)
            max_rounds = int(SECOND_SHARE_OF_ROUNDS * found.rounds)
        else:
            tuned[spec.name] = found
    rest = [spec for spec, _ in others]
    tuned_rest, failed = cross_validate_members(rest, data, [seed for _, seed in others], n_jobs)
    tuned |= {each.spec.name: each for each in tuned_rest}
    return [tuned[each.name] for each in specs if each.name in tuned], [*failures, *failed]


class TimeBudget:
    """Seconds that remain of a budget, less those reserved for refits."""

    def __init__(self, seconds: float, n_jobs: int | None = None) -> None:
        self.seconds = seconds
        self.n_jobs = n_jobs
        self.workers = int(effective_n_jobs(n_jobs))
        self._end = time.perf_counter() + seconds
        self._reserved = RESERVED_SHARE * seconds

    def remaining(self) -> float:
        return self._end - time.perf_counter() - self._reserved

    def reserve(self, seconds: float) -> None:
        self._reserved += seconds

    def half(self) -> TimeBudget:
        """Start a budget of half the seconds until the end."""
        return TimeBudget((self._end - time.perf_counter()) / 2, self.n_jobs)

    def rest(self) -> TimeBudget:
        """Start a budget of the seconds until the end."""
        return TimeBudget(self._end - time.perf_counter(), self.n_jobs)


def cross_validate_in_time(
    specs: Sequence[MemberSpec], data: TrainingData, seeds: Sequence[int], budget: TimeBudget
) -> tuple[list[TunedMember], list[MemberFailure]]:
    """Tune members in order of expected gain per second while time allows; at least one."""
    tuned: dict[int, TunedMember] = {}
    failures: dict[int, MemberFailure] = {}
    order = order_by_value(specs, data)
    for number in order:
        found = _try_in_time(specs[number], data, seeds[number], budget)
        (failures if isinstance(found, MemberFailure) else tuned)[number] = found  # type: ignore[assignment]
    for number in () if tuned else order:
        least = specs[number].limited(MIN_ROWS)
        one, _ = cross_validate_members([least], data, [seeds[number]], budget.n_jobs)
        if one:
            return one, [each for k, each in failures.items() if k != number]
    return [tuned[number] for number in sorted(tuned)], [*failures.values()]


def order_by_value(specs: Sequence[MemberSpec], data: TrainingData) -> list[int]:
    """Order members: a user's own, then by gain per second.

    On large data boosting is first, then what is for categories. The fast members of the
    source-aware pool are before all.
    """
    known = CLASSIFIERS if data.target.is_classification else REGRESSORS
    ranks = {name: rank for rank, name in enumerate(known)}

    def rank(number: int) -> int:
        spec = specs[number]
        if spec.reads in {BLIND, CODED}:
            return -5
        if data.is_large and isinstance(spec, Boosting):
            return -3 if spec.library == CATBOOST else -4
        if data.is_large and data.has_categories and spec.for_categories:
            return -2
        return ranks.get(spec.name, -1)

    return sorted(range(len(specs)), key=rank)


def grow_boosting(
    spec: Boosting, data: TrainingData, seed: int, n_threads: int, **limits: Any
) -> TunedMember | MemberFailure:
    """Boost one setting on the holdout set, until early stopping or a limit."""
    grown = spec.to_the_end(n_threads, **limits)
    tuned, failures = cross_validate_members([grown], data, [seed], None)
    return tuned[0] if tuned else failures[0]


def _try_in_time(
    spec: MemberSpec, data: TrainingData, seed: int, budget: TimeBudget
) -> TunedMember | MemberFailure:
    if isinstance(spec, Boosting) and data.is_large:
        return _boost_in_time(spec, data, seed, budget)
    planned = plan_member(spec, data, seed, budget)
    if isinstance(planned, MemberFailure):
        return planned
    limited, _, refit_seconds = planned
    tuned, failures = cross_validate_members([limited], data, [seed], budget.n_jobs)
    budget.reserve(refit_seconds)
    return tuned[0] if tuned else failures[0]


def _boost_in_time(
    spec: Boosting, data: TrainingData, seed: int, budget: TimeBudget
) -> TunedMember | MemberFailure:
    """Boost until early stopping or the time limit; refit on all rows if time remains."""
    share = SECOND_BOOSTING_SHARE if spec.library == CATBOOST else 1.0
    seconds = min(BOOSTING_SHARE * budget.seconds, share * budget.remaining())
    grown = grow_boosting(spec, data, seed, budget.workers, seconds=seconds)
    if isinstance(grown, MemberFailure):
        return grown
    refit_seconds = grown.refit_share * grown.seconds * len(data.y) / len(data.folds[0].train)
    # fusing one member is fast: its reserve may be spent on the refit
    spare = budget.remaining() + RESERVED_SHARE * budget.seconds
    if grown.model is not None and refit_seconds > spare:
        return grown
    budget.reserve(refit_seconds)
    return grown._replace(model=None)


def plan_member(
    spec: MemberSpec, data: TrainingData, seed: int, budget: TimeBudget
) -> tuple[MemberSpec, float, float] | MemberFailure:
    """Limit a member to as many rows as time allows, by a trial fit on few rows.

    Return the limited spec, and the expected seconds of the folds and of the refit.
    """
    if budget.remaining() <= MIN_REMAINING_SHARE * budget.seconds:
        return MemberFailure(spec.name, "the time budget was used up")
    train, test = data.folds[0]
    small, times = spec.cheap_variant()
    n_pilot = min(PILOT_ROWS, len(train))
    pilot = Fold(train, stratified_subsample(test, data.labels, PILOT_ROWS, seed))
    try_fold(small.limited(WARM_UP_ROWS), spec.input_data(data), Fold(train, test[:1]), seed)
    start = time.perf_counter()
    tried = try_fold(small.limited(n_pilot), spec.input_data(data), pilot, seed)
    if isinstance(tried, MemberFailure):
        return tried
    rate = times * (time.perf_counter() - start) / spec.relative_cost(n_pilot)
    limit, remaining = min(len(data.y), spec.max_rows or len(data.y)), budget.remaining()
    limited, cost = spec, expected_seconds(spec, data, rate, budget.workers)
    least = sum(cost)
    while sum(cost) > remaining:
        limit //= 2
        if limit < MIN_ROWS:
            reason = f"it needs about {least:.1f} s, and {max(remaining, 0):.1f} s remain"
            return MemberFailure(spec.name, reason)
        limited = spec.limited(limit)
        cost = expected_seconds(limited, data, rate, budget.workers)
        least = min(least, sum(cost))
    return limited, *cost


def expected_seconds(
    spec: MemberSpec, data: TrainingData, rate: float, workers: int
) -> tuple[float, float]:
    """Return seconds of the folds and of the refit, at ``rate`` seconds per unit of cost."""
    whole = rate * spec.relative_cost(len(data.y))
    if spec.parts(data)[0] is None:
        return whole, 0.0
    folds = [rate * spec.relative_cost(len(fold.train)) for fold in data.folds]
    rounds = -(-len(folds) // workers)
    return max(folds) * rounds, whole / len(spec.candidates)


def make_fusion(fusion: Any, *, has_groups: bool, numeric: bool = False) -> Fusion:
    """Return the fusion by name; for classes, a log-linear pool with all its options.

    With groups there are no class biases: they do not generalise to new groups.
    """
    if fusion == "log_linear" and not numeric:
        return LogLinearPool(
            bias_penalty=None if has_groups else 10.0,
            temperature_scaling=True,
            temperature_penalty=TEMPERATURE_PENALTY,
            prior_weight=PRIOR_WEIGHT,
            prior_rows=PRIOR_ROWS,
        )
    resolved: Fusion = clone(resolve_fusion(fusion, offered=frozenset(), numeric=numeric))
    return resolved


def stack_tested(members: Sequence[TunedMember], data: TrainingData) -> Doubles:
    """Return the members' out-of-fold outputs, (n_members, n_tested, n_outputs)."""
    tested = data.tested
    return np.stack([each.outputs[tested] for each in members])


def fit_fusion(fusion: AnyFusion, members: Sequence[TunedMember], data: TrainingData) -> AnyFusion:
    """Fit a copy of a fusion to the members' out-of-fold outputs."""
    tested = data.tested
    fitted: AnyFusion = clone(fusion).fit(
        stack_tested(members, data),
        data.y[tested],
        numeric=not data.target.is_classification,
        sample_weight=data.weights_at(tested),
    )
    return fitted


def fit_lasting_fusion(
    fusion: Fusion, members: Sequence[TunedMember], data: TrainingData
) -> tuple[Fusion, Indices, Doubles | None]:
    """Fit a fusion without members of little weight.

    Return it, the indices of its members, and the weights of all, None where it has none.
    """
    if not isinstance(fusion, LogLinearPool):
        fitted = fit_fusion(fusion, members, data)
        return fitted, np.arange(len(members)), fitted.member_weights(len(members))
    shares = fit_fusion(fusion, members, data).member_weights(len(members))
    kept = np.flatnonzero(shares >= min(MIN_WEIGHT, MIN_SHARE_OF_EQUAL / len(members)))
    pool = fit_fusion(fusion, [members[int(k)] for k in kept], data)
    lasting = np.flatnonzero(pool.weights_)
    pool, kept = pool.subset(lasting), kept[lasting]
    weights = np.zeros(len(members))
    weights[kept] = pool.member_weights(len(kept))
    return pool, kept, weights


def refit_and_time(
    tuned: TunedMember, data: TrainingData
) -> tuple[Any, float, float] | MemberFailure:
    """Refit a member on all rows; return it, seconds of the fit, and of predicting 100 rows."""
    start = time.perf_counter()
    model = refit_member(tuned, data)
    if isinstance(model, MemberFailure):
        return model
    seconds = time.perf_counter() - start
    X = take_rows(data.X, np.arange(len(data.y))[:TIMED_ROWS])
    latency = np.inf
    for _ in range(TIMED_CALLS):
        start = time.perf_counter()
        data.target.outputs(model, X, tuned.spec.response)
        latency = min(latency, time.perf_counter() - start)
    return model, seconds, float(latency * TIMED_ROWS / min(TIMED_ROWS, len(data.y)))


class Correction(NamedTuple):
    """A last step after the fusion, which is fitted to fused out-of-fold outputs.

    ``fit`` takes these outputs, their positions among the tested rows, and folds of them; ``apply``
    takes what it returns, other fused outputs and their positions.
    """

    fit: Callable[[Doubles, Indices, list[Fold]], Any]
    apply: Callable[[Any, Doubles, Indices], Doubles]


def fuse_fold(
    fusion: Fusion, outputs: Doubles, data: TrainingData, rows: Indices, fold: Fold
) -> Doubles:
    """Fuse the test rows of a fold of ``rows`` by a fusion fitted to its other rows.

    ``outputs`` are of ``rows``. Where the other rows lack a class, it is fitted to all of them.
    """
    y, numeric, used = data.y[rows], not data.target.is_classification, fold.train
    if len(used) == 0 or not (numeric or np.isin(y, y[used]).all()):
        used = np.arange(len(rows))
    weights = data.weights_at(rows[used])
    fitted = clone(fusion).fit(outputs[:, used], y[used], numeric=numeric, sample_weight=weights)
    return np.asarray(fitted.combine(outputs[:, fold.test]))


def cross_fuse(
    fusion: Fusion, outputs: Doubles, data: TrainingData, rows: Indices, folds: list[Fold]
) -> Doubles:
    """Fuse each fold of some rows by a fusion fitted to their other rows, (n_rows, n_outputs)."""
    fused = np.empty(outputs.shape[1:])
    for fold in folds:
        fused[fold.test] = fuse_fold(fusion, outputs, data, rows, fold)
    return fused


def out_of_fold_outputs(
    fusion: Fusion,
    members: Sequence[TunedMember],
    data: TrainingData,
    correction: Correction | None = None,
) -> Doubles:
    """Fuse each fold by choices in which its own labels have no part, (n_tested, n_outputs).

    Settings of the members, their calibration, the fusion and its correction are chosen on the
    other folds.
    """
    tested, folds = data.tested, data.scoring_folds
    fused = np.empty((len(tested), data.n_outputs))
    for number, fold in enumerate(folds):
        outputs = np.stack([each.outputs_for(number)[tested] for each in members])
        own = fuse_fold(fusion, outputs, data, tested, fold)
        if correction is not None:
            train = fold.train
            inner = inner_folds(folds, number)
            others = cross_fuse(fusion, outputs[:, train], data, tested[train], inner)
            own = correction.apply(correction.fit(others, train, inner), own, fold.test)
        fused[fold.test] = own
    return fused


def inner_folds(folds: list[Fold], number: int) -> list[Fold]:
    """Return the other folds of the training rows of a fold, as positions in these rows."""
    train = folds[number].train
    inside = [np.isin(train, fold.test) for k, fold in enumerate(folds) if k != number]
    return [Fold(np.flatnonzero(~each), np.flatnonzero(each)) for each in inside if each.any()]


@set_module("ensemblage.pool")
@dataclass(frozen=True)
class FittedPool:
    """Members with a weight, the method and input of each, and their fusion."""

    names: list[str]
    estimators: list[Any]
    response_methods: list[str]
    inputs: list[str]
    fusion: Fusion
    leaderboard: Leaderboard
    out_of_fold: OutOfFold

    def _check_fitted(self) -> None:
        rules = {"estimators": "list (members)", "names": "strings (members)"}
        of_each = {"response_methods": "strings (members)", "inputs": "strings (members)"}
        expect_fitted(self, {**rules, **of_each})
        whole = all(hasattr(each, "get_params") for each in self.estimators)
        expect(
            whole and hasattr(self.fusion, "combine"),
            "a member is not an estimator, or the fusion not a Fusion",
        )
        expect(set(self.inputs) <= FORMS, "inputs are unknown")
        expect(isinstance(self.leaderboard, Leaderboard), "leaderboard is not a Leaderboard")


class PoolFit(NamedTuple):
    """A fitted pool, and what a further pool of the same rows uses of the fit.

    ``members`` are the tuned ones with a weight, ``correction`` what the correction's ``fit``
    returned, ``outputs`` the pool's out-of-fold outputs of all rows, (n_rows, n_outputs): the
    prediction without any member where no fold tests a row.
    """

    pool: FittedPool
    members: list[TunedMember]
    correction: Any
    outputs: Doubles


def _announce_long_fit(specs: Sequence[MemberSpec], data: TrainingData) -> None:
    """Warn before boosting of many classes, which grows a tree for each in every round."""
    seconds = BOOSTING_SECONDS_PER_CLASS * data.n_outputs
    if data.is_large:
        seconds = LARGE_BOOSTING_SECONDS_PER_CLASS * data.n_outputs * len(data.y) / 1_000
    many = data.target.is_classification and data.n_outputs > 2
    if many and seconds >= LONG_FIT_SECONDS and any(isinstance(each, Boosting) for each in specs):
        warn_user(
            f"y has {data.n_outputs} classes, and boosting grows a tree for each in every round: "
            f"the fit takes about {seconds:.0f} s or more of one core. Set `time_budget`, or name "
            "`members` without boosting, to save time."
        )


def is_skipped(spec: MemberSpec, data: TrainingData) -> bool:
    """Whether a member is fitted to these data in a time budget only."""
    return data.is_large and spec.optional and not (spec.for_categories and data.has_categories)


def note_of_skipped(names: list[str]) -> str:
    if not names:
        return ""
    return (
        f"Beyond {LARGE_DATA_ROWS:,} rows {listing(names)} {'is' if len(names) == 1 else 'are'} "
        "fitted in a time budget only: set `time_budget`."
    )


def fit_pool(
    specs: Sequence[MemberSpec],
    seeds: Sequence[int],
    fusion: Fusion,
    data: TrainingData,
    *,
    budget: TimeBudget | None = None,
    n_jobs: int | None = None,
    correction: Correction | None = None,
) -> PoolFit:
    """Tune the members, fit the fusion, refit members with a weight; drop those that fail."""
    failures = [
        MemberFailure(
            spec.name,
            f"its fit time grows with the square of the number of columns, and there are more "
            f"than {spec.max_columns}; name it in a list, members=[...], to use it anyway",
        )
        for spec in specs
        if spec.too_wide(data)
    ]
    pairs = [(spec, s) for spec, s in zip(specs, seeds, strict=True) if not spec.too_wide(data)]
    skipped = [spec.name for spec, _ in pairs if budget is None and is_skipped(spec, data)]
    pairs = [(spec, seed) for spec, seed in pairs if spec.name not in skipped]
    chosen_specs, seeds = [spec for spec, _ in pairs], [seed for _, seed in pairs]
    if budget is None:
        _announce_long_fit(chosen_specs, data)
        tune = cross_validate_large if data.is_large else cross_validate_members
        tuned, failed = tune(chosen_specs, data, seeds, n_jobs)
    else:
        tuned, failed = cross_validate_in_time(chosen_specs, data, seeds, budget)
    failures += failed
    while True:
        if not tuned:
            reasons = "; ".join(f"{each.name}: {each.reason}" for each in failures)
            raise ValueError(f"No member of the pool could be fitted. {reasons}.")
        fitted, kept, weights = fit_lasting_fusion(fusion, tuned, data)
        chosen = [tuned[k] for k in kept]
        tasks = [(each, each.spec.input_data(data)) for each in chosen]
        refits = run_tasks(refit_and_time, tasks, n_jobs)
        failed = [each for each in refits if isinstance(each, MemberFailure)]
        if not failed:
            break
        failures += failed
        lost = {k for k, each in zip(kept, refits, strict=True) if isinstance(each, MemberFailure)}
        tuned = [each for k, each in enumerate(tuned) if k not in lost]
    pool_outputs = out_of_fold_outputs(fusion, tuned, data, correction)
    corrected = None
    if correction is not None:
        tested, folds = data.tested, data.scoring_folds
        fused = cross_fuse(fusion, stack_tested(tuned, data), data, tested, folds)
        corrected = correction.fit(fused, np.arange(len(tested)), folds)
    names = [each.spec.name for each in chosen]
    seconds = {name: refit[1:] for name, refit in zip(names, refits, strict=True)}
    pool = FittedPool(
        names,
        [model for model, _, _ in refits],
        [each.spec.response for each in chosen],
        [each.spec.input_kind(data) for each in chosen],
        fitted,
        Leaderboard(
            tuple(leaderboard_rows(weights, tuned, data, pool_outputs, seconds)),
            tuple(f"{each.name} is left out: {each.reason}." for each in failures),
            note=note_of_skipped(skipped),
            metric=ACCURACY if data.target.is_classification else RMSE,
        ),
        keep_out_of_fold(tuned, data, pool_outputs),
    )
    outputs = np.tile(data.prior, (len(data.y), 1))
    outputs[data.tested] = pool_outputs
    return PoolFit(pool, chosen, corrected, outputs)


def leaderboard_rows(
    weights: Doubles | None,
    members: Sequence[TunedMember],
    data: TrainingData,
    pool_outputs: Doubles,
    seconds: dict[str, tuple[float, float]],
) -> list[LeaderboardRow]:
    """Return the pool's row, then the members' by log loss; ``seconds``: refit, prediction."""
    tested, target, factor = data.tested, data.target, data.error_factor
    y, shares = data.y[tested], data.weights_at(tested)
    rows = []
    for k, each in enumerate(members):
        alone = out_of_fold_outputs(target.calibrator(), [each], data)
        refit_seconds, predict_seconds = seconds.get(each.spec.name, (0.0, None))
        rows.append(
            LeaderboardRow(
                each.spec.name,
                each.spec.group,
                *target.scores_with_errors(alone, y, shares, factor),
                None if weights is None else float(weights[k]),
                each.seconds + refit_seconds,
                predict_seconds,
                n_fitted_rows(each, data),
            )
        )
    pool = LeaderboardRow(
        "pool",
        "all",
        *target.scores_with_errors(pool_outputs, y, shares, factor),
        1.0,
        sum(each.fit_seconds for each in rows),
        sum(each.predict_seconds or 0.0 for each in rows),
        len(data.y),
    )
    return [pool, *sorted(rows, key=lambda each: each.log_loss)]


def n_fitted_rows(member: TunedMember, data: TrainingData) -> int:
    """Return the rows that a member is fitted to; one that keeps its model, of one fold, to it."""
    kept = member.model is not None and len(data.folds) == 1
    available = len(data.folds[0].train) if kept else len(data.y)
    return min(available, member.spec.max_rows or available)


def keep_out_of_fold(
    members: Sequence[TunedMember], data: TrainingData, pool_outputs: Doubles
) -> OutOfFold:
    """Return the out-of-fold outputs of 20,000 rows at most."""
    tested, dtype = data.tested, data.target.storage_dtype
    kept = stratified_subsample(np.arange(len(tested)), data.labels[tested], MAX_STORED_ROWS, 0)
    rows = tested[kept]
    return OutOfFold(
        tuple(each.spec.name for each in members),
        tuple(each.spec.group for each in members),
        stack_tested(members, data)[:, kept].astype(dtype),
        pool_outputs[kept],  # float32 would round small probabilities to zero
        data.y[rows],
        rows if data.indices is None else data.indices[rows],
        data.weights_at(rows),
    )
