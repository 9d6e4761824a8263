"""Members, fusions and other methods of the pool's study."""

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
from ensemblage.fusion import LogLinearPool, Stacking, are_probabilities, member_outputs
from ensemblage.pool import (
    CLASSIFIER_POOLS,
    PRIOR_WEIGHT,
    TABLE,
    Boosting,
    BoostingSettings,
    LightGBMClassifier,
    MemberSpec,
    PoolClassTarget,
    TrainingData,
    TunedMember,
    cross_fuse,
    cross_validate_members,
    fit_lasting_fusion,
    fit_to_probabilities,
    make_cv_folds,
    make_fusion,
    make_student,
    refit_member,
    resolve_members,
    stratified_subsample,
)

Doubles = NDArray[np.float64]


N_OUTER_FOLDS = 5
N_INNER_FOLDS = 5
MAX_ROWS = 1_000
MANY_CLASSES = 6
MAX_ROWS_MANY_CLASSES = 400
"""With more than ``MANY_CLASSES``, as boosting fits a tree for each class."""


class OuterFold(NamedTuple):
    """Training rows, with the shared inner folds, and test rows, without folds."""

    train: TrainingData
    test: TrainingData


def outer_fold(data: Dataset, number: int, seed: int) -> OuterFold:
    """Split a dataset; a large one is subsampled once for all outer folds."""
    classes, y = np.unique(data.y, return_inverse=True)
    limit = MAX_ROWS if len(classes) <= MANY_CLASSES else MAX_ROWS_MANY_CLASSES
    kept = stratified_subsample(np.arange(len(y)), y, limit, seed)
    X, y = data.X[kept], y[kept]
    train, test = make_folds(y, N_OUTER_FOLDS, seed)[number]
    inner = make_cv_folds(y[train], N_INNER_FOLDS, draw_seeds(seed, 1)[0])
    fold = OuterFold(
        TrainingData(X[train], y[train], PoolClassTarget(classes), None, inner),
        TrainingData(X[test], y[test], PoolClassTarget(classes), None, []),
    )
    return _encode(fold)


def _encode(fold: OuterFold) -> OuterFold:
    """Encode categorical columns and missing values, fitted to the training rows."""
    if not any(is_raw_table(rows.X, missing_values=True) for rows in fold):
        return OuterFold(*(rows._replace(X=np.ascontiguousarray(rows.X, float)) for rows in fold))
    encoder = TableEncoder(random_state=0).fit(fold.train.X, fold.train.y)
    return OuterFold(
        *(rows._replace(X=encoder.transform(rows.X), forms={TABLE: rows.X}) for rows in fold)
    )


T = TypeVar("T")

PLAIN = "plain network"
DEFAULT = "default boosting"
THIRTY = "boosting-30"
FINALISTS = 5
"""Drawn settings that are evaluated on all folds, the others on the first only."""


class MemberOutputs(NamedTuple):
    """A tuned member, its predictions of the test rows after a refit, and CPU seconds."""

    candidate: TunedMember
    new: Doubles
    trial_seconds: float
    refit_seconds: float
    predict_seconds: float

    @property
    def out_of_fold(self) -> Doubles:
        """Out-of-fold outputs of the training rows, (n_rows, n_classes)."""
        return self.candidate.outputs


def timed(work: Callable[..., T], *given: Any) -> tuple[T, float]:
    """Return the result of a function, and its CPU seconds."""
    start = time.process_time()
    done = work(*given)
    return done, time.process_time() - start


def fit_members(fold: OuterFold, seed: int, draws: int) -> dict[str, MemberOutputs]:
    """Fit the whole pool, two further common learners, and boosting of more settings.

    Seeds are those that ``EnsemblageClassifier("full", random_state=seed)`` would draw.
    """
    specs = [
        *resolve_members("full"),
        MemberSpec(PLAIN, "generic", (BayesNetClassifier(calibration=None),), reads="table"),
        MemberSpec(DEFAULT, "generic", (LightGBMClassifier(100, learning_rate=0.1),)),
    ]
    _, *seeds, last = draw_seeds(seed, 2 + len(specs))
    found = {}
    for spec, own in zip(specs, seeds, strict=True):
        candidate, seconds = timed(_cross_validate, spec, fold.train, own)
        found[spec.name] = _refit(candidate, fold, seconds)
    found[THIRTY] = _search_settings(found["boosting"], fold, last, draws)
    return found


def _cross_validate(spec: MemberSpec, rows: TrainingData, seed: int) -> TunedMember:
    candidates, failures = cross_validate_members([spec], rows, [seed], 1)
    if failures:
        raise RuntimeError(f"{spec.name}: {failures[0].reason}.")
    return candidates[0]


def _refit(candidate: TunedMember, fold: OuterFold, trial_seconds: float) -> MemberOutputs:
    spec = candidate.spec
    train, test = (spec.input_data(rows) for rows in fold)
    model, fit_seconds = timed(refit_member, candidate, train)
    new, predict_seconds = timed(member_outputs, model, test.X, test.n_outputs, spec.response)
    return MemberOutputs(candidate, new, trial_seconds, fit_seconds, predict_seconds)


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


def _search_settings(five: MemberOutputs, fold: OuterFold, seed: int, draws: int) -> MemberOutputs:
    """Tune the pool's boosting further; its own settings are candidates too."""
    drawn, seconds = timed(_best_drawn, five.candidate, fold.train, seed, draws)
    rows, seconds = fold.train, seconds + five.trial_seconds
    best = min((five.candidate, drawn), key=lambda each: _loss(each, rows))
    return _refit(best, fold, seconds)


def _best_drawn(five: TunedMember, rows: TrainingData, seed: int, draws: int) -> TunedMember:
    """Evaluate all drawn settings on one fold, and the best of them on all."""
    boosting = five.spec
    if not isinstance(boosting, Boosting):
        raise TypeError(f"{boosting.name} is not boosting.")
    few = rows._replace(folds=rows.folds[:1])
    settings = draw_settings(draws, seed)
    tried = [_cross_validate(replace(boosting, candidates=(each,)), few, seed) for each in settings]
    order = np.argsort([_loss(each, few) for each in tried], kind="stable")
    finalists = tuple(settings[k] for k in order[:FINALISTS])
    return _cross_validate(replace(boosting, name=THIRTY, candidates=finalists), rows, seed)


def _loss(candidate: TunedMember, rows: TrainingData) -> float:
    return candidate.spec.loss(candidate.outputs, rows, rows.tested)


SINGLES = {
    "logistic regression": "logistic",
    "RBF SVM": "svm",
    "random forest": "forest",
    "extra trees": "extra-trees",
    "boosting, default": DEFAULT,
    "boosting, 5 settings": "boosting",
    "boosting, 30 settings": THIRTY,
    "CatBoost": "catboost",
}
CALIBRATED = {name: f"{name}, calibrated" for name in SINGLES}
STANDARD = CLASSIFIER_POOLS["standard"]
LIBRARY = CLASSIFIER_POOLS["library"]
LIBRARY_GROUPS = {"rows": "strata", "columns": "subspaces", "decisions": "network"}
MEMBERS = {
    "full": CLASSIFIER_POOLS["full"],
    "lean": CLASSIFIER_POOLS["lean"],
    "standard": STANDARD,
    "generic control": (*STANDARD, PLAIN, DEFAULT),
    "full without columns": tuple(each for each in CLASSIFIER_POOLS["full"] if each != "subspaces"),
    "full without decisions": tuple(each for each in CLASSIFIER_POOLS["full"] if each != "network"),
    "library": LIBRARY,
    **{
        f"library without {group}": tuple(each for each in LIBRARY if each != member)
        for group, member in LIBRARY_GROUPS.items()
    },
}
"""Pools; full without rows is lean."""
FUSIONS = (
    "stacking, probabilities",
    "stacking, logits",
    "greedy selection",
    "best by CV",
    "unweighted mean",
)
"""Other fusions of the standard members."""
TREES = ("distilled tree", "tree fitted to labels")
MAX_LEAVES = 16
GREEDY_STEPS = 50


class MethodOutputs(NamedTuple):
    """Probabilities of the test rows, (n_rows, n_classes), and total CPU seconds."""

    probabilities: Doubles
    fit_seconds: float
    predict_seconds: float


def method_outputs(
    fold: OuterFold, fitted: Mapping[str, MemberOutputs]
) -> Iterator[tuple[str, MethodOutputs]]:
    rows = fold.train
    for name, member in SINGLES.items():
        yield name, _single_outputs(fitted[member], rows, untuned=member == DEFAULT)
        yield CALIBRATED[name], _calibrated_outputs(fitted[member], rows)
    for name, members in MEMBERS.items():
        yield name, _pool_outputs([fitted[each] for each in members], rows)
    yield from _fusion_outputs([fitted[each] for each in STANDARD], rows)
    yield from _tree_outputs(fold, [fitted[each] for each in CLASSIFIER_POOLS["full"]])


def _prior(rows: TrainingData) -> Doubles:
    return np.bincount(rows.y, minlength=rows.n_outputs) / len(rows.y)


def mix_with_prior(probabilities: Doubles, rows: TrainingData) -> Doubles:
    """Mix with the class frequencies, as the pool does, so that no probability is zero."""
    return np.asarray((1 - PRIOR_WEIGHT) * probabilities + PRIOR_WEIGHT * _prior(rows))


def _calibrator(
    member: MemberOutputs, rows: TrainingData, bias_penalty: float | None
) -> LogLinearPool:
    """Calibrate one member: with so strong a penalty its weight is one."""
    return LogLinearPool(
        weight_penalty=1e9, bias_penalty=bias_penalty, prior_weight=PRIOR_WEIGHT
    ).fit(member.out_of_fold[None], rows.y)


def _probabilities(member: MemberOutputs, rows: TrainingData) -> tuple[Doubles, Doubles]:
    """Return out-of-fold and test probabilities; decision values after temperature scaling."""
    if are_probabilities(member.out_of_fold):
        return member.out_of_fold, member.new
    calibrator = _calibrator(member, rows, None)
    return calibrator.combine(member.out_of_fold[None]), calibrator.combine(member.new[None])


def _single_outputs(member: MemberOutputs, rows: TrainingData, *, untuned: bool) -> MethodOutputs:
    (_, new), seconds = timed(_probabilities, member, rows)
    trials = 0.0 if untuned else member.trial_seconds + seconds
    return MethodOutputs(new, trials + member.refit_seconds, member.predict_seconds)


def _calibrated_outputs(member: MemberOutputs, rows: TrainingData) -> MethodOutputs:
    """Calibrate by a temperature and a bias per class, fitted to out-of-fold outputs."""
    calibrator, seconds = timed(_calibrator, member, rows, 10.0)
    fit_seconds = member.trial_seconds + member.refit_seconds + seconds
    return MethodOutputs(calibrator.combine(member.new[None]), fit_seconds, member.predict_seconds)


def _pool_outputs(members: Sequence[MemberOutputs], rows: TrainingData) -> MethodOutputs:
    """Fuse as the pool does; members of little weight are neither refitted nor used."""
    candidates = [each.candidate for each in members]
    unfitted = make_fusion("log_linear", has_groups=False)
    (fusion, kept, _), fuse_seconds = timed(fit_lasting_fusion, unfitted, candidates, rows)
    weighted = [members[int(k)] for k in kept]
    proba, combine_seconds = timed(fusion.combine, np.stack([each.new for each in weighted]))
    fit_seconds = sum(each.trial_seconds for each in members) + fuse_seconds
    return MethodOutputs(
        proba,
        fit_seconds + sum(each.refit_seconds for each in weighted),
        combine_seconds + sum(each.predict_seconds for each in weighted),
    )


def _fusion_outputs(
    members: Sequence[MemberOutputs], rows: TrainingData
) -> Iterator[tuple[str, MethodOutputs]]:
    pairs = [_probabilities(each, rows) for each in members]
    out_of_fold, new = (np.stack(each) for each in zip(*pairs, strict=True))
    fit_seconds = sum(each.trial_seconds + each.refit_seconds for each in members)
    predict_seconds = sum(each.predict_seconds for each in members)
    fusions = {
        "stacking, probabilities": lambda: _stack(out_of_fold, new, rows.y),
        "stacking, logits": lambda: _stack(
            np.log(mix_with_prior(out_of_fold, rows)), np.log(mix_with_prior(new, rows)), rows.y
        ),
        "greedy selection": lambda: np.tensordot(
            greedy_weights(mix_with_prior(out_of_fold, rows), rows.y), new, 1
        ),
        "best by CV": lambda: new[
            int(np.argmin(_losses(mix_with_prior(out_of_fold, rows), rows.y)))
        ],
        "unweighted mean": lambda: new.mean(axis=0),
    }
    for name in FUSIONS:
        proba, seconds = timed(fusions[name])
        yield name, MethodOutputs(proba, fit_seconds + seconds, predict_seconds)


def _stack(out_of_fold: Doubles, new: Doubles, y: NDArray[np.intp]) -> Doubles:
    return Stacking(LogisticRegression(max_iter=2000)).fit(out_of_fold, y).combine(new)


def _losses(probabilities: Doubles, y: NDArray[np.intp]) -> Doubles:
    """Mean log loss of each member; ``probabilities`` are (n_members, n_rows, n_classes)."""
    return np.asarray(-np.log(probabilities[:, np.arange(len(y)), y]).mean(axis=1))


def greedy_weights(out_of_fold: Doubles, y: NDArray[np.intp]) -> Doubles:
    """Weights of members by Caruana's selection with replacement, at its best step."""
    counts, total = np.zeros(len(out_of_fold)), np.zeros(out_of_fold.shape[1:])
    best = (np.inf, counts)
    for step in range(1, GREEDY_STEPS + 1):
        losses = _losses((total + out_of_fold) / step, y)
        chosen = int(losses.argmin())
        counts, total = counts + np.eye(len(out_of_fold))[chosen], total + out_of_fold[chosen]
        best = min(best, (float(losses[chosen]), counts / step), key=lambda each: each[0])
    return best[1]


def _tree_outputs(
    fold: OuterFold, members: Sequence[MemberOutputs]
) -> Iterator[tuple[str, MethodOutputs]]:
    """Fit one small tree to the pool's out-of-fold probabilities, and one to the classes."""
    rows = fold.train
    fusion = make_fusion("log_linear", has_groups=False)
    outputs = np.stack([each.candidate.outputs[rows.tested] for each in members])
    pooled = cross_fuse(fusion, outputs, rows, rows.tested, rows.scoring_folds)
    labels = np.eye(rows.n_outputs)[rows.y]
    for name, targets in zip(TREES, (pooled, labels), strict=True):
        student, classes = make_student("tree", MAX_LEAVES), np.arange(rows.n_outputs)
        model, fit_seconds = timed(fit_to_probabilities, student, rows.X, targets, classes)
        proba, seconds = timed(member_outputs, model, fold.test.X, rows.n_outputs, "predict_proba")
        yield name, MethodOutputs(proba, fit_seconds, seconds)
