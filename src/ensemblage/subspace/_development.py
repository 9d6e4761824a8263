"""What a development split decides: how many members, and fused how."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ensemblage.fusion import product_rule
from ensemblage.kernels import member_log_proba
from ensemblage.subspace._gate import gated_proba, loosely_gated, refit_with_gate, ungated
from ensemblage.subspace._member import Rows
from ensemblage.subspace._sequence import Settings, fit_sequence

DEVELOPMENT_SHARE = 0.1
ENOUGH_ROWS = 200
MAX_SPLITS = 5
MAX_MEMBERS = 50
# With n_estimators="auto", so many members without a better ensemble end the search.
MEMBER_PATIENCE = 5
GATE_SIZES = (2, 5, 10)
GATE_STRENGTHS = (0.3, 3.0, 30.0, 300.0)


class Plan(NamedTuple):
    """An ensemble to try: its size, and the gate's ``C``, or None for the plain product."""

    n_members: int
    gate: float | None


def development_rows(labels, rng, share=DEVELOPMENT_SHARE):
    """Draw rows for development, class by class.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
        Class indices.
    rng : numpy.random.Generator
        Draws the rows.
    share : float, default=0.1
        Share of each class, rounded up, that is drawn; every class keeps a row for training, so
        none is seen in development alone.

    Returns
    -------
    ndarray of shape (n_rows,)
        Whether each row is for development.
    """
    held = np.zeros(labels.size, dtype=bool)
    for label in np.unique(labels):
        members = rng.permutation(np.flatnonzero(labels == label))
        count = min(int(np.ceil(share * members.size)), members.size - 1)
        held[members[:count]] = True
    return held


def development_splits(labels, rng):
    """As many splits as it takes to have enough rows for development, five at most.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
        Class indices.
    rng : numpy.random.Generator
        Draws the rows.

    Returns
    -------
    list of ndarray of shape (n_rows,)
        For each split, whether each row is for development.
    """
    count = int(np.ceil(ENOUGH_ROWS / max(1, DEVELOPMENT_SHARE * labels.size)))
    return [development_rows(labels, rng) for _ in range(min(MAX_SPLITS, count))]


def take_rows(rows: Rows, chosen):
    """Rows of one part of a split.

    Parameters
    ----------
    rows : Rows
        All rows.
    chosen : ndarray of shape (n_rows,)
        Which to take.

    Returns
    -------
    Rows
    """
    weights = rows.weights[chosen]
    share = float(weights.sum())
    return Rows(
        np.ascontiguousarray(rows.features[:, chosen]), rows.labels[chosen],
        weights / max(share, np.finfo(weights.dtype).tiny), rows.n_classes, rows.total * share,
    )  # fmt: skip


def score(proba, rows: Rows):
    """Weighted accuracy.

    Parameters
    ----------
    proba : ndarray of shape (n_rows, n_classes)
        Probabilities.
    rows : Rows
        With the true classes.

    Returns
    -------
    float
    """
    return float(rows.weights[proba.argmax(axis=1) == rows.labels].sum())


def plain_product(features, members):
    """Equally weighted product of the members (eq. 10).

    Parameters
    ----------
    features : ndarray of shape (n_features, n_rows)
        Standardised features.
    members : sequence of Member
        Classifiers.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
    """
    mixture = ungated(members)
    log_proba = member_log_proba(features, mixture.coef, mixture.intercept)
    return product_rule(np.exp(log_proba).transpose(0, 2, 1))


def _product_path(train, held, seeds, settings, until_stale):
    """Members in turn, and the product's score on the held-out rows after each."""
    members, scores = [], []
    for member in fit_sequence(train, seeds, settings):
        members.append(member)
        scores.append(score(plain_product(held.features, members), held))
        stale = len(scores) - 1 - int(np.argmax(scores))
        if until_stale is not None and stale >= until_stale and len(scores) >= max(GATE_SIZES):
            break
    return members, scores


def _gate_score(train, held, members, strength, seed):
    supports = np.array([member.support for member in members])
    start = loosely_gated(members, seed)
    mixture = refit_with_gate(train, start, supports, 1.0 / (strength * train.total))
    return score(gated_proba(held.features, mixture), held)


def plan_scores(train, held, seeds, settings: Settings, *, auto_size, product, gates):
    """Try every plan on one split.

    Parameters
    ----------
    train, held : Rows
        The split.
    seeds : list of int
        One per member, at most.
    settings : Settings
        Resolved parameters.
    auto_size : bool
        Whether sizes are to be tried, or only that of all seeds.
    product : bool
        Whether to try the plain product.
    gates : sequence of float
        Values of ``C`` for which to try the gate.

    Returns
    -------
    dict of Plan to float
        Weighted accuracy on the held-out rows.
    """
    members, path = _product_path(
        train, held, seeds, settings, MEMBER_PATIENCE if auto_size else None
    )  # fmt: skip
    sizes = range(1, len(path) + 1) if auto_size else [len(seeds)]
    scores = {Plan(size, None): path[size - 1] for size in sizes if product}
    gate_sizes = GATE_SIZES if auto_size else [len(seeds)]
    for size in gate_sizes:
        for strength in gates:
            scores[Plan(size, strength)] = _gate_score(
                train, held, members[:size], strength, seeds[0]
            )  # fmt: skip
    return scores


def mean_scores(scores):
    """Mean over splits of each plan that every split tried.

    Parameters
    ----------
    scores : list of dict of Plan to float
        One per split.

    Returns
    -------
    dict of Plan to float
        In the first split's order.
    """
    everywhere = set.intersection(*(set(split) for split in scores))
    return {
        plan: float(np.mean([split[plan] for split in scores]))
        for plan in scores[0] if plan in everywhere
    }  # fmt: skip


def best_plan(means):
    """Plan with the best score; of equals, the plainest and smallest.

    Parameters
    ----------
    means : dict of Plan to float
        From :func:`mean_scores`.

    Returns
    -------
    Plan
    """
    top = max(means.values())
    equals = [plan for plan, mean in means.items() if mean >= top - 1e-12]
    return min(equals, key=lambda plan: (plan.gate is not None, plan.n_members, plan.gate or 0))


def plan_name(plan: Plan):
    """Name of a plan for people.

    Parameters
    ----------
    plan : Plan
        An ensemble that was tried.

    Returns
    -------
    str
    """
    fused = "product" if plan.gate is None else f"gate with C={plan.gate:g}"
    return f"{fused}, {plan.n_members} members"
