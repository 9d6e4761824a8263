"""A source that is known at prediction: how much its own member is listened to."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.fusion import Fusion, are_probabilities
from ensemblage.parallel import final_step
from ensemblage.strata._strata_choice import Trial, fused_outputs
from ensemblage.strata._stratum_members import Training

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

PULLS = (0.0, 5.0, 20.0, 80.0, 320.0, float("inf"))
"""So many rows of a stratum count as much as all members together, to choose from."""
DEFAULT_PULL = 20.0
"""Where nothing was held out to choose it by."""
SMALLEST = 1e-12


class HeldOutPair(NamedTuple):
    """What its own stratum's member and all members together said of each row, held out.

    Both are probabilities, (n_rows, n_classes); ``strata`` are numbers of the rows' strata.
    """

    own: Array
    fused: Array
    y: Indices
    strata: Indices
    weights: Array


def own_shares(counts: NDArray[np.float64], pull: float) -> Array:
    """Share of the own member in each stratum's answer, n / (n + pull)."""
    return np.asarray(counts / (counts + pull) if np.isfinite(pull) else np.zeros(len(counts)))


def mix_own(own: Array, fused: Array, shares: Array) -> Array:
    """Mix what the own member and all together say of rows, by the own one's share of each row."""
    return np.asarray(shares[:, None] * own + (1 - shares[:, None]) * fused)


def choose_pull(pair: HeldOutPair, counts: NDArray[np.float64]) -> float:
    """Take the pull to all members with the least loss on held-out rows; of equals the most."""
    each, losses = np.arange(len(pair.y)), {}
    for pull in reversed(PULLS):
        shares = own_shares(counts, pull)[pair.strata]
        true = mix_own(pair.own, pair.fused, shares)[each, pair.y]
        losses[pull] = float(-pair.weights @ np.log(np.maximum(true, SMALLEST)))
    return min(losses, key=losses.__getitem__)


def own_outputs(outputs: Array, strata: Indices, n_strata: int) -> Array:
    """Give what each row's own stratum's member says, the mean of several kinds.

    Members are kind by kind, and may be followed by anchors.
    """
    n_kinds = len(outputs) // n_strata
    by_kind = outputs[: n_kinds * n_strata].reshape(n_kinds, n_strata, *outputs.shape[1:])
    return np.asarray(by_kind[:, strata, np.arange(len(strata))].mean(axis=0))


def learn_pull(fusion: Fusion, trial: Trial, data: Training) -> float:
    """Choose the pull on rows that neither members nor fusion have seen, where there are such."""
    if data.sources is None or trial.outputs is None or data.folds is None:
        return DEFAULT_PULL
    memberships = np.asarray(final_step(trial.stratifier).memberships_)
    strata, counts = memberships.argmax(axis=1), memberships.sum(axis=0)
    fused = fused_outputs(
        fusion, trial.outputs, data.y, data.folds, trial.context, sample_weight=data.sample_weight
    )
    own = own_outputs(trial.outputs, strata, trial.n_strata)
    known = np.isfinite(fused).all(axis=1) & np.isfinite(own).all(axis=1)
    if not known.any() or not (are_probabilities(own[known]) and are_probabilities(fused[known])):
        return DEFAULT_PULL
    pair = HeldOutPair(own[known], fused[known], data.y[known], strata[known], data.weights[known])
    return choose_pull(pair, counts)


def answer_given(ensemble: Any, outputs: Array, fused: Array, sources: Any) -> Array:
    """Let rows whose source is known listen to its own member first."""
    strata_of = getattr(final_step(ensemble.stratifier_), "find_strata", None)
    if strata_of is None:
        kind = type(final_step(ensemble.stratifier_)).__name__
        raise ValueError(
            f"sources were given, but {kind} does not know them. Leave them out, or use "
            "SourceStrata."
        )
    n_own = len(ensemble.estimators_)
    if not are_probabilities(fused) or {*ensemble.responses_[:n_own]} != {"predict_proba"}:
        raise ValueError(
            "sources were given, but members or fusion give no probabilities. Leave them out, or "
            "use members with predict_proba."
        )
    strata = strata_of(sources, len(fused))
    known = np.flatnonzero(strata >= 0)
    shares = own_shares(ensemble.member_sizes_.astype(float), ensemble.source_pull_)
    own = own_outputs(outputs[:, known], strata[known], ensemble.n_strata_)
    fused[known] = mix_own(own, fused[known], shares[strata[known]])
    return fused
