"""What development splits decide: how many members, and fused how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ensemblage.fusion import product_rule
from ensemblage.parallel import Fold
from ensemblage.subspace._gated_refit import gated_proba, loosely_gated, refit_with_gate
from ensemblage.subspace._member import Array, Indices, Member, Rows, member_outputs
from ensemblage.subspace._sequence import fit_sequence
from ensemblage.subspace._settings import Settings

DEVELOPMENT_SHARE = 0.1
ENOUGH_ROWS = 200
MAX_SPLITS = 5
MAX_MEMBERS = 50
# Where the size is searched for, so many members without a better ensemble end it.
MEMBER_PATIENCE = 5
GATE_SIZES = (2, 5, 10)
GATE_STRENGTHS = (0.3, 3.0, 30.0, 300.0)


class Plan(NamedTuple):
    """An ensemble to try: its size, and the gate's ``C``, or None for the plain product."""

    n_members: int
    gate: float | None

    def name(self) -> str:
        """Name the plan for people."""
        fused = "product" if self.gate is None else f"gate with C={self.gate:g}"
        return f"{fused}, {self.n_members} members"


class Search(NamedTuple):
    """Which plans to try."""

    sizes: bool  # whether other sizes than that of all seeds
    product: bool  # whether the plain product
    gates: tuple[float, ...]  # the C of each gate

    def only_plan(self, n_members: int) -> Plan | None:
        """Give the plan if there is just one, so that nothing must be tried."""
        if self.sizes or self.product + len(self.gates) > 1:
            return None
        return Plan(n_members, self.gates[0] if self.gates else None)


class Split(NamedTuple):
    """Rows to learn from, and rows to score on."""

    train: Rows
    held: Rows

    def score(self, proba: Array) -> float:
        """Weighted accuracy of probabilities, (n_rows, n_classes), of the held-out rows."""
        right = proba.argmax(axis=1) == self.held.targets
        return float(self.held.weights[right].sum())


def development_fold(labels: Indices, rng: np.random.Generator) -> Fold:
    """Draw a tenth of each class, rounded up, for development.

    Every class keeps a row for training, so none is seen in development alone.
    """
    held = np.zeros(labels.size, dtype=bool)
    for label in np.unique(labels):
        members = rng.permutation(np.flatnonzero(labels == label))
        count = min(int(np.ceil(DEVELOPMENT_SHARE * members.size)), members.size - 1)
        held[members[:count]] = True
    return Fold(np.flatnonzero(~held), np.flatnonzero(held))


def development_folds(labels: Indices, rng: np.random.Generator) -> list[Fold]:
    """As many splits as it takes to have enough rows for development, five at most."""
    count = int(np.ceil(ENOUGH_ROWS / max(1, DEVELOPMENT_SHARE * labels.size)))
    return [development_fold(labels, rng) for _ in range(min(MAX_SPLITS, count))]


def _fit_product(
    split: Split, seeds: Sequence[int], settings: Settings, patience: float
) -> tuple[list[Member], list[float]]:
    """Members in turn, and the product's score (eq. 10) on the held-out rows after each."""
    members: list[Member] = []
    scores: list[float] = []
    for member in fit_sequence(split.train, seeds, settings):
        members.append(member)
        scores.append(split.score(product_rule(member_outputs(split.held.features, members))))
        stale = len(scores) - 1 - int(np.argmax(scores))
        if stale >= patience and len(scores) >= max(GATE_SIZES):
            break
    return members, scores


def _gate_score(split: Split, members: list[Member], strength: float, seed: int) -> float:
    supports = np.array([member.support for member in members])
    start = loosely_gated(members, seed)
    mixture = refit_with_gate(split.train, start, supports, 1.0 / (strength * split.train.total))
    return split.score(gated_proba(split.held.features, mixture))


def plan_scores(
    rows: Rows, fold: Fold, seeds: Sequence[int], settings: Settings, search: Search
) -> dict[Plan, float]:
    """Weighted accuracy on the held-out rows of every plan to try, at most a member per seed."""
    split = Split(rows.take(fold.train), rows.take(fold.test))
    patience = MEMBER_PATIENCE if search.sizes else np.inf
    members, path = _fit_product(split, seeds, settings, patience)
    sizes = range(1, len(path) + 1) if search.sizes else [len(seeds)]
    scores = {Plan(size, None): path[size - 1] for size in sizes if search.product}
    for size in GATE_SIZES if search.sizes else [len(seeds)]:
        for strength in search.gates:
            scores[Plan(size, strength)] = _gate_score(split, members[:size], strength, seeds[0])
    return scores


def mean_scores(scores: Sequence[Mapping[Plan, float]]) -> dict[Plan, float]:
    """Mean over splits of each plan that every split tried, in the first split's order."""
    everywhere = set.intersection(*(set(split) for split in scores))
    return {
        plan: float(np.mean([split[plan] for split in scores]))
        for plan in scores[0]
        if plan in everywhere
    }


def best_plan(means: Mapping[Plan, float]) -> Plan:
    """Plan with the best score; of equals, the plainest and smallest."""
    top = max(means.values())
    equals = [plan for plan, mean in means.items() if mean >= top - 1e-12]
    return min(equals, key=lambda plan: (plan.gate is not None, plan.n_members, plan.gate or 0))
