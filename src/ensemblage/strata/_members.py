"""Members of a strata ensemble: rows, fits, outputs; choice of number and size of strata."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ensemblage._core import (
    EstimatorTemplate,
    draw_seeds,
    draw_seeds_each,
    final_step,
    fit_parameter,
    limit_blas_threads,
    rows_at_final_step,
    run_tasks,
    take_rows,
)
from ensemblage.fusion import (
    EMPTY_CONTEXT,
    AffinityGate,
    AnchoredGate,
    Fusion,
    FusionContext,
    LogLinearPool,
    common_response_method,
    cross_val_combine,
    regressor_response_method,
    resolve_fusion,
)
from ensemblage.strata._targets import ClassTarget, NumericTarget, Target, Training

Doubles = NDArray[np.float64]

Indices = NDArray[np.intp]

Member = tuple[str, EstimatorTemplate]
"""Response method and template of a member."""


class EnsembleParts(NamedTuple):
    """Members, anchors and fusion resolved from the parameters."""

    members: list[Member]
    anchors: list[Member]
    fusion: Fusion
    soft: bool
    """Whether memberships are passed as sample weights."""
    requires_fit: bool
    """Whether the fusion is fitted on out-of-fold outputs."""


class MemberTask(NamedTuple):
    """Rows and weights that one member is fitted on.

    It is fitted on ``rows``; ``weights``, of all rows, are passed to ``fit`` unless None. An anchor
    has no stratum.
    """

    response_method: str
    template: EstimatorTemplate
    rows: Indices
    weights: Doubles | None
    stratum: int | None = None


class StrataFit(NamedTuple):
    """A fitted stratifier, the members' tasks on its strata, and their out-of-fold outputs.

    ``settings`` are parameters of the stratifier. ``outputs``, (n_members, n_samples, n_outputs),
    and ``fused``, (n_samples, n_outputs), by a cross-fitted fusion, are None without folds.
    ``error`` is that of the fused outputs.
    """

    settings: dict[str, Any]
    stratifier: Any
    memberships: Doubles
    tasks: list[MemberTask]
    outputs: Doubles | None
    context: FusionContext
    fused: Doubles | None = None
    error: float = 0.0

    @property
    def strata_of_rows(self) -> Indices:
        """Stratum of the highest membership of each row: that of its source, if known."""
        return np.asarray(self.memberships.argmax(axis=1))


def is_mixed_frame(X: Any) -> bool:
    """Whether X is a dataframe with columns that are not numeric."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return False
    kinds = frame.schema.values()
    return not all(kind.is_numeric() or kind == nw.Boolean for kind in kinds)


def resolve_parts(
    target: type[ClassTarget | NumericTarget],
    estimator: Any,
    anchor: Any,
    fusion: Any,
    *,
    final_estimator: Any = None,
    X: Any = None,
    soft: bool = False,
    weighted: bool = False,
) -> EnsembleParts:
    """Resolve members, anchors and fusion; a gate with several outputs becomes an AnchoredGate.

    Raises ValueError if the fusion needs context that is not available, or if members do not take
    sample weights that they need.
    """
    numeric = target is NumericTarget
    offered = {"affinity", "strata"} if is_mixed_frame(X) else {"affinity", "strata", "X"}
    fusion = resolve_fusion(
        fusion, offered=frozenset(offered), final_estimator=final_estimator, numeric=numeric
    )
    members = [target.default_member()] if estimator is None else as_list(estimator)
    anchors = [] if anchor is None else [_named_anchor(each, target) for each in as_list(anchor)]
    if soft or weighted:
        _require_weights(members, "membership='soft'" if soft else "sample_weight")
    if weighted:
        _require_weights(anchors, "sample_weight")
    if isinstance(fusion, AffinityGate) and len(members) + len(anchors) > 1:
        pool = LogLinearPool(by_stratum=True) if numeric else None
        fusion = AnchoredGate(fusion, pool, n_anchors=len(anchors))
    requires_fit = fusion.requires_fit(numeric=numeric)
    own, on_all_rows = (
        [
            (
                regressor_response_method(each) if numeric else common_response_method([each]),
                EstimatorTemplate(each),
            )
            for each in several
        ]
        for several in (members, anchors)
    )
    return EnsembleParts(own, on_all_rows, fusion, soft, requires_fit)


def as_list(given: Any) -> list[Any]:
    return list(given) if isinstance(given, list | tuple) else [given]


def _named_anchor(given: Any, target: type[ClassTarget | NumericTarget]) -> Any:
    if isinstance(given, str) and given != "svm":
        expected = "a regressor" if target is NumericTarget else "a classifier"
        raise ValueError(f"anchor={given!r} is unknown; use 'svm' or {expected}.")
    return target.svm_anchor() if isinstance(given, str) else given


def _require_weights(estimators: list[Any], reason: str) -> None:
    for each in estimators:
        if fit_parameter(each, "sample_weight") is None:
            raise ValueError(
                f"{reason} requires members that take sample_weight; {type(each).__name__}.fit "
                "does not. Use another estimator, or membership='hard' without sample_weight."
            )


def strongest_rows(membership: Doubles, weights: Doubles) -> Indices:
    """Select the rows of highest membership, up to the stratum's size and at least one; sorted."""
    rows = np.flatnonzero((membership > 0) & (weights > 0))
    descending = rows[np.argsort(-membership[rows], kind="stable")]
    size = membership[rows] @ weights[rows]
    cumulative = np.cumsum(weights[descending])
    # a row is included if more than half of its weight fits
    count = np.count_nonzero(cumulative - 0.5 * weights[descending] < size)
    return np.sort(descending[: max(count, 1)])


def member_tasks(parts: EnsembleParts, memberships: Doubles, data: Training) -> list[MemberTask]:
    """Tasks of each member on each stratum, ordered by member, then of the anchors on all rows."""
    weights, given = data.weights, []
    for membership in memberships.T:
        if parts.soft:
            passed = membership * weights
            given.append((np.flatnonzero(passed > 0), passed))
        else:
            given.append((strongest_rows(membership, weights), data.sample_weight))
    empty = [k for k, (rows, _) in enumerate(given) if len(rows) == 0]
    if empty:
        raise ValueError(
            f"The stratifier found {len(given)} strata, of which {len(empty)} have no rows "
            f"(numbers {empty}). Use fewer strata (n_strata), or HISS, whose strata have equal "
            "sizes."
        )
    tasks = [MemberTask(*kind, *rows, k) for kind in parts.members for k, rows in enumerate(given)]
    present = np.flatnonzero(weights > 0)
    return tasks + [MemberTask(*anchor, present, data.sample_weight) for anchor in parts.anchors]


def fit_member(task: MemberTask, X: Any, y: NDArray[Any], target: Target, seeds: list[int]) -> Any:
    """Fit a member: a constant one if y is constant, and the best estimator of a search."""
    y = y[task.rows]
    if (y == y[0]).all():
        return target.constant_member(y)
    member = task.template.build(seeds)
    name = None if task.weights is None else fit_parameter(member, "sample_weight")
    passed = {} if task.weights is None or name is None else {name: task.weights[task.rows]}
    rows = take_rows(X, task.rows)
    with limit_blas_threads(rows):
        member.fit(rows, y, **passed)
    # the results of a search are not needed and cannot be saved
    return getattr(member, "best_estimator_", member)


def fit_members(
    tasks: list[MemberTask], data: Training, seed: int, n_jobs: int | None
) -> list[Any]:
    """Fit the members in the order of the tasks; their seeds derive from one seed."""
    rows = (data.X, data.y, data.target)
    pairs = zip(tasks, _member_seeds(tasks, seed), strict=True)
    return run_tasks(fit_member, [(task, *rows, own) for task, own in pairs], n_jobs)


def predict_members(
    members: list[Any], response_methods: list[str], X: Any, target: Target
) -> Doubles:
    """Stack the outputs of fitted members, (n_members, n_samples, n_outputs)."""
    pairs = zip(members, response_methods, strict=True)
    return np.stack([target.outputs(member, X, name) for member, name in pairs])


def fit_and_predict(
    task: MemberTask, X: Any, y: NDArray[Any], target: Target, seeds: list[int], test: Indices
) -> Doubles:
    """Fit a member; give its outputs on test rows, (len(test), n_outputs)."""
    member = fit_member(task, X, y, target, seeds)
    return target.outputs(member, take_rows(X, test), task.response_method)


def out_of_fold_outputs(
    tasks: list[MemberTask],
    data: Training,
    seed: int,
    n_jobs: int | None,
    anchored: Doubles | None = None,
) -> Doubles:
    """Out-of-fold outputs of members, (n_members, n_samples, n_outputs).

    A row in no test fold has NaN; of several test folds the last counts. ``anchored`` are outputs
    of anchors that are already computed.
    """
    folds = data.folds or []
    n_fitted = len(tasks) - (0 if anchored is None else len(anchored))
    seeds = iter(_member_seeds(tasks * len(folds), seed))
    fits: list[tuple[Any, ...]] = []
    for train, test in folds:
        in_training = np.bincount(train, minlength=len(data.y)) > 0
        for task in tasks:
            kept = task.rows[in_training[task.rows]]
            # a stratum without rows in this fold: its member is fitted on the whole fold
            own = task._replace(rows=kept if len(kept) > 0 else train)
            fits.append((own, data.X, data.y, data.target, next(seeds), test))
    outputs = np.full((len(tasks), len(data.y), data.target.n_outputs), np.nan)
    needed = [i for i in range(len(fits)) if i % len(tasks) < n_fitted]
    parts = run_tasks(fit_and_predict, [fits[i] for i in needed], n_jobs)
    for i, part in zip(needed, parts, strict=True):
        outputs[i % len(tasks), folds[i // len(tasks)].test] = part
    if anchored is not None:
        outputs[n_fitted:] = anchored
    return outputs


def _member_seeds(tasks: list[MemberTask], seed: int) -> list[list[int]]:
    if all(task.template.n_seeds == 0 for task in tasks):
        return [[]] * len(tasks)
    return draw_seeds_each(draw_seeds(seed, len(tasks)), [task.template.n_seeds for task in tasks])


def report_members(
    tasks: list[MemberTask],
    members: list[Any],
    outputs: Doubles | None,
    data: Training,
    weights: Doubles | None,
) -> list[dict[str, Any]]:
    """Entries of ``member_report_``.

    ``outputs`` are out-of-fold, ``weights`` the members' in the fusion; None if not known.
    """
    report = []
    for i, (task, member) in enumerate(zip(tasks, members, strict=True)):
        known, own = task.rows, None
        if outputs is not None:
            known = task.rows[np.isfinite(outputs[i][task.rows]).all(axis=1)]
            own = outputs[i][known]
        facts = data.target.member_report(member, own, data.y[known])
        score = facts.pop("score")
        report.append(
            {
                "stratum": task.stratum,
                "estimator": type(task.template.estimator).__name__,
                "n_rows": len(task.rows),
                **facts,
                "weight": None if weights is None else float(weights[i]),
                "score": score,
            }
        )
    return report


SIZES = (0.05, 0.1, 0.2, 0.4)
"""Candidate sizes of strata, as shares of the rows."""
COUNTS = (10, 20, 40)
"""Candidate numbers of strata."""
DEFAULT_COUNT = 20
"""Default number of strata."""
MIN_STRATUM_ROWS = 10
"""Smallest number of rows per stratum, if there are as many."""


def search_strata(
    data: Training,
    stratifier: Any,
    parts: EnsembleParts,
    settings: list[dict[str, Any]],
    *,
    seed: int,
    n_jobs: int | None,
    step: Callable[[], bool],
) -> tuple[StrataFit, list[StrataFit]]:
    """Evaluate each setting; give the fit with the smallest error, and all fits if several.

    The fused outputs of the former are, in each fold, of the setting chosen on the other folds.
    ``seed`` is that of the members. ``step`` is called after each setting; the search stops if it
    returns True.
    """
    several = len(settings) > 1
    tried: list[StrataFit] = []
    for each in settings:
        tried.append(_evaluate_setting(data, stratifier, parts, each, seed, n_jobs, tried, several))
        if step():
            break
    best = tried[int(np.argmin([fit.error for fit in tried]))]
    return best._replace(fused=_fused_by_fold(best, tried, data)), tried if several else []


def _fused_by_fold(best: StrataFit, tried: list[StrataFit], data: Training) -> Doubles | None:
    """Fused outputs of the setting that, in each fold, has the smallest error on the others.

    The smallest of several errors is too small, as rows on which a setting is chosen favour it.
    """
    if best.fused is None or len(tried) == 1:
        return best.fused
    fused = best.fused.copy()
    for _, test in data.folds or []:
        outside = np.ones(len(data.y), dtype=bool)
        outside[test] = False
        errors = [out_of_fold_error(np.asarray(each.fused), data, outside) for each in tried]
        fused[test] = np.asarray(tried[int(np.argmin(errors))].fused)[test]
    return fused


def _evaluate_setting(
    data: Training,
    stratifier: Any,
    parts: EnsembleParts,
    settings: dict[str, Any],
    seed: int,
    n_jobs: int | None,
    before: list[StrataFit],
    scored: bool,
) -> StrataFit:
    stratifier = clone(stratifier)
    final_step(stratifier).set_params(**settings)
    memberships = _fit_stratifier(stratifier, data)
    context = fusion_context(stratifier, data.X, parts.fusion.needs, in_training=True)
    tasks = member_tasks(parts, memberships, data)
    outputs, fused, error = None, None, 0.0
    if data.folds is not None:
        # anchors are fitted on all rows; with as many members they have the same seeds
        alike = [each.outputs for each in before if len(each.tasks) == len(tasks)]
        anchored = None
        if parts.anchors and alike:
            anchored = np.asarray(alike[-1])[len(tasks) - len(parts.anchors) :]
        outputs = out_of_fold_outputs(tasks, data, seed, n_jobs, anchored)
        fused = cross_fit_fusion(parts.fusion, outputs, data, context)
        if scored:
            error = out_of_fold_error(fused, data)
    return StrataFit(settings, stratifier, memberships, tasks, outputs, context, fused, error)


def _fit_stratifier(stratifier: Any, data: Training) -> Doubles:
    """Fit a stratifier, or a pipeline that ends in one; give (n_samples, n_strata)."""
    passed = {}
    for name in ("sample_weight", "sources"):
        value = getattr(data, name)
        if value is None:
            continue
        parameter = fit_parameter(stratifier, name)
        if parameter is None:
            raise ValueError(
                f"{name} was given, but {type(final_step(stratifier)).__name__}.fit does not take "
                f"it. Omit {name}, or use a stratifier that takes it."
            )
        passed[parameter] = value
    stratifier.fit(data.X, data.target.stratification_labels(data.y), **passed)
    memberships = getattr(final_step(stratifier), "memberships_", None)
    if memberships is None:
        raise TypeError(
            f"stratifier={final_step(stratifier)!r} sets no memberships_. Use HISS, MixtureStrata, "
            "BootstrapStrata, SourceStrata or another estimator with the same interface."
        )
    return np.asarray(memberships)


def fusion_context(
    stratifier: Any, X: Any, needs: frozenset[str], *, in_training: bool = False
) -> FusionContext:
    """Context of the rows that a fusion needs."""
    affinity, strata = None, None
    if needs & {"affinity", "strata"}:
        affinity = log_affinity(stratifier, X, in_training=in_training)
    if "strata" in needs:
        strata = np.asarray(affinity).argmax(axis=1)
    return FusionContext(
        affinity=affinity if "affinity" in needs else None, X=X if "X" in needs else None,
        strata=strata,
    )  # fmt: skip


def log_affinity(stratifier: Any, X: Any, *, in_training: bool = False) -> Doubles:
    """Log affinities of rows; for training rows out-of-fold, if the stratifier has them."""
    last = final_step(stratifier)
    affinity = getattr(last, "out_of_fold_log_affinity_", None) if in_training else None
    if affinity is None:
        affinity = last.log_affinity(rows_at_final_step(stratifier, X))
    return np.asarray(affinity)


def candidate_settings(
    stratifier: Any, stratum_size: Any, n_strata: Any, n_samples: int, *, free: bool = False
) -> list[dict[str, Any]]:
    """Candidate parameters of a stratifier, at least one setting; None keeps its own.

    If ``free``, None means 20 strata or fewer, of a size to be chosen. If possible, a row belongs
    to at least one stratum on average, and strata have at least ten rows.
    """
    if free:
        stratum_size = "auto" if stratum_size is None else stratum_size
        n_strata = min(max(n_samples // 10, 2), 20) if n_strata is None else n_strata
    known = stratifier.get_params()
    for name, value in (("stratum_size", stratum_size), ("n_strata", n_strata)):
        if value is not None and name not in known:
            raise ValueError(
                f"{name}={value!r} was given, but {type(stratifier).__name__} has no such "
                f"parameter. Omit {name}."
            )
    any_size, any_count = stratum_size == "auto", n_strata == "auto"
    own_count = known.get("n_strata") if n_strata is None else n_strata
    own_size = known.get("stratum_size") if stratum_size is None else stratum_size
    pairs = [
        (count, size)
        for count in (COUNTS if any_count else [own_count])
        for size in (SIZES if any_size else [own_size])
        if not (any_count and count * MIN_STRATUM_ROWS > max(n_samples, 2 * MIN_STRATUM_ROWS))
        and not (any_size and (count is not None and size * count < 1))
        and not (any_size and size * n_samples < MIN_STRATUM_ROWS)
    ]
    if not pairs:  # few rows: few strata of ten rows, or of all rows
        if any_count:
            own_count = max(2, min(DEFAULT_COUNT, n_samples // MIN_STRATUM_ROWS))
        if any_size:
            own_size = min(1.0, max(0.4, MIN_STRATUM_ROWS / n_samples))
        pairs = [(own_count, own_size)]
    named = ({"n_strata": count, "stratum_size": size} for count, size in pairs)
    return [
        {name: value for name, value in each.items() if name in known and value is not None}
        for each in named
    ]


def out_of_fold_error(
    fused: Doubles, data: Training, rows: NDArray[np.bool_] | None = None
) -> float:
    """Weighted error of fused out-of-fold outputs, on some rows; those with NaN are excluded."""
    scored = np.isfinite(fused).all(axis=1)
    if rows is not None:
        scored &= rows
    losses = data.weights[scored] @ data.target.losses(fused[scored], data.y[scored])
    total = data.weights[scored].sum()
    return data.target.error_from_loss(float(losses / total)) if total > 0 else np.inf


def cross_fit_fusion(
    fusion: Fusion, outputs: Doubles, data: Training, context: FusionContext = EMPTY_CONTEXT
) -> Doubles:
    """Fuse out-of-fold outputs, with the fusion fitted once per fold."""
    return cross_val_combine(
        fusion,
        outputs,
        data.y,
        data.folds or [],
        context,
        numeric=not data.target.is_classification,
        sample_weight=data.sample_weight,
    )
