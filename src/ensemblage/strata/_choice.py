"""Number and size of strata by cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ensemblage._core import final_step, fit_parameter, rows_at_final_step
from ensemblage.fusion import EMPTY_CONTEXT, Fusion, FusionContext, cross_val_combine
from ensemblage.strata._members import (
    EnsembleParts,
    StrataFit,
    member_tasks,
    out_of_fold_outputs,
)
from ensemblage.strata._targets import Training

Doubles = NDArray[np.float64]

SIZES = (0.05, 0.1, 0.2, 0.4)
COUNTS = (10, 20, 40)
DEFAULT_COUNT = 20
MIN_STRATUM_ROWS = 10
"""A stratum holds at least so many rows, where there are as many."""


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
    """Try each of the settings; give the fit with the least error, and all where several.

    Stratifier and fusion have their seeds, ``seed`` is the members'. ``step`` is called after each
    setting; where it is true, no more are tried.
    """
    several = len(settings) > 1
    tried: list[StrataFit] = []
    for each in settings:
        tried.append(_evaluate_setting(data, stratifier, parts, each, seed, n_jobs, tried, several))
        if step():
            break
    best = int(np.argmin([fit.error for fit in tried]))
    return tried[best], tried if several else []


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
    outputs, error = None, 0.0
    if data.folds is not None:
        # anchors learn all rows, whatever the strata; with as many members they have their seeds
        alike = [each.outputs for each in before if len(each.tasks) == len(tasks)]
        anchored = None
        if parts.anchors and alike:
            anchored = np.asarray(alike[-1])[len(tasks) - len(parts.anchors) :]
        outputs = out_of_fold_outputs(tasks, data, seed, n_jobs, anchored)
        if scored:
            error = out_of_fold_error(parts.fusion, outputs, data, context)
    return StrataFit(settings, stratifier, memberships, tasks, outputs, context, error)


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
                f"{name} was given, but {type(final_step(stratifier)).__name__}.fit takes none. "
                f"Leave {name} out, or use a stratifier that takes it."
            )
        passed[parameter] = value
    stratifier.fit(data.X, data.target.stratification_labels(data.y), **passed)
    memberships = getattr(final_step(stratifier), "memberships_", None)
    if memberships is None:
        raise TypeError(
            f"stratifier={final_step(stratifier)!r} sets no memberships_. Use HISS, MixtureStrata, "
            "BootstrapStrata, SourceStrata or another estimator under the same contract."
        )
    return np.asarray(memberships)


def fusion_context(
    stratifier: Any, X: Any, needs: frozenset[str], *, in_training: bool = False
) -> FusionContext:
    """Give what a fusion needs to know of rows."""
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
    """Log weights of rows; of training rows the out-of-fold ones, where a stratifier has them."""
    last = final_step(stratifier)
    affinity = getattr(last, "out_of_fold_log_affinity_", None) if in_training else None
    if affinity is None:
        affinity = last.log_affinity(rows_at_final_step(stratifier, X))
    return np.asarray(affinity)


def candidate_settings(
    stratifier: Any, stratum_size: Any, n_strata: Any, n_samples: int, *, free: bool = False
) -> list[dict[str, Any]]:
    """Parameters of a stratifier to try, at least one setting; None leaves its own.

    If they are ``free``, None means 20 strata or fewer, of a size to be chosen. A row belongs to
    one stratum or more on average, and strata hold ten rows or more, where that is possible.
    """
    if free:
        stratum_size = "auto" if stratum_size is None else stratum_size
        n_strata = min(max(n_samples // 10, 2), 20) if n_strata is None else n_strata
    known = stratifier.get_params()
    for name, value in (("stratum_size", stratum_size), ("n_strata", n_strata)):
        if value is not None and name not in known:
            raise ValueError(
                f"{name}={value!r} was given, but {type(stratifier).__name__} has no such "
                f"parameter. Leave {name} out."
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
    if not pairs:  # few rows: few strata that hold ten rows, or all there are
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
    fusion: Fusion, outputs: Doubles, data: Training, context: FusionContext = EMPTY_CONTEXT
) -> float:
    """Weighted error of a fusion on out-of-fold outputs, the fusion itself out of fold too.

    Rows with NaN are left out.
    """
    fused = cross_fit_fusion(fusion, outputs, data, context)
    scored = np.isfinite(fused).all(axis=1)
    losses = data.weights[scored] @ data.target.losses(fused[scored], data.y[scored])
    total = data.weights[scored].sum()
    return data.target.error_from_loss(float(losses / total)) if total > 0 else np.inf


def cross_fit_fusion(
    fusion: Fusion, outputs: Doubles, data: Training, context: FusionContext = EMPTY_CONTEXT
) -> Doubles:
    """Fuse out-of-fold outputs, the fusion fitted once for each fold."""
    return cross_val_combine(
        fusion,
        outputs,
        data.y,
        data.folds or [],
        context,
        numeric=not data.target.is_classification,
        sample_weight=data.sample_weight,
    )
