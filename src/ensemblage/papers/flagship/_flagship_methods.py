"""The methods of the study, all made of what the same members say: no member is fitted twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from ensemblage.fusion import LogPool, Stacking, are_probabilities, member_outputs
from ensemblage.papers.flagship._flagship_members import (
    DEFAULT,
    PLAIN,
    THIRTY,
    Array,
    Spoken,
    timed,
)
from ensemblage.papers.flagship._flagship_rows import OuterFold
from ensemblage.pool import (
    FLOOR,
    POOLS,
    PoolRows,
    Soft,
    Verdict,
    cross_fitted,
    fit_softly,
    fuse,
    make_fusion,
    make_readable,
)

SINGLES = {
    "logistic regression": "logistic",
    "RBF SVM": "svm",
    "random forest": "forest",
    "extra trees": "extra-trees",
    "boosting, default": DEFAULT,
    "boosting, 5 settings": "boosting",
    "boosting, 30 settings": THIRTY,
}
CALIBRATED = {name: f"{name}, calibrated" for name in SINGLES}
ANCHORS, OURS = POOLS["anchors"], POOLS["ours"]
PLACES = {"rows": "strata", "columns": "subspaces", "decisions": "network"}
MEMBERS = {
    "full": POOLS["full"],
    "lean": POOLS["lean"],
    "anchors": ANCHORS,
    "generic control": (*ANCHORS, PLAIN, DEFAULT),
    "full without columns": tuple(each for each in POOLS["full"] if each != "subspaces"),
    "full without decisions": tuple(each for each in POOLS["full"] if each != "network"),
    "ours": OURS,
    **{
        f"ours without {place}": tuple(each for each in OURS if each != member)
        for place, member in PLACES.items()
    },
}
"""Pools; full without rows is lean."""
FUSIONS = (
    "stacking, probabilities",
    "stacking, logits",
    "greedy selection",
    "best by folds",
    "plain mean",
)
"""Other ways to use the same anchors."""
TREES = ("distilled tree", "tree of labels")
MOST_LEAVES = 16
GREEDY_STEPS = 50


class Answer(NamedTuple):
    """Probabilities of new rows, (n_rows, n_classes), and CPU seconds of all that they needed."""

    probabilities: Array
    fit_seconds: float
    predict_seconds: float


def answers(fold: OuterFold, spoken: Mapping[str, Spoken]) -> Iterator[tuple[str, Answer]]:
    """Give each method's answer by its name."""
    rows = fold.learned
    for name, member in SINGLES.items():
        yield name, _single(spoken[member], rows, untuned=member == DEFAULT)
        yield CALIBRATED[name], _calibrated(spoken[member], rows)
    for name, members in MEMBERS.items():
        yield name, _pooled([spoken[each] for each in members], rows)
    yield from _fused([spoken[each] for each in ANCHORS], rows)
    yield from _trees(fold, [spoken[each] for each in POOLS["full"]])


def _prior(rows: PoolRows) -> Array:
    return np.bincount(rows.y, minlength=rows.n_outputs) / len(rows.y)


def floored(probabilities: Array, rows: PoolRows) -> Array:
    """Mix with the classes' frequencies, as the pool does, so that nobody pays for a zero."""
    return np.asarray((1 - FLOOR) * probabilities + FLOOR * _prior(rows))


def _alone(spoken: Spoken, rows: PoolRows, bias_ridge: float | None) -> LogPool:
    """Calibrate a member by itself: with so strong a ridge its importance is one."""
    return LogPool(1e9, bias_ridge=bias_ridge, floor=FLOOR).fit(spoken.held[None], rows.y)


def _probabilities(spoken: Spoken, rows: PoolRows) -> tuple[Array, Array]:
    """Give held-out and new probabilities; decision values are turned into some by temperature."""
    if are_probabilities(spoken.held):
        return spoken.held, spoken.new
    alone = _alone(spoken, rows, None)
    return alone.combine(spoken.held[None]), alone.combine(spoken.new[None])


def _single(spoken: Spoken, rows: PoolRows, *, untuned: bool) -> Answer:
    (_, new), seconds = timed(_probabilities, spoken, rows)
    trials = 0.0 if untuned else spoken.trial_seconds + seconds
    return Answer(new, trials + spoken.refit_seconds, spoken.predict_seconds)


def _calibrated(spoken: Spoken, rows: PoolRows) -> Answer:
    """Calibrate by a temperature and a bias per class, learned from held-out outputs."""
    alone, seconds = timed(_alone, spoken, rows, 10.0)
    fit_seconds = spoken.trial_seconds + spoken.refit_seconds + seconds
    return Answer(alone.combine(spoken.new[None]), fit_seconds, spoken.predict_seconds)


def _verdict(members: Sequence[Spoken], rows: PoolRows) -> Verdict:
    fusion = make_fusion("logpool", grouped=False)
    return fuse([each.candidate for each in members], rows, fusion)


def _pooled(members: Sequence[Spoken], rows: PoolRows) -> Answer:
    """Fuse as the pool does; members without a say are neither fitted again nor asked."""
    verdict, fuse_seconds = timed(_verdict, members, rows)
    new = np.stack([each.new for each in members])
    said, combine_seconds = timed(verdict.fusion.combine, new)
    counting = [members[k] for k in verdict.counting]
    fit_seconds = sum(each.trial_seconds for each in members) + fuse_seconds
    return Answer(
        said,
        fit_seconds + sum(each.refit_seconds for each in counting),
        combine_seconds + sum(each.predict_seconds for each in counting),
    )


def _fused(members: Sequence[Spoken], rows: PoolRows) -> Iterator[tuple[str, Answer]]:
    """Use the members in other ways than the pool does."""
    pairs = [_probabilities(each, rows) for each in members]
    held, new = (np.stack(each) for each in zip(*pairs, strict=True))
    fit_seconds = sum(each.trial_seconds + each.refit_seconds for each in members)
    predict_seconds = sum(each.predict_seconds for each in members)
    ways = {
        "stacking, probabilities": lambda: _stacked(held, new, rows.y),
        "stacking, logits": lambda: _stacked(
            np.log(floored(held, rows)), np.log(floored(new, rows)), rows.y
        ),
        "greedy selection": lambda: np.tensordot(
            greedy_weights(floored(held, rows), rows.y), new, 1
        ),
        "best by folds": lambda: new[int(np.argmin(_losses(floored(held, rows), rows.y)))],
        "plain mean": lambda: new.mean(axis=0),
    }
    for name in FUSIONS:
        said, seconds = timed(ways[name])
        yield name, Answer(said, fit_seconds + seconds, predict_seconds)


def _stacked(held: Array, new: Array, y: NDArray[np.intp]) -> Array:
    return Stacking(LogisticRegression(max_iter=2000)).fit(held, y).combine(new)


def _losses(probabilities: Array, y: NDArray[np.intp]) -> Array:
    """Mean log loss of each of some members, (n_members, n_rows, n_classes)."""
    return np.asarray(-np.log(probabilities[:, np.arange(len(y)), y]).mean(axis=1))


def greedy_weights(held: Array, y: NDArray[np.intp]) -> Array:
    """Shares of members by Caruana's selection with replacement, at its best step."""
    counts, total = np.zeros(len(held)), np.zeros(held.shape[1:])
    best = (np.inf, counts)
    for step in range(1, GREEDY_STEPS + 1):
        losses = _losses((total + held) / step, y)
        chosen = int(losses.argmin())
        counts, total = counts + np.eye(len(held))[chosen], total + held[chosen]
        best = min(best, (float(losses[chosen]), counts / step), key=lambda each: each[0])
    return best[1]


def _trees(fold: OuterFold, members: Sequence[Spoken]) -> Iterator[tuple[str, Answer]]:
    """Fit one small tree to what the pool says of rows that it has not seen, one to the classes."""
    rows = fold.learned
    fusion = make_fusion("logpool", grouped=False)
    pooled = cross_fitted(fusion, _verdict(members, rows), rows)
    labels = np.eye(rows.n_outputs)[rows.y]
    for name, targets in zip(TREES, (pooled, labels), strict=True):
        soft = Soft(targets, np.arange(rows.n_outputs))
        model, fit_seconds = timed(fit_softly, make_readable("tree", MOST_LEAVES), rows.X, soft)
        said, seconds = timed(member_outputs, model, fold.asked.X, rows.n_outputs, "predict_proba")
        yield name, Answer(said, fit_seconds, seconds)
