"""Members of a strata ensemble: which rows each learns from, fits, outputs, a report."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import GridSearchCV, check_cv
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.utils import get_tags
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from ensemblage._core import (
    Blueprint,
    Fold,
    draw_seeds,
    expect,
    expect_fitted,
    final_step,
    fit_parameter,
    make_folds,
    read_weights,
    run_tasks,
    spread_seeds,
    take_rows,
    threads_for,
)
from ensemblage.fusion import (
    AffinityGate,
    AnchoredGate,
    Fusion,
    FusionContext,
    LocalCompetence,
    LogLinearPool,
    common_response_method,
    regressor_response_method,
    resolve_fusion,
)
from ensemblage.strata._describe import Errors, count_errors
from ensemblage.strata._linear_members import ScaledLogisticRegression, ScaledRidge
from ensemblage.strata._targets import Target, Training, Trial

Doubles = NDArray[np.float64]
Indices = NDArray[np.intp]


# one layout in memory, so that a frame and an array of the same numbers give the same bits
ARRAYS = {"dtype": [np.float64, np.float32], "order": "C"}


def is_mixed_frame(X: Any) -> bool:
    """Tell whether X is a frame with columns that an array of floats cannot hold."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return False
    kinds = frame.schema.values()
    return not all(kind.is_numeric() or kind == nw.Boolean for kind in kinds)


def read_training(
    estimator: Any, X: Any, y: Any, sample_weight: Any, sources: Any, groups: Any
) -> Training:
    """Validate what ``fit`` was given; the estimator notes number and names of the columns."""
    if is_mixed_frame(X) and estimator._encoder_for(X) is None:  # noqa: SLF001
        validate_data(estimator, X, y, skip_check_array=True)
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
    else:
        X, y = estimator._training_rows(  # noqa: SLF001
            X, y, sample_weight, **ARRAYS, ensure_min_samples=2
        )
    check_consistent_length(X, sources, groups)
    weights: Doubles = read_weights(sample_weight, X)
    y, target = estimator._read_target(y, weights)  # noqa: SLF001
    given = None if sample_weight is None else weights
    return Training(X, y, target, weights, given, sources, groups)


def read_rows(estimator: Any, X: Any) -> Any:
    """Validate rows to predict; without an encoder, a frame with words stays as it is."""
    if is_mixed_frame(X) and not hasattr(estimator, "encoder_"):
        validate_data(estimator, X, reset=False, skip_check_array=True)
        return X
    return estimator._new_rows(X, **ARRAYS)  # noqa: SLF001


def reads_tables(estimator: Any) -> bool:
    """Tell whether an estimator takes frames with words: a pipeline, or one that says so."""
    if estimator is None or isinstance(estimator, str):
        return False
    tags = get_tags(estimator).input_tags
    return isinstance(estimator, Pipeline) or tags.string or tags.categorical


def hold_out(data: Training, cv: Any, seed: int) -> Training:
    """Add the folds that a user's ``cv`` asks for; a splitter may leave rows out of all tests."""
    y, target = data.y, data.target
    if not isinstance(cv, Integral):
        splitter = check_cv(cv, y, classifier=target.is_classification)
        return data._replace(folds=[Fold(*each) for each in splitter.split(data.X, y, data.groups)])
    n_folds = int(cv) if data.groups is not None else target.count_folds(y, int(cv))
    return data._replace(
        folds=make_folds(target.stratification_labels(y), n_folds, seed, data.groups)
    )


SVM_GRID = {"svc__C": [1.0, 10.0, 100.0], "svc__gamma": ["scale", 0.01, 0.1]}
SVR_GRID = {f"regressor__{name.replace('svc', 'svr')}": each for name, each in SVM_GRID.items()}


def tuned_svm() -> GridSearchCV:
    """Make a lightly tuned support vector machine with an RBF kernel.

    Returns
    -------
    GridSearchCV
        On standardised columns: three values of C and of gamma, three folds.

    Examples
    --------
    >>> from ensemblage.strata import tuned_svm
    >>> len(tuned_svm().param_grid)
    2
    """
    return GridSearchCV(make_pipeline(StandardScaler(), SVC()), SVM_GRID, cv=3)


def tuned_svr() -> GridSearchCV:
    """Make a lightly tuned support vector regressor with an RBF kernel.

    Returns
    -------
    GridSearchCV
        On standardised columns and a standardised target: three values of C and of gamma, three
        folds.

    Examples
    --------
    >>> from ensemblage.strata import tuned_svr
    >>> len(tuned_svr().param_grid)
    2
    """
    machine = TransformedTargetRegressor(
        make_pipeline(StandardScaler(), SVR()), transformer=StandardScaler()
    )
    return GridSearchCV(machine, SVR_GRID, cv=3)


class Role(NamedTuple):
    """What members of an ensemble are if not told otherwise, and how they are asked and fused."""

    member: Callable[[], Any]
    anchors: dict[str, Callable[[], Any]]
    """By the names that users may give."""
    expected: str
    """What an anchor has to be."""
    response: Callable[[Any], str]
    """The best method that an estimator has."""
    fusion: Callable[..., Fusion]
    """Turns a name into a fusion."""
    pool: Callable[[], Fusion | None]
    """Of a gate with anchors."""


CLASSIFIERS = Role(
    ScaledLogisticRegression,
    {"svm": tuned_svm},
    "a classifier",
    lambda estimator: common_response_method([estimator]),
    resolve_fusion,
    lambda: None,
)
REGRESSORS = Role(
    ScaledRidge,
    {"svm": tuned_svr},
    "a regressor",
    regressor_response_method,
    partial(resolve_fusion, numeric=True),
    lambda: LogLinearPool(by_stratum=True),
)


class Kind(NamedTuple):
    """A kind of member: the method that it is asked for, and of what copies are fitted."""

    response: str
    blueprint: Blueprint


class Recipe(NamedTuple):
    """What the user's parameters come to; ``soft`` passes memberships as weights."""

    kinds: tuple[Kind, ...]
    anchors: tuple[Kind, ...]
    fusion: Fusion
    soft: bool
    requires_fit: bool
    """Whether the fusion learns from out-of-fold outputs."""


def make_recipe(
    estimator: Any,
    anchor: Any,
    fusion: Any,
    *,
    final_estimator: Any = None,
    X: Any = None,
    soft: bool = False,
    weighted: bool = False,
    role: Role = CLASSIFIERS,
) -> Recipe:
    """Resolve members, anchors and fusion as the user gave them; a gate beside others is anchored.

    A fusion that needs more than there is in the rows X is refused, and so are members that cannot
    take the weights that they are to get.
    """
    offered = frozenset(
        {"affinity", "strata"} if is_mixed_frame(X) else {"affinity", "strata", "X"}
    )
    fusion = role.fusion(fusion, offered=offered, final_estimator=final_estimator)
    members = [role.member()] if estimator is None else listed_parts(estimator)
    anchors = [] if anchor is None else [_anchor(each, role) for each in listed_parts(anchor)]
    if soft or weighted:
        _require_weights(members, "membership='soft'" if soft else "sample_weight")
    if weighted:
        _require_weights(anchors, "sample_weight")
    if isinstance(fusion, AffinityGate) and len(members) + len(anchors) > 1:
        fusion = AnchoredGate(fusion, role.pool(), n_anchors=len(anchors))
    kinds, on_all_rows = (
        tuple(Kind(role.response(each), Blueprint(each)) for each in several)
        for several in (members, anchors)
    )
    requires_fit = fusion.requires_fit(numeric=role is REGRESSORS)
    return Recipe(kinds, on_all_rows, fusion, soft, requires_fit)


def listed_parts(given: Any) -> list[Any]:
    return list(given) if isinstance(given, list | tuple) else [given]


def _anchor(given: Any, role: Role) -> Any:
    if not isinstance(given, str):
        return given
    if given not in role.anchors:
        known = ", ".join(map(repr, role.anchors))
        raise ValueError(f"anchor={given!r} is not known; use {known} or {role.expected}.")
    return role.anchors[given]()


def _require_weights(estimators: list[Any], reason: str) -> None:
    for each in estimators:
        if fit_parameter(each, "sample_weight") is None:
            raise ValueError(
                f"{reason} needs members that take sample_weight; {type(each).__name__}.fit does "
                "not. Choose another estimator, or membership='hard' without sample_weight."
            )


class Job(NamedTuple):
    """What one member is asked to do.

    It learns ``rows``; ``weights``, those of all rows, are passed to its ``fit`` unless None. An
    anchor has no stratum.
    """

    response: str
    blueprint: Blueprint
    rows: Indices
    weights: Doubles | None
    stratum: int | None = None


def hard_rows(membership: Doubles, weights: Doubles) -> Indices:
    """Rows that a stratum holds, sorted: the strongest, up to its size, at least one."""
    rows = np.flatnonzero((membership > 0) & (weights > 0))
    falling = rows[np.argsort(-membership[rows], kind="stable")]
    size = membership[rows] @ weights[rows]
    held = np.cumsum(weights[falling])
    # a row is in if more than half of it fits
    count = np.count_nonzero(held - 0.5 * weights[falling] < size)
    return np.sort(falling[: max(count, 1)])


def plan_jobs(recipe: Recipe, memberships: Doubles, data: Training) -> list[Job]:
    """Give each stratum to a member of each kind, kind by kind, then all rows to each anchor."""
    weights, shares = data.weights, []
    for membership in memberships.T:
        if recipe.soft:
            passed = membership * weights
            shares.append((np.flatnonzero(passed > 0), passed))
        else:
            shares.append((hard_rows(membership, weights), data.sample_weight))
    jobs = [Job(*kind, *share, k) for kind in recipe.kinds for k, share in enumerate(shares)]
    present = np.flatnonzero(weights > 0)
    return jobs + [Job(*anchor, present, data.sample_weight) for anchor in recipe.anchors]


def fit_member(job: Job, X: Any, y: NDArray[Any], target: Target, seeds: list[int]) -> Any:
    """Fit a fresh member: a constant one where y does not vary, and the best one of a search."""
    y = y[job.rows]
    if (y == y[0]).all():
        return target.constant_member(y)
    member = job.blueprint.build(seeds)
    name = None if job.weights is None else fit_parameter(member, "sample_weight")
    passed = {} if job.weights is None or name is None else {name: job.weights[job.rows]}
    rows = take_rows(X, job.rows)
    with threads_for(rows):
        member.fit(rows, y, **passed)
    # what a search went through is not needed any more, nor could it be saved
    return getattr(member, "best_estimator_", member)


def fit_members(jobs: list[Job], data: Training, seed: int, n_jobs: int | None) -> list[Any]:
    """Fit the members, in the order of the jobs; their seeds derive from one."""
    seeds = _member_seeds(jobs, seed)
    rows = (data.X, data.y, data.target)
    tasks = [(job, *rows, own) for job, own in zip(jobs, seeds, strict=True)]
    return run_tasks(fit_member, tasks, n_jobs)


class Asked(NamedTuple):
    """Rows as they were read, what members say of them, and what else is known."""

    X: Any
    outputs: Doubles
    """Of shape (n_members, n_samples, n_outputs), anchors last."""
    context: FusionContext


def ask_members(members: list[Any], responses: list[str], X: Any, target: Target) -> Doubles:
    """Ask fitted members about rows, (n_members, n_samples, n_outputs)."""
    pairs = zip(members, responses, strict=True)
    return np.stack([target.outputs(member, X, name) for member, name in pairs])


def ask_elsewhere(
    job: Job, X: Any, y: NDArray[Any], target: Target, seeds: list[int], test: Indices
) -> Doubles:
    """Fit a member and ask it about held-out rows, (len(test), n_outputs)."""
    member = fit_member(job, X, y, target, seeds)
    return target.outputs(member, take_rows(X, test), job.response)


def held_out_outputs(
    jobs: list[Job], data: Training, seed: int, n_jobs: int | None, anchored: Doubles | None = None
) -> Doubles:
    """Ask members about rows that they were not fitted on, (n_members, n_samples, n_outputs).

    A row in no test part has NaN; of several the last fold counts. What anchors say may be known.
    """
    folds = data.folds or []
    n_asked = len(jobs) - (0 if anchored is None else len(anchored))
    seeds = iter(_member_seeds(jobs * len(folds), seed))
    tasks: list[tuple[Any, ...]] = []
    for train, test in folds:
        in_training = np.bincount(train, minlength=len(data.y)) > 0
        for job in jobs:
            kept = job.rows[in_training[job.rows]]
            # a stratum without a row in this fold: its member learns the whole fold instead
            kept = kept if len(kept) > 0 else train
            own = job._replace(rows=kept)
            tasks.append((own, data.X, data.y, data.target, next(seeds), test))
    outputs = np.full((len(jobs), len(data.y), data.target.n_outputs), np.nan)
    asked = [i for i in range(len(tasks)) if i % len(jobs) < n_asked]
    parts = run_tasks(ask_elsewhere, [tasks[i] for i in asked], n_jobs)
    for i, part in zip(asked, parts, strict=True):
        outputs[i % len(jobs), folds[i // len(jobs)].test] = part
    if anchored is not None:
        outputs[n_asked:] = anchored
    return outputs


def _member_seeds(jobs: list[Job], seed: int) -> list[list[int]]:
    if all(job.blueprint.n_seeds == 0 for job in jobs):
        return [[]] * len(jobs)
    return spread_seeds(draw_seeds(seed, len(jobs)), [job.blueprint.n_seeds for job in jobs])


def tell_errors(losses: Doubles, memberships: Doubles, target: Target) -> Errors:
    """Give the same as the target's errors are told."""
    strata, all_rows = count_errors(losses, memberships)
    told = [None if each is None else target.as_error(each) for each in [*strata, all_rows]]
    return Errors(told[:-1], told[-1])


def held_out_errors(fused: Doubles | None, trial: Trial, data: Training) -> Errors:
    """Count errors on rows that neither members nor fusion have seen, where there are such."""
    losses = np.full(len(data.y), np.nan)
    if fused is not None:
        known = np.isfinite(fused).all(axis=1)
        losses[known] = data.target.losses(fused[known], data.y[known])
    return tell_errors(losses, final_step(trial.stratifier).memberships_, data.target)


def report_members(
    jobs: list[Job],
    members: list[Any],
    outputs: Doubles | None,
    data: Training,
    shares: Doubles | None,
) -> list[dict[str, Any]]:
    """Describe each member as ``member_report_`` does.

    ``outputs`` are held-out ones, ``shares`` the members' in the fusion; None where not known.
    """
    report = []
    for i, (job, member) in enumerate(zip(jobs, members, strict=True)):
        known, said = job.rows, None
        if outputs is not None:
            known = job.rows[np.isfinite(outputs[i][job.rows]).all(axis=1)]
            said = outputs[i][known]
        told = data.target.report(member, said, data.y[known])
        score = told.pop("score")
        report.append(
            {
                "stratum": job.stratum,
                "estimator": type(job.blueprint.estimator).__name__,
                "n_rows": len(job.rows),
                **told,
                "weight": None if shares is None else float(shares[i]),
                "score": score,
            }
        )
    return report


SIZED: dict[Any, str] = {
    AffinityGate: "variance_factors_",
    LocalCompetence: "right_",
    LogLinearPool: "weights_",
}
"""What of a fusion has an entry for each member."""
FITTED = {
    "responses_": "words (members)",
    "member_sizes_": "integer (strata) 0..",
    "constant_strata_": "integer (*) 0..<strata",
    "n_left_out_": "count",
    "feature_means_": "float (columns)",
    "source_pull_": "number 0..",
    "stratum_errors_": "list (strata)",
    "held_out_error_": "optional number",
    "member_report_": "list (*)",
    "trials_": "list (*)",
}


def _expect_size(size: Any) -> None:
    """Refuse what is no share of the rows, nor a range of shares, where strata have one."""
    for share in size if isinstance(size, tuple | list) else [] if size is None else [size]:
        expect(isinstance(share, Real) and 0 < float(share) <= 1, "stratum_size_ is no share")


def expect_members(ensemble: Any, n_columns: int, target: Target) -> None:
    """Refuse members that do not go together as those of a fit do."""
    members = [*ensemble.estimators_, *ensemble.anchors_]
    sizes = {"strata": ensemble.n_strata_, "members": len(members), "columns": n_columns}
    expect_fitted(ensemble, FITTED, **sizes)
    report = ensemble.member_report_
    expect(all(isinstance(each, dict) for each in report), "member_report_ holds no reports")
    for error in (each for each in ensemble.stratum_errors_ if each is not None):
        expect(isinstance(error, Real) and abs(float(error)) < np.inf, "stratum_errors_ holds none")
    _expect_size(ensemble.stratum_size_)
    sized = getattr(ensemble.fusion_, SIZED.get(type(ensemble.fusion_), ""), None)
    expect(sized is None or len(sized) == len(members), "fusion_ is of other members")
    several = len(ensemble.estimators_) % ensemble.n_strata_ == 0
    expect(several and bool(ensemble.estimators_), "estimators_ has not one per stratum")
    strata = final_step(ensemble.stratifier_).memberships_.shape[1]
    expect(strata == ensemble.n_strata_, "stratifier_ has another number of strata")
    # a member that always says the same has looked at no column
    looking = [each for each in members if not target.is_constant(each)]
    taken = {each.n_features_in_ for each in [*looking, ensemble.stratifier_]}
    expect(taken == {n_columns}, "members take another number of columns")
