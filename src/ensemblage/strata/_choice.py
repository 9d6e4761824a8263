"""Number and size of strata by cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ensemblage._core import final_step, fit_parameter, rows_at_final_step
from ensemblage.fusion import EMPTY_CONTEXT, Fusion, FusionContext, cross_val_combine
from ensemblage.strata._members import Recipe, held_out_outputs, plan_jobs
from ensemblage.strata._targets import Training, Trial

Doubles = NDArray[np.float64]


SIZES = (0.05, 0.1, 0.2, 0.4)
COUNTS = (10, 20, 40)
DEFAULT_COUNT = 20
FEWEST_ROWS = 10
"""A stratum holds at least so many rows, where there are as many."""


class Search(NamedTuple):
    """What all trials share; stratifier and fusion have their seeds, ``seed`` is the members'."""

    data: Training
    stratifier: Any
    recipe: Recipe
    seed: int
    n_jobs: int | None


def choose_strata(
    search: Search, settings: list[dict[str, Any]], step: Callable[[], bool]
) -> tuple[Trial, list[Trial]]:
    """Try each of the settings; give the trial with the least error, and all where several.

    ``step`` is called after each; where it is true, no more are tried.
    """
    several = len(settings) > 1
    trials: list[Trial] = []
    for each in settings:
        trials.append(_try_strata(search, each, trials, judge=several))
        if step():
            break
    best = int(np.argmin([trial.error for trial in trials]))
    return trials[best], trials if several else []


def _try_strata(
    search: Search, settings: dict[str, Any], before: list[Trial], *, judge: bool
) -> Trial:
    data, fusion = search.data, search.recipe.fusion
    stratifier = clone(search.stratifier)
    final_step(stratifier).set_params(**settings)
    memberships = fit_strata(stratifier, data)
    context = rows_context(stratifier, data.X, fusion.needs, in_training=True)
    jobs = plan_jobs(search.recipe, memberships, data)
    outputs, error = None, 0.0
    if data.folds is not None:
        anchored = _anchored_before(search, before, len(jobs))
        outputs = held_out_outputs(jobs, data, search.seed, search.n_jobs, anchored)
        if judge:
            error = fused_error(fusion, outputs, data, context)
    return Trial(settings, stratifier, memberships.shape[1], jobs, outputs, context, error)


def _anchored_before(search: Search, before: list[Trial], n_jobs: int) -> Doubles | None:
    """Give what anchors said in an earlier trial, where they say the same in this one.

    They learn all rows, whatever the strata; as many members before them leave them their seeds.
    """
    n_anchors = len(search.recipe.anchors)
    alike = [each for each in before if len(each.jobs) == n_jobs and each.outputs is not None]
    if n_anchors == 0 or not alike:
        return None
    return np.asarray(alike[-1].outputs)[n_jobs - n_anchors :]


def fit_strata(stratifier: Any, data: Training) -> Doubles:
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


def rows_context(
    stratifier: Any, X: Any, needs: frozenset[str], *, in_training: bool = False
) -> FusionContext:
    """Tell a fusion what it needs to know of rows.

    A stratifier that learned to tell strata apart has ``out_of_fold_log_affinity_`` of its training
    rows, which is more honest than to ask it about them again.
    """
    affinity, strata = None, None
    if needs & {"affinity", "strata"}:
        affinity = _log_affinity(stratifier, X, in_training=in_training)
    if "strata" in needs:
        strata = np.asarray(affinity).argmax(axis=1)
    return FusionContext(
        affinity=affinity if "affinity" in needs else None, X=X if "X" in needs else None,
        strata=strata,
    )  # fmt: skip


def closest_strata(stratifier: Any, X: Any, *, in_training: bool = False) -> NDArray[np.intp]:
    """Give the number of the stratum that each row is closest to."""
    return np.asarray(_log_affinity(stratifier, X, in_training=in_training).argmax(axis=1))


def _log_affinity(stratifier: Any, X: Any, *, in_training: bool) -> Doubles:
    last = final_step(stratifier)
    affinity = getattr(last, "out_of_fold_log_affinity_", None) if in_training else None
    if affinity is None:
        affinity = last.log_affinity(rows_at_final_step(stratifier, X))
    return np.asarray(affinity)


def candidates(
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
    own_count, own_size = known.get("n_strata"), known.get("stratum_size")
    counts = COUNTS if n_strata == "auto" else [own_count if n_strata is None else n_strata]
    sizes = (
        SIZES if stratum_size == "auto" else [own_size if stratum_size is None else stratum_size]
    )
    settings = []
    for count in counts:
        for size in sizes:
            fits = count is None or count * FEWEST_ROWS <= max(n_samples, 2 * FEWEST_ROWS)
            overlaps = stratum_size != "auto" or count is None or size * count >= 1
            filled = stratum_size != "auto" or size * n_samples >= FEWEST_ROWS
            if (fits or n_strata != "auto") and overlaps and filled:
                settings.append(_named(count, size, known))
    return settings or [_fallback(known, stratum_size, n_strata, n_samples)]


def _named(count: Any, size: Any, known: dict[str, Any]) -> dict[str, Any]:
    named = {"n_strata": count, "stratum_size": size}
    return {name: value for name, value in named.items() if name in known and value is not None}


def _fallback(
    known: dict[str, Any], stratum_size: Any, n_strata: Any, n_samples: int
) -> dict[str, Any]:
    """Few rows: few strata that hold ten rows, or all there are."""
    count = max(2, min(DEFAULT_COUNT, n_samples // FEWEST_ROWS)) if n_strata == "auto" else n_strata
    size = min(1.0, max(0.4, FEWEST_ROWS / n_samples)) if stratum_size == "auto" else stratum_size
    return _named(count or known.get("n_strata"), size or known.get("stratum_size"), known)


def fused_error(
    fusion: Fusion, outputs: Doubles, data: Training, context: FusionContext = EMPTY_CONTEXT
) -> float:
    """Weighted error of a fusion on outputs held out in folds, the fusion itself held out too.

    Rows with NaN are left out.
    """
    fused = fuse_held_out(fusion, outputs, data, context)
    judged = np.isfinite(fused).all(axis=1)
    losses = data.weights[judged] @ data.target.losses(fused[judged], data.y[judged])
    total = data.weights[judged].sum()
    return data.target.as_error(float(losses / total)) if total > 0 else np.inf


def fuse_held_out(
    fusion: Fusion, outputs: Doubles, data: Training, context: FusionContext = EMPTY_CONTEXT
) -> Doubles:
    """Fuse outputs that were held out in the folds of the training rows."""
    return cross_val_combine(
        fusion,
        outputs,
        data.y,
        data.folds or [],
        context,
        numeric=not data.target.is_classification,
        sample_weight=data.sample_weight,
    )


def fit_with_out_of_fold(ensemble: Any, X: Any, y: Any, **passed: Any) -> Doubles:
    """Fit an ensemble; give what it says of rows that neither members nor fusion have seen.

    Only the fusion is fitted once more per fold: members have held-out outputs anyway. A row in no
    test part has NaN, (n_samples, n_outputs).
    """
    rest = {"sample_weight": None, "sources": None, "groups": None, **passed}
    trial, data = ensemble._fit_trial(X, y, **rest)  # noqa: SLF001
    if trial.outputs is None:
        raise ValueError(
            f"fusion={ensemble.fusion!r} with cv={ensemble.cv!r} needs no folds, so that nothing "
            "is held out. Use a fusion that learns, and folds."
        )
    return fuse_held_out(ensemble.fusion_, trial.outputs, data, trial.context)
