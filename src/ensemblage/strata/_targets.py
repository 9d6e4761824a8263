"""What depends on the target: classes or a numeric one, and what is learned after the fusion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.utils.multiclass import check_classification_targets

from ensemblage._core import (
    PROBABILITY_FLOOR,
    Fold,
    as_numbers,
    expect_array,
    final_step,
    set_module,
    warn_user,
)
from ensemblage.evaluation import source_thresholds, weighted_threshold
from ensemblage.fusion import (
    SHARE_GRID,
    FusionContext,
    Normals,
    are_probabilities,
    fit_variance_correction,
    member_outputs,
    normal_log_density,
    normal_mixture,
    regressor_outputs,
)

if TYPE_CHECKING:
    from ensemblage.strata._members import Job


Doubles = NDArray[np.float64]
Indices = NDArray[np.intp]


class Trial(NamedTuple):
    """Strata, and what members on them say of rows that they have not seen.

    ``settings`` are parameters of the fitted stratifier. ``outputs`` are held-out ones, (n_members,
    n_samples, n_outputs), where there are folds; ``error`` is the fusion's on them.
    """

    settings: dict[str, Any]
    stratifier: Any
    n_strata: int
    jobs: list[Job]
    outputs: Doubles | None
    context: FusionContext
    error: float


class Training(NamedTuple):
    """Validated training rows.

    ``y`` are numbers of classes, or numbers; ``weights`` are ones where no ``sample_weight`` was
    given; ``folds`` are there where outputs on rows that members have not seen are needed.
    """

    X: Any
    y: NDArray[Any]
    target: Target
    weights: Doubles
    sample_weight: Doubles | None = None
    sources: NDArray[Any] | None = None
    groups: NDArray[Any] | None = None
    folds: list[Fold] | None = None


N_BINS = 10
"""Folds are balanced by tenths of a number."""
FINEST = 1e-140
"""Targets that vary by less, or by more than one over it, have squares that are no numbers."""


class Target(Protocol):
    """What an ensemble on strata has to know of the kind of its target."""

    @property
    def is_classification(self) -> bool:
        """Tell classes from numbers."""
        ...

    @property
    def one_value(self) -> str:
        """Say what strata hold whose members have nothing to tell apart, and what to do."""
        ...

    @property
    def n_outputs(self) -> int:
        """Numbers that a member says of a row."""
        ...

    def stratification_labels(self, y: NDArray[Any]) -> NDArray[np.intp]:
        """Give numbers by which folds, and strata that want them, are balanced."""
        ...

    def count_folds(self, y: NDArray[Any], wanted: int) -> int:
        """Give as many folds as wanted, or fewer where rows are few."""
        ...

    def constant_member(self, y: NDArray[Any]) -> Any:
        """Give a member for rows whose target does not vary."""
        ...

    def is_constant(self, member: Any) -> bool:
        """Tell whether a fitted member always says the same."""
        ...

    def outputs(self, member: Any, X: Any, response: str) -> Doubles:
        """Ask a member about rows, (n_samples, n_outputs)."""
        ...

    def losses(self, outputs: Doubles, y: NDArray[Any]) -> NDArray[Any]:
        """Give the loss on each row of outputs, (n_samples, n_outputs)."""
        ...

    def as_error(self, mean_loss: float) -> float:
        """Turn a mean loss into the error that is told."""
        ...

    def likelihoods(self, outputs: Doubles, y: NDArray[Any]) -> Doubles | None:
        """Give what outputs made of the true target; None where they are no probabilities."""
        ...

    def mix(self, own: Doubles, fused: Doubles, shares: Doubles) -> Doubles:
        """Mix what the own member and all together say of rows, by the own one's share of each."""
        ...

    def own_voice(self, own: Doubles, strata: NDArray[np.intp]) -> Doubles:
        """Give what the rows' own members say, as it can be mixed with what all say."""
        ...

    def can_mix(self, fused: Doubles, responses: list[str]) -> bool:
        """Tell whether what members and fusion say can be mixed."""
        ...

    def report(self, member: Any, outputs: Doubles | None, y: NDArray[Any]) -> dict[str, Any]:
        """Describe a member, and its score on held-out outputs where there are some."""
        ...


class ClassTarget(NamedTuple):
    """Classes, sorted; ``y`` are their numbers, and outputs have one column for each."""

    classes: NDArray[Any]
    is_classification: bool = True
    one_value: str = (
        "one class only; their members always say that class. Larger or fewer strata would mix "
        "classes more."
    )

    @classmethod
    def read(cls, y: Any, weights: Doubles) -> tuple[NDArray[np.intp], Self]:
        """Code the classes; refuse one class alone, and classes without weight."""
        check_classification_targets(y)
        classes, y = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"y holds one class only, {classes.tolist()[0]!r}; a classifier needs at least two."
            )
        absent = np.bincount(y, weights) == 0
        if absent.any():
            raise ValueError(
                f"sample_weight leaves no weight to class {classes[absent].tolist()[0]!r}. "
                "Leave its rows out, or give some of them weight."
            )
        return y, cls(classes)

    @property
    def n_outputs(self) -> int:
        return len(self.classes)

    def stratification_labels(self, y: NDArray[np.intp]) -> NDArray[np.intp]:
        return y

    def count_folds(self, y: NDArray[np.intp], wanted: int) -> int:
        counts = np.bincount(y)
        n_folds = max(2, min(wanted, int(counts.min())))
        if n_folds < wanted:
            smallest = self.classes.tolist()[counts.argmin()]
            warn_user(
                f"Class {smallest!r} has {counts.min()} rows, fewer than cv={wanted} folds: using "
                f"{n_folds} folds.",
            )
        return n_folds

    def constant_member(self, y: NDArray[np.intp]) -> Any:
        return DummyClassifier(strategy="prior").fit(np.zeros((len(y), 1)), y)

    def is_constant(self, member: Any) -> bool:
        return len(member.classes_) == 1

    def outputs(self, member: Any, X: Any, response: str) -> Doubles:
        return member_outputs(member, X, len(self.classes), response)

    def losses(self, outputs: Doubles, y: NDArray[np.intp]) -> NDArray[np.bool_]:
        return np.asarray(outputs.argmax(axis=1) != y)

    def as_error(self, mean_loss: float) -> float:
        return mean_loss

    def likelihoods(self, outputs: Doubles, y: NDArray[np.intp]) -> Doubles | None:
        return outputs[np.arange(len(y)), y] if are_probabilities(outputs) else None

    def mix(self, own: Doubles, fused: Doubles, shares: Doubles) -> Doubles:
        return np.asarray(shares[:, None] * own + (1 - shares[:, None]) * fused)

    def own_voice(self, own: Doubles, strata: NDArray[np.intp]) -> Doubles:
        return own

    def can_mix(self, fused: Doubles, responses: list[str]) -> bool:
        return are_probabilities(fused) and {*responses} == {"predict_proba"}

    def report(self, member: Any, outputs: Doubles | None, y: NDArray[np.intp]) -> dict[str, Any]:
        return {
            "classes": self.classes[member.classes_].tolist(),
            "constant": self.is_constant(member),
            "score": _accuracy(outputs, y),
        }


class NumericTarget(NamedTuple):
    """Numbers, with their standard deviation; outputs are a mean and a variance.

    ``own_variances`` are those of the members of each stratum on its rows, where they are known.
    """

    scale: float
    own_variances: Doubles | None = None
    is_classification: bool = False
    one_value: str = (
        "one value of the target only; their members always say it. Larger or fewer strata would "
        "hold more."
    )

    @classmethod
    def read(cls, y: Any, weights: Doubles) -> tuple[Doubles, Self]:
        """Read a numeric target; refuse text, missing values, infinity and a constant."""
        numbers = as_numbers(y)
        bad = ~np.isfinite(numbers)
        if bad.any():
            raise ValueError(
                f"y is NaN or infinite in {bad.sum()} of {len(bad)} rows: leave these out."
            )
        with np.errstate(over="ignore"):
            present = numbers[weights > 0]
            scale = float(np.sqrt(np.average((present - present.mean()) ** 2)))
        if present.min() == present.max() or not FINEST < scale < 1 / FINEST:
            raise ValueError(
                f"y varies from {present.min():g} to {present.max():g} only, or beyond what floats "
                "hold; a regressor needs numbers that differ."
            )
        return numbers, cls(scale)

    @property
    def n_outputs(self) -> int:
        return 2

    def stratification_labels(self, y: Doubles) -> NDArray[np.intp]:
        ranks = np.empty(len(y), dtype=np.intp)
        ranks[np.argsort(y, kind="stable")] = np.arange(len(y))
        return ranks * min(N_BINS, max(len(y) // N_BINS, 1)) // len(y)

    def count_folds(self, y: Doubles, wanted: int) -> int:
        return max(2, min(wanted, len(y)))

    def constant_member(self, y: Doubles) -> Any:
        return DummyRegressor().fit(np.zeros((len(y), 1)), y)

    def is_constant(self, member: Any) -> bool:
        return isinstance(member, DummyRegressor)

    def outputs(self, member: Any, X: Any, response: str) -> Doubles:
        # a constant member has no spread of its own, though it could be asked for one
        name = "predict" if self.is_constant(member) else response
        return regressor_outputs(member, X, name, self.scale**2)

    def losses(self, outputs: Doubles, y: Doubles) -> Doubles:
        return np.asarray((outputs[:, 0] - y) ** 2)

    def as_error(self, mean_loss: float) -> float:
        return float(np.sqrt(mean_loss))

    def likelihoods(self, outputs: Doubles, y: Doubles) -> Doubles:
        said = Normals(outputs[:, 0] / self.scale, outputs[:, 1] / self.scale**2)
        return np.exp(normal_log_density(said, y / self.scale))

    def mix(self, own: Doubles, fused: Doubles, shares: Doubles) -> Doubles:
        both = np.stack([own, fused])
        weights = np.column_stack([shares, 1 - shares])
        return np.column_stack(normal_mixture(Normals(both[..., 0], both[..., 1]), weights))

    def own_voice(self, own: Doubles, strata: NDArray[np.intp]) -> Doubles:
        if self.own_variances is None:
            return own
        return np.column_stack([own[:, 0], self.own_variances[strata]])

    def can_mix(self, fused: Doubles, responses: list[str]) -> bool:
        return True

    def report(self, member: Any, outputs: Doubles | None, y: Doubles) -> dict[str, Any]:
        told: dict[str, Any] = {
            "constant": self.is_constant(member), "spread": None, "score": None
        }  # fmt: skip
        if outputs is None or len(outputs) == 0:
            return told
        error = float(self.losses(outputs, y).mean())
        told["spread"] = self.as_error(error)
        variance = float(y.var())
        told["score"] = 1 - error / variance if variance > 0 else None
        return told


def _accuracy(outputs: Doubles | None, y: NDArray[np.intp]) -> float | None:
    if outputs is None or len(outputs) == 0:
        return None
    return float((outputs.argmax(axis=1) == y).mean())


"""Of an anchor in the answer, or of the spread told in the variance, to choose from."""


class LastWord(NamedTuple):
    """Mean and variance of a row become a share of an anchor's, and ``factor`` v + ``floor``."""

    anchor: int
    """Number of the anchor with the least error; the share is 0 where there are none."""
    share: float
    factor: float
    floor: float

    def say(self, fused: Doubles, anchored: Doubles) -> Doubles:
        """Correct means and variances, (n_rows, 2), beside anchors' means, (n_anchors, n_rows)."""
        mean, variance = fused.T
        if self.share > 0:
            mean = (1 - self.share) * mean + self.share * anchored[self.anchor]
        return np.column_stack([mean, self.factor * variance + self.floor])


AS_FUSED = LastWord(0, 0.0, 1.0, 0.0)


def learn_last_word(fused: Doubles, anchored: Doubles, y: Doubles, weights: Doubles) -> LastWord:
    """Choose on rows that neither members nor fusion have seen."""
    anchor, share = _best_share(fused[:, 0], anchored, y, weights)
    word = LastWord(anchor, share, 1.0, 0.0)
    correction = fit_variance_correction(word.say(fused, anchored), y, weights)
    return word._replace(factor=correction.factor, floor=correction.offset)


def _best_share(
    mean: Doubles, anchored: Doubles, y: Doubles, weights: Doubles
) -> tuple[int, float]:
    """Give the best anchor and its share with the least squared error; of equals the largest."""
    if len(anchored) == 0:
        return 0, 0.0
    anchor = int(np.argmin((anchored - y) ** 2 @ weights))
    mixed = np.outer(1 - SHARE_GRID, mean) + np.outer(SHARE_GRID, anchored[anchor])
    errors = (mixed - y) ** 2 @ weights
    return anchor, float(SHARE_GRID[::-1][np.argmin(errors[::-1])])


PULLS = (0.0, 5.0, 20.0, 80.0, 320.0, float("inf"))
"""So many rows of a stratum count as much as all members together, to choose from."""
DEFAULT_PULL = 20.0
"""Where nothing was held out to choose it by."""


class HeldOutPair(NamedTuple):
    """What its own stratum's member and all members made of each row's true target, held out.

    Both are probabilities or densities, (n_rows,); ``strata`` are numbers of the rows' strata.
    """

    own: Doubles
    fused: Doubles
    strata: Indices
    weights: Doubles


def own_shares(counts: NDArray[np.float64], pull: float) -> Doubles:
    """Share of the own member in each stratum's answer, n / (n + pull)."""
    return np.asarray(counts / (counts + pull) if np.isfinite(pull) else np.zeros(len(counts)))


def choose_pull(pair: HeldOutPair, counts: NDArray[np.float64]) -> float:
    """Take the pull to all members with the least loss on held-out rows; of equals the most."""
    losses = {}
    for pull in reversed(PULLS):
        shares = own_shares(counts, pull)[pair.strata]
        true = shares * pair.own + (1 - shares) * pair.fused
        losses[pull] = float(-pair.weights @ np.log(np.maximum(true, PROBABILITY_FLOOR)))
    return min(losses, key=losses.__getitem__)


def own_outputs(outputs: Doubles, strata: Indices, n_strata: int) -> Doubles:
    """Give what each row's own stratum's member says, the mean of several kinds.

    Members are kind by kind, and may be followed by anchors.
    """
    n_kinds = len(outputs) // n_strata
    by_kind = outputs[: n_kinds * n_strata].reshape(n_kinds, n_strata, *outputs.shape[1:])
    return np.asarray(by_kind[:, strata, np.arange(len(strata))].mean(axis=0))


def learn_pull(fused: Doubles | None, trial: Trial, data: Training, target: Target) -> float:
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


def mix_given(
    own: Doubles, fused: Doubles, strata: Indices, target: Target, shares: Doubles
) -> Doubles:
    """Mix what rows' own members say with what all say, by the shares of their strata."""
    return target.mix(target.own_voice(own, strata), fused, shares[strata])


def answer_given(
    ensemble: Any, outputs: Doubles, fused: Doubles, target: Target, sources: Any
) -> Doubles:
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
    strata_of = getattr(final_step(ensemble.stratifier_), "strata_of_sources", None)
    if strata_of is None:
        kind = type(final_step(ensemble.stratifier_)).__name__
        raise ValueError(
            f"sources were given, but {kind} does not know them. Leave them out, or use "
            "SourceStrata."
        )
    return np.asarray(strata_of(sources, n_rows))


BORROWED = 20.0
"""All rows count as much as so many of a stratum's own."""

MOST_KEPT = 20_000
"""So many residuals tell as much as more would."""


@set_module("ensemblage.strata")
@dataclass(frozen=True)
class HeldOutScores:
    """Residuals of held-out rows in units of the spread told.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Absolute residuals over the standard deviations.
    strata : ndarray of shape (n_rows,)
        Number of the stratum that each row is closest to.
    weights : ndarray of shape (n_rows,)
        Row weights.
    n_strata : int
        Number of strata.
    """

    scores: Doubles
    strata: NDArray[np.int64]
    weights: Doubles
    n_strata: int

    def _check_fitted(self) -> None:
        """Refuse residuals that no fit keeps."""
        n_rows = len(self.scores)
        expect_array(self, "scores", [n_rows], low=0)
        expect_array(self, "strata", [n_rows], "integer", low=0, high=self.n_strata - 1)
        expect_array(self, "weights", [n_rows], low=0)


def own_variances(outputs: Doubles, trial: Trial, known: Indices, data: Training) -> Doubles:
    """Mean squared residual of each stratum's member on known rows in it; outputs are of these.

    A stratum's is drawn towards that of all as by ``BORROWED`` rows.
    """
    strata = own_strata(trial)[known]
    means = own_outputs(outputs, strata, trial.n_strata)[:, 0]
    squares = (data.y[known] - means) ** 2
    weights = data.weights[known] / data.weights[known].mean()
    whole = float(np.average(squares, weights=weights))
    sums = np.bincount(strata, weights * squares, trial.n_strata)
    sizes = np.bincount(strata, weights, trial.n_strata)
    least = np.finfo(float).tiny
    return np.asarray(np.maximum((sums + BORROWED * whole) / (sizes + BORROWED), least))


def own_strata(trial: Trial) -> Indices:
    """Give the stratum in which each training row is most: that of its source, if it is known."""
    memberships: Doubles = np.asarray(final_step(trial.stratifier).memberships_)
    return np.asarray(memberships.argmax(axis=1))


def score_held_out(
    fused: Doubles, known: Indices, strata: Indices, n_strata: int, data: Training
) -> HeldOutScores:
    """Score known rows by outputs that had not seen them; ``strata`` are of all rows."""
    kept = known[:: -(-len(known) // MOST_KEPT)]
    scores = np.abs(data.y[kept] - fused[kept, 0]) / np.sqrt(fused[kept, 1])
    return HeldOutScores(scores, strata[kept].astype(np.int64), data.weights[kept], n_strata)


def interval_factors(held_out: HeldOutScores, coverage: float) -> Doubles:
    """Give how many standard deviations an interval reaches, for each stratum."""
    scores, weights = held_out.scores, held_out.weights
    found = source_thresholds(scores, held_out.strata, weights, held_out.n_strata, coverage)
    whole = weighted_threshold(scores, weights, coverage, float(weights.mean()))
    whole = whole if np.isfinite(whole) else float(scores.max())
    return np.where(np.isfinite(found), found, whole)
