"""Members on strata: what they are given, their jobs and fits, and what they say of rows."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV, check_cv
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from ensemblage.fusion import (
    AnchoredGate,
    Fusion,
    FusionContext,
    Gate,
    common_response,
    member_outputs,
    resolve_fusion,
    take_rows,
)
from ensemblage.parallel import (
    Blueprint,
    Fold,
    draw_seeds,
    fit_parameter,
    make_folds,
    read_weights,
    run_tasks,
    spread_seeds,
)
from ensemblage.strata._scaled_logistic import ScaledLogisticRegression

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# one layout in memory, so that a frame and an array of the same numbers give the same bits
ARRAYS = {"dtype": [np.float64, np.float32], "order": "C"}

SVM_GRID = {"svc__C": [1.0, 10.0, 100.0], "svc__gamma": ["scale", 0.01, 0.1]}


class Training(NamedTuple):
    """Validated training rows.

    ``y`` are numbers of ``classes``; ``weights`` are ones where no ``sample_weight`` was given;
    ``folds`` are there where outputs on rows that members have not seen are needed.
    """

    X: Any
    y: NDArray[np.intp]
    classes: NDArray[Any]
    weights: Array
    sample_weight: Array | None = None
    sources: NDArray[Any] | None = None
    groups: NDArray[Any] | None = None
    folds: list[Fold] | None = None


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
        X, y = estimator._training_rows(X, y, **ARRAYS, ensure_min_samples=2)  # noqa: SLF001
    check_classification_targets(y)
    check_consistent_length(X, sources, groups)
    classes, y = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y holds one class only, {classes.tolist()[0]!r}; a classifier needs at least two."
        )
    weights: Array = read_weights(sample_weight, X)
    absent = np.bincount(y, weights) == 0
    if absent.any():
        raise ValueError(
            f"sample_weight leaves no weight to class {classes[absent].tolist()[0]!r}. "
            "Leave its rows out, or give some of them weight."
        )
    given = None if sample_weight is None else weights
    return Training(X, y, classes, weights, given, sources, groups)


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
    if not isinstance(cv, Integral):
        splits = check_cv(cv, data.y, classifier=True).split(data.X, data.y, data.groups)
        return data._replace(folds=[Fold(*parts) for parts in splits])
    n_folds = int(cv)
    if data.groups is None:
        counts = np.bincount(data.y)
        n_folds = max(2, min(n_folds, int(counts.min())))
        if n_folds < int(cv):
            smallest = data.classes.tolist()[counts.argmin()]
            warnings.warn(
                f"Class {smallest!r} has {counts.min()} rows, fewer than cv={cv} folds: using "
                f"{n_folds} folds.",
                UserWarning,
                stacklevel=5,
            )
    return data._replace(folds=make_folds(data.y, n_folds, seed, data.groups))


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


def make_recipe(
    estimator: Any,
    anchor: Any,
    fusion: Any,
    *,
    final_estimator: Any = None,
    X: Any = None,
    soft: bool = False,
    weighted: bool = False,
) -> Recipe:
    """Resolve members, anchors and fusion as the user gave them; a gate beside others is anchored.

    A fusion that needs more than there is in the rows X is refused, and so are members that cannot
    take the weights that they are to get.
    """
    offered = frozenset({"affinity"} if is_mixed_frame(X) else {"affinity", "X"})
    fusion = resolve_fusion(fusion, offered=offered, final_estimator=final_estimator)
    members = [ScaledLogisticRegression()] if estimator is None else listed_parts(estimator)
    anchors = [] if anchor is None else [_anchor(each) for each in listed_parts(anchor)]
    if soft or weighted:
        _require_weights(members, "membership='soft'" if soft else "sample_weight")
    if weighted:
        _require_weights(anchors, "sample_weight")
    if isinstance(fusion, Gate) and len(members) + len(anchors) > 1:
        fusion = AnchoredGate(fusion, n_anchors=len(anchors))
    kinds, on_all_rows = (
        tuple(Kind(common_response([each]), Blueprint(each)) for each in several)
        for several in (members, anchors)
    )
    return Recipe(kinds, on_all_rows, fusion, soft)


def listed_parts(given: Any) -> list[Any]:
    return list(given) if isinstance(given, list | tuple) else [given]


def _anchor(given: Any) -> Any:
    if not isinstance(given, str):
        return given
    if given != "svm":
        raise ValueError(f"anchor={given!r} is not known; use 'svm' or a classifier.")
    return tuned_svm()


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
    rows: Rows
    weights: Array | None
    stratum: int | None = None


def hard_rows(membership: Array, weights: Array) -> Rows:
    """Rows that a stratum holds, sorted: the strongest, up to its size, at least one."""
    rows = np.flatnonzero((membership > 0) & (weights > 0))
    falling = rows[np.argsort(-membership[rows], kind="stable")]
    size = membership[rows] @ weights[rows]
    held = np.cumsum(weights[falling])
    # a row is in if more than half of it fits
    count = np.count_nonzero(held - 0.5 * weights[falling] < size)
    return np.sort(falling[: max(count, 1)])


def plan_jobs(recipe: Recipe, memberships: Array, data: Training) -> list[Job]:
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


def fit_member(job: Job, X: Any, y: Rows, seeds: list[int]) -> Any:
    """Fit a fresh member: a constant one on rows of one class, and the best one of a search."""
    y = y[job.rows]
    if (y == y[0]).all():
        return DummyClassifier(strategy="prior").fit(np.zeros((len(y), 1)), y)
    member = job.blueprint.build(seeds)
    name = None if job.weights is None else fit_parameter(member, "sample_weight")
    passed = {} if job.weights is None or name is None else {name: job.weights[job.rows]}
    member.fit(take_rows(X, job.rows), y, **passed)
    # what a search went through is not needed any more, nor could it be saved
    return getattr(member, "best_estimator_", member)


def fit_members(jobs: list[Job], data: Training, seed: int, n_jobs: int | None) -> list[Any]:
    """Fit the members, in the order of the jobs; their seeds derive from one."""
    seeds = _member_seeds(jobs, seed)
    tasks = [(job, data.X, data.y, own) for job, own in zip(jobs, seeds, strict=True)]
    return run_tasks(fit_member, tasks, n_jobs)


class Asked(NamedTuple):
    """Rows as they were read, what members say of them, and what else is known."""

    X: Any
    outputs: Array
    """Of shape (n_members, n_samples, n_classes), anchors last."""
    context: FusionContext


def ask_members(members: list[Any], responses: list[str], X: Any, n_classes: int) -> Array:
    """Ask fitted members about rows, (n_members, n_samples, n_classes)."""
    pairs = zip(members, responses, strict=True)
    return np.stack([member_outputs(member, X, n_classes, name) for member, name in pairs])


def ask_elsewhere(job: Job, X: Any, y: Rows, seeds: list[int], test: Rows, n_classes: int) -> Array:
    """Fit a member and ask it about held-out rows, (len(test), n_classes)."""
    member = fit_member(job, X, y, seeds)
    return member_outputs(member, take_rows(X, test), n_classes, job.response)


def held_out_outputs(jobs: list[Job], data: Training, seed: int, n_jobs: int | None) -> Array:
    """Ask members about rows that they were not fitted on, (n_members, n_samples, n_classes).

    A row in no test part has NaN; of several the last fold counts.
    """
    folds, n_classes = data.folds or [], len(data.classes)
    seeds = iter(_member_seeds(jobs * len(folds), seed))
    tasks: list[tuple[Any, ...]] = []
    for train, test in folds:
        in_training = np.bincount(train, minlength=len(data.y)) > 0
        for job in jobs:
            kept = job.rows[in_training[job.rows]]
            # a stratum without a row in this fold: its member learns the whole fold instead
            kept = kept if len(kept) > 0 else train
            own = job._replace(rows=kept)
            tasks.append((own, data.X, data.y, next(seeds), test, n_classes))
    outputs = np.full((len(jobs), len(data.y), n_classes), np.nan)
    for i, part in enumerate(run_tasks(ask_elsewhere, tasks, n_jobs)):
        outputs[i % len(jobs), folds[i // len(jobs)].test] = part
    return outputs


def _member_seeds(jobs: list[Job], seed: int) -> list[list[int]]:
    return spread_seeds(draw_seeds(seed, len(jobs)), [job.blueprint.n_seeds for job in jobs])
