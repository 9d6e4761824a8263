"""A source that is known at prediction: how much its own member is listened to."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ensemblage.parallel import final_step
from ensemblage.strata._strata_choice import Trial
from ensemblage.strata._strata_rows import Training
from ensemblage.strata._strata_targets import Target

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

PULLS = (0.0, 5.0, 20.0, 80.0, 320.0, float("inf"))
"""So many rows of a stratum count as much as all members together, to choose from."""
DEFAULT_PULL = 20.0
"""Where nothing was held out to choose it by."""
SMALLEST = 1e-12


class HeldOutPair(NamedTuple):
    """What its own stratum's member and all members made of each row's true target, held out.

    Both are probabilities or densities, (n_rows,); ``strata`` are numbers of the rows' strata.
    """

    own: Array
    fused: Array
    strata: Indices
    weights: Array


def own_shares(counts: NDArray[np.float64], pull: float) -> Array:
    """Share of the own member in each stratum's answer, n / (n + pull)."""
    return np.asarray(counts / (counts + pull) if np.isfinite(pull) else np.zeros(len(counts)))


def choose_pull(pair: HeldOutPair, counts: NDArray[np.float64]) -> float:
    """Take the pull to all members with the least loss on held-out rows; of equals the most."""
    losses = {}
    for pull in reversed(PULLS):
        shares = own_shares(counts, pull)[pair.strata]
        true = shares * pair.own + (1 - shares) * pair.fused
        losses[pull] = float(-pair.weights @ np.log(np.maximum(true, SMALLEST)))
    return min(losses, key=losses.__getitem__)


def own_outputs(outputs: Array, strata: Indices, n_strata: int) -> Array:
    """Give what each row's own stratum's member says, the mean of several kinds.

    Members are kind by kind, and may be followed by anchors.
    """
    n_kinds = len(outputs) // n_strata
    by_kind = outputs[: n_kinds * n_strata].reshape(n_kinds, n_strata, *outputs.shape[1:])
    return np.asarray(by_kind[:, strata, np.arange(len(strata))].mean(axis=0))


def learn_pull(fused: Array | None, trial: Trial, data: Training, target: Target) -> float:
    """Choose the pull on rows that neither members nor fusion have seen, where there are such."""
    if data.sources is None or trial.outputs is None or fused is None:
        return DEFAULT_PULL
    memberships = np.asarray(final_step(trial.stratifier).memberships_)
    strata, counts = memberships.argmax(axis=1), memberships.sum(axis=0)
    own = target.own_voice(own_outputs(trial.outputs, strata, trial.n_strata), strata)
    known = np.isfinite(fused).all(axis=1) & np.isfinite(own).all(axis=1)
    if not known.any():
        return DEFAULT_PULL
    by_own, by_all = (target.likelihoods(each[known], data.y[known]) for each in (own, fused))
    if by_own is None or by_all is None:
        return DEFAULT_PULL
    return choose_pull(HeldOutPair(by_own, by_all, strata[known], data.weights[known]), counts)


def mix_given(own: Array, fused: Array, strata: Indices, target: Target, shares: Array) -> Array:
    """Mix what rows' own members say with what all say, by the shares of their strata."""
    return target.mix(target.own_voice(own, strata), fused, shares[strata])


def answer_given(
    ensemble: Any, outputs: Array, fused: Array, target: Target, sources: Any
) -> Array:
    """Let rows whose source is known listen to its own member first."""
    strata = given_strata(ensemble, sources, len(fused))
    n_own = len(ensemble.estimators_)
    if not target.can_mix(fused, ensemble.responses_[:n_own]):
        raise ValueError(
            "sources were given, but members or fusion give no probabilities. Leave them out, or "
            "use members with predict_proba."
        )
    known = np.flatnonzero(strata >= 0)
    shares = own_shares(ensemble.member_sizes_.astype(float), ensemble.source_pull_)
    own = own_outputs(outputs[:, known], strata[known], ensemble.n_strata_)
    fused[known] = mix_given(own, fused[known], strata[known], target, shares)
    return fused


def given_strata(ensemble: Any, sources: Any, n_rows: int) -> Indices:
    """Look up the strata of rows whose sources are given, -1 for those that are not known."""
    strata_of = getattr(final_step(ensemble.stratifier_), "find_strata", None)
    if strata_of is None:
        kind = type(final_step(ensemble.stratifier_)).__name__
        raise ValueError(
            f"sources were given, but {kind} does not know them. Leave them out, or use "
            "SourceStrata."
        )
    return np.asarray(strata_of(sources, n_rows))
