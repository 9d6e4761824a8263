"""Choose the number and the size of the strata by error on rows that members have not seen."""

from __future__ import annotations

import numpy as np

from ensemblage.fusion import NOTHING_KNOWN

SIZES = (0.05, 0.1, 0.2, 0.4)
COUNTS = (10, 20, 40)
DEFAULT_COUNT = 20
FEWEST_ROWS = 10
"""A stratum holds at least so many rows, where there are as many."""


def candidates(stratifier, stratum_size, n_strata, n_samples: int) -> list[dict]:
    """Parameters of the stratifier to try.

    Parameters
    ----------
    stratifier : stratifier
        Whose parameters tell what can be set.
    stratum_size : float, "auto" or None
        Wanted size; None leaves the stratifier's own.
    n_strata : int, "auto" or None
        Wanted number; None leaves the stratifier's own.
    n_samples : int
        Number of rows.

    Returns
    -------
    list of dict
        Settings, at least one. A row belongs to one stratum or more on average, and strata hold
        ten rows or more, where that is possible.
    """
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


def _named(count, size, known) -> dict:
    named = {"n_strata": count, "stratum_size": size}
    return {name: value for name, value in named.items() if name in known and value is not None}


def _fallback(known, stratum_size, n_strata, n_samples: int) -> dict:
    """Few rows: few strata that hold ten rows, or all there are."""
    count = max(2, min(DEFAULT_COUNT, n_samples // FEWEST_ROWS)) if n_strata == "auto" else n_strata
    size = min(1.0, max(0.4, FEWEST_ROWS / n_samples)) if stratum_size == "auto" else stratum_size
    return _named(count or known.get("n_strata"), size or known.get("stratum_size"), known)


def fused_error(
    fusion,
    outputs,
    y,
    folds,
    context=NOTHING_KNOWN,
    *,
    sample_weight=None,
) -> float:
    """Error of a fusion on held-out outputs, the fusion itself held out too.

    Parameters
    ----------
    fusion : Fusion
        Cloned for each fold.
    outputs : ndarray of shape (n_members, n_samples, n_classes)
        Held-out outputs; rows with NaN are left out.
    y : ndarray of shape (n_samples,)
        Class numbers.
    folds : list of (train, test)
        The folds that the outputs come from.
    context : FusionContext, default=FusionContext()
        What the fusion needs to know of the rows.
    sample_weight : ndarray of shape (n_samples,), default=None
        Row weights.

    Returns
    -------
    float
        Weighted share of wrong predictions.
    """
    weights = np.ones(len(y)) if sample_weight is None else sample_weight
    finite = np.isfinite(outputs)
    known = (weights > 0) & (finite.all() or finite.all(axis=(0, 2)))
    tests = [(np.bincount(test, minlength=len(y)) > 0)[known] for _, test in folds]
    if not known.all():
        outputs, y, weights = outputs[:, known], y[known], weights[known]
        context = context.take(np.flatnonzero(known))
    learned, judged = _parts(y, tests)
    fitted = fusion.fit_parts(
        learned, outputs, y, context,
        sample_weight=None if sample_weight is None else weights,
    )  # fmt: skip
    wrong = total = 0.0
    for judge, each in zip(judged, fitted, strict=True):
        guesses = each.combine(outputs[:, judge], context.take(judge)).argmax(axis=1)
        wrong += weights[judge] @ (guesses != y[judge])
        total += weights[judge].sum()
    return wrong / total if total > 0 else np.inf


def _parts(y, tests):
    """Rows to learn from and to judge by; folds that lack a class to learn are left out."""
    n_classes = len(np.unique(y))
    pairs = [(np.flatnonzero(~inside), np.flatnonzero(inside)) for inside in tests]
    usable = [
        (learn, judge)
        for learn, judge in pairs
        if len(judge) > 0 and len(np.unique(y[learn])) == n_classes
    ]
    return [learn for learn, _ in usable], [judge for _, judge in usable]
