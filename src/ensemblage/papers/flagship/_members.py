"""The pool's study: what is fitted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from ensemblage._core import draw_seeds, make_folds
from ensemblage.bayes import BayesNetClassifier
from ensemblage.datasets import Dataset, TableEncoder, is_raw_table
from ensemblage.fusion import Fusion, LogLinearPool, Stacking, are_probabilities, member_outputs
from ensemblage.pool import (
    CLASSIFIER_POOLS,
    PRIOR_WEIGHT,
    Boosting,
    BoostingSettings,
    LightGBMClassifier,
    MemberSpec,
    PoolClassTarget,
    TrainingData,
    TunedMember,
    cross_validate_members,
    fit_fusion,
    fit_to_probabilities,
    make_cv_folds,
    make_fusion,
    make_student,
    out_of_fold_outputs,
    refit_member,
    resolve_members,
    selected,
    stratified_subsample,
)

Doubles = NDArray[np.float64]


OUTER = 5
INNER = 5
MOST_ROWS = 1_000
MANY_CLASSES = 6
MOST_ROWS_OF_MANY = 400
"""Where there are more classes than that: boosting grows a tree for each of them."""


class OuterFold(NamedTuple):
    """Rows to learn, with the shared inner folds, and rows to ask about, which have none."""

    learned: TrainingData
    asked: TrainingData


def outer_fold(data: Dataset, number: int, seed: int) -> OuterFold:
    """Split a set; rows of a large one are drawn once for all outer folds."""
    classes, y = np.unique(data.y, return_inverse=True)
    limit = MOST_ROWS if len(classes) <= MANY_CLASSES else MOST_ROWS_OF_MANY
    kept = stratified_subsample(np.arange(len(y)), y, limit, seed)
    X, y = data.X[kept], y[kept]
    train, test = make_folds(y, OUTER, seed)[number]
    inner = make_cv_folds(y[train], INNER, draw_seeds(seed, 1)[0])
    learned = TrainingData(X[train], y[train], PoolClassTarget(classes), None, inner)
    asked = TrainingData(X[test], y[test], PoolClassTarget(classes), None, [])
    return _encoded(OuterFold(learned, asked))


def _encoded(fold: OuterFold) -> OuterFold:
    """Make numbers of words and gaps, by the rows that are learned, and keep the table beside."""
    if not any(is_raw_table(rows.X, missing_values=True) for rows in fold):
        return OuterFold(*(rows._replace(X=np.ascontiguousarray(rows.X, float)) for rows in fold))
    encoder = TableEncoder(random_state=0).fit(fold.learned.X, fold.learned.y)
    return OuterFold(*(rows._replace(X=encoder.transform(rows.X), table=rows.X) for rows in fold))


T = TypeVar("T")

PLAIN = "plain network"
DEFAULT = "default boosting"
THIRTY = "boosting-30"
FINALISTS = 5
"""Drawn settings that are tried on all folds, the others on the first only."""


class Spoken(NamedTuple):
    """A member as held out and as fitted to all rows, what it says of new rows, and CPU seconds."""

    candidate: TunedMember
    new: Doubles
    trial_seconds: float
    refit_seconds: float
    predict_seconds: float

    @property
    def held(self) -> Doubles:
        """What it says of rows that it has not learned, (n_rows, n_classes)."""
        return self.candidate.outputs


def timed(work: Callable[..., T], *given: Any) -> tuple[T, float]:
    """Give what a function gives, and how many seconds the processor took."""
    start = time.process_time()
    done = work(*given)
    return done, time.process_time() - start


def everybody(fold: OuterFold, seed: int, draws: int) -> dict[str, Spoken]:
    """Let the whole pool speak, then boosting of more settings and two members of usual kinds.

    Seeds are those that ``EnsemblageClassifier("full", random_state=seed)`` would draw.
    """
    recipes = [
        *resolve_members("full"),
        MemberSpec(PLAIN, "generic", (BayesNetClassifier(calibration=None),), reads_tables=True),
        MemberSpec(DEFAULT, "generic", (LightGBMClassifier(100, learning_rate=0.1),)),
    ]
    _, *seeds, last = draw_seeds(seed, 2 + len(recipes))
    found = {}
    for recipe, own in zip(recipes, seeds, strict=True):
        candidate, seconds = timed(_hold_out, recipe, fold.learned, own)
        found[recipe.name] = _refitted(candidate, fold, seconds)
    found[THIRTY] = _searched(found["boosting"], fold, last, draws)
    return found


def _hold_out(recipe: MemberSpec, rows: TrainingData, seed: int) -> TunedMember:
    candidates, failures = cross_validate_members([recipe], rows, [seed], 1)
    if failures:
        raise RuntimeError(f"{recipe.name}: {failures[0].reason}.")
    return candidates[0]


def _refitted(candidate: TunedMember, fold: OuterFold, trial_seconds: float) -> Spoken:
    recipe = candidate.spec
    learned, asked = (recipe.input_data(rows) for rows in fold)
    model, fit_seconds = timed(refit_member, candidate, learned)
    new, predict_seconds = timed(member_outputs, model, asked.X, asked.n_outputs, recipe.response)
    return Spoken(candidate, new, trial_seconds, fit_seconds, predict_seconds)


def draw_settings(draws: int, seed: int) -> list[BoostingSettings]:
    rng = np.random.default_rng(seed)
    return [
        BoostingSettings(
            learning_rate=float(np.exp(rng.uniform(np.log(0.08), np.log(0.3)))),
            max_leaf_nodes=int(rng.choice([4, 8, 15, 31, 63])),
            min_samples_leaf=int(rng.choice([3, 5, 10, 20, 40])),
            max_features=float(rng.uniform(0.3, 1.0)),
            l2=float(rng.choice([0.0, 0.1, 1.0, 10.0])),
        )
        for _ in range(draws)
    ]


def _searched(five: Spoken, fold: OuterFold, seed: int, draws: int) -> Spoken:
    """Tune the pool's boosting further; its own settings are among those to choose from."""
    drawn, seconds = timed(_best_drawn, five.candidate, fold.learned, seed, draws)
    rows, seconds = fold.learned, seconds + five.trial_seconds
    best = min((five.candidate, drawn), key=lambda each: _loss(each, rows))
    return _refitted(best, fold, seconds)


def _best_drawn(five: TunedMember, rows: TrainingData, seed: int, draws: int) -> TunedMember:
    """Try all drawn settings on one fold, and the best of them on all."""
    boosting = five.spec
    if not isinstance(boosting, Boosting):
        raise TypeError(f"{boosting.name} is no boosting.")
    few = rows._replace(folds=rows.folds[:1])
    settings = draw_settings(draws, seed)
    tried = [_hold_out(replace(boosting, candidates=(each,)), few, seed) for each in settings]
    order = np.argsort([_loss(each, few) for each in tried], kind="stable")
    finalists = tuple(settings[k] for k in order[:FINALISTS])
    return _hold_out(replace(boosting, name=THIRTY, candidates=finalists), rows, seed)


def _loss(candidate: TunedMember, rows: TrainingData) -> float:
    return candidate.spec.loss(candidate.outputs, rows)


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
ANCHORS, OURS = CLASSIFIER_POOLS["standard"], CLASSIFIER_POOLS["library"]
PLACES = {"rows": "strata", "columns": "subspaces", "decisions": "network"}
MEMBERS = {
    "full": CLASSIFIER_POOLS["full"],
    "lean": CLASSIFIER_POOLS["lean"],
    "anchors": ANCHORS,
    "generic control": (*ANCHORS, PLAIN, DEFAULT),
    "full without columns": tuple(each for each in CLASSIFIER_POOLS["full"] if each != "subspaces"),
    "full without decisions": tuple(each for each in CLASSIFIER_POOLS["full"] if each != "network"),
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

    probabilities: Doubles
    fit_seconds: float
    predict_seconds: float


def answers(fold: OuterFold, spoken: Mapping[str, Spoken]) -> Iterator[tuple[str, Answer]]:
    rows = fold.learned
    for name, member in SINGLES.items():
        yield name, _single(spoken[member], rows, untuned=member == DEFAULT)
        yield CALIBRATED[name], _calibrated(spoken[member], rows)
    for name, members in MEMBERS.items():
        yield name, _pooled([spoken[each] for each in members], rows)
    yield from _fused([spoken[each] for each in ANCHORS], rows)
    yield from _trees(fold, [spoken[each] for each in CLASSIFIER_POOLS["full"]])


def _prior(rows: TrainingData) -> Doubles:
    return np.bincount(rows.y, minlength=rows.n_outputs) / len(rows.y)


def floored(probabilities: Doubles, rows: TrainingData) -> Doubles:
    """Mix with the classes' frequencies, as the pool does, so that nobody pays for a zero."""
    return np.asarray((1 - PRIOR_WEIGHT) * probabilities + PRIOR_WEIGHT * _prior(rows))


def _alone(spoken: Spoken, rows: TrainingData, bias_penalty: float | None) -> LogLinearPool:
    """Calibrate a member by itself: with so strong a ridge its importance is one."""
    return LogLinearPool(
        weight_penalty=1e9, bias_penalty=bias_penalty, prior_weight=PRIOR_WEIGHT
    ).fit(spoken.held[None], rows.y)


def _probabilities(spoken: Spoken, rows: TrainingData) -> tuple[Doubles, Doubles]:
    """Give held-out and new probabilities; decision values are turned into some by temperature."""
    if are_probabilities(spoken.held):
        return spoken.held, spoken.new
    alone = _alone(spoken, rows, None)
    return alone.combine(spoken.held[None]), alone.combine(spoken.new[None])


def _single(spoken: Spoken, rows: TrainingData, *, untuned: bool) -> Answer:
    (_, new), seconds = timed(_probabilities, spoken, rows)
    trials = 0.0 if untuned else spoken.trial_seconds + seconds
    return Answer(new, trials + spoken.refit_seconds, spoken.predict_seconds)


def _calibrated(spoken: Spoken, rows: TrainingData) -> Answer:
    """Calibrate by a temperature and a bias per class, learned from held-out outputs."""
    alone, seconds = timed(_alone, spoken, rows, 10.0)
    fit_seconds = spoken.trial_seconds + spoken.refit_seconds + seconds
    return Answer(alone.combine(spoken.new[None]), fit_seconds, spoken.predict_seconds)


def _fitted_fusion(members: Sequence[Spoken], rows: TrainingData) -> Fusion:
    fusion = make_fusion("log_linear", has_groups=False)
    return fit_fusion(fusion, [each.candidate for each in members], rows)


def _pooled(members: Sequence[Spoken], rows: TrainingData) -> Answer:
    """Fuse as the pool does; members without a say are neither fitted again nor asked."""
    fusion, fuse_seconds = timed(_fitted_fusion, members, rows)
    new = np.stack([each.new for each in members])
    said, combine_seconds = timed(fusion.combine, new)
    counting = [members[k] for k in selected(fusion, len(members))]
    fit_seconds = sum(each.trial_seconds for each in members) + fuse_seconds
    return Answer(
        said,
        fit_seconds + sum(each.refit_seconds for each in counting),
        combine_seconds + sum(each.predict_seconds for each in counting),
    )


def _fused(members: Sequence[Spoken], rows: TrainingData) -> Iterator[tuple[str, Answer]]:
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


def _stacked(held: Doubles, new: Doubles, y: NDArray[np.intp]) -> Doubles:
    return Stacking(LogisticRegression(max_iter=2000)).fit(held, y).combine(new)


def _losses(probabilities: Doubles, y: NDArray[np.intp]) -> Doubles:
    """Mean log loss of each of some members, (n_members, n_rows, n_classes)."""
    return np.asarray(-np.log(probabilities[:, np.arange(len(y)), y]).mean(axis=1))


def greedy_weights(held: Doubles, y: NDArray[np.intp]) -> Doubles:
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
    fusion = make_fusion("log_linear", has_groups=False)
    fitted = _fitted_fusion(members, rows)
    pooled = out_of_fold_outputs(fusion, fitted, [each.candidate for each in members], rows)
    labels = np.eye(rows.n_outputs)[rows.y]
    for name, targets in zip(TREES, (pooled, labels), strict=True):
        student, classes = make_student("tree", MOST_LEAVES), np.arange(rows.n_outputs)
        model, fit_seconds = timed(fit_to_probabilities, student, rows.X, targets, classes)
        said, seconds = timed(member_outputs, model, fold.asked.X, rows.n_outputs, "predict_proba")
        yield name, Answer(said, fit_seconds, seconds)
