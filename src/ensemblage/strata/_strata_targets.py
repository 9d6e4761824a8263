"""What is predicted, classes or numbers, and what that means for members on strata."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.utils.multiclass import check_classification_targets

from ensemblage.fusion import are_probabilities, member_outputs, number_outputs
from ensemblage.kernels import Normals, normal_log_density, normal_mixture
from ensemblage.messages import warn_user
from ensemblage.parallel import as_numbers

Array = NDArray[np.float64]

N_BINS = 10
"""Folds are balanced by tenths of a number."""
FINEST = 1e-140
"""Targets that vary by less, or by more than one over it, have squares that are no numbers."""


class Target(Protocol):
    """What an ensemble on strata has to know of the kind of its target."""

    @property
    def of_classes(self) -> bool:
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

    def labels(self, y: NDArray[Any]) -> NDArray[np.intp]:
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

    def ask(self, member: Any, X: Any, response: str) -> Array:
        """Ask a member about rows, (n_samples, n_outputs)."""
        ...

    def losses(self, outputs: Array, y: NDArray[Any]) -> NDArray[Any]:
        """Give the loss on each row of outputs, (n_samples, n_outputs)."""
        ...

    def as_error(self, mean_loss: float) -> float:
        """Turn a mean loss into the error that is told."""
        ...

    def likelihoods(self, outputs: Array, y: NDArray[Any]) -> Array | None:
        """Give what outputs made of the true target; None where they are no probabilities."""
        ...

    def mix(self, own: Array, fused: Array, shares: Array) -> Array:
        """Mix what the own member and all together say of rows, by the own one's share of each."""
        ...

    def own_voice(self, own: Array, strata: NDArray[np.intp]) -> Array:
        """Give what the rows' own members say, as it can be mixed with what all say."""
        ...

    def can_mix(self, fused: Array, responses: list[str]) -> bool:
        """Tell whether what members and fusion say can be mixed."""
        ...

    def report(self, member: Any, outputs: Array | None, y: NDArray[Any]) -> dict[str, Any]:
        """Describe a member, and its score on held-out outputs where there are some."""
        ...


class ClassTarget(NamedTuple):
    """Classes, sorted; ``y`` are their numbers, and outputs have one column for each."""

    classes: NDArray[Any]
    of_classes: bool = True
    one_value: str = (
        "one class only; their members always say that class. Larger or fewer strata would mix "
        "classes more."
    )

    @property
    def n_outputs(self) -> int:
        return len(self.classes)

    def labels(self, y: NDArray[np.intp]) -> NDArray[np.intp]:
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

    def ask(self, member: Any, X: Any, response: str) -> Array:
        return member_outputs(member, X, len(self.classes), response)

    def losses(self, outputs: Array, y: NDArray[np.intp]) -> NDArray[np.bool_]:
        return np.asarray(outputs.argmax(axis=1) != y)

    def as_error(self, mean_loss: float) -> float:
        return mean_loss

    def likelihoods(self, outputs: Array, y: NDArray[np.intp]) -> Array | None:
        return outputs[np.arange(len(y)), y] if are_probabilities(outputs) else None

    def mix(self, own: Array, fused: Array, shares: Array) -> Array:
        return np.asarray(shares[:, None] * own + (1 - shares[:, None]) * fused)

    def own_voice(self, own: Array, strata: NDArray[np.intp]) -> Array:
        return own

    def can_mix(self, fused: Array, responses: list[str]) -> bool:
        return are_probabilities(fused) and {*responses} == {"predict_proba"}

    def report(self, member: Any, outputs: Array | None, y: NDArray[np.intp]) -> dict[str, Any]:
        return {
            "classes": self.classes[member.classes_].tolist(),
            "constant": self.is_constant(member),
            "score": _accuracy(outputs, y),
        }


class NumberTarget(NamedTuple):
    """Numbers, with their standard deviation; outputs are a mean and a variance.

    ``own_variances`` are those of the members of each stratum on its rows, where they are known.
    """

    scale: float
    own_variances: Array | None = None
    of_classes: bool = False
    one_value: str = (
        "one value of the target only; their members always say it. Larger or fewer strata would "
        "hold more."
    )

    @property
    def n_outputs(self) -> int:
        return 2

    def labels(self, y: Array) -> NDArray[np.intp]:
        ranks = np.empty(len(y), dtype=np.intp)
        ranks[np.argsort(y, kind="stable")] = np.arange(len(y))
        return ranks * min(N_BINS, max(len(y) // N_BINS, 1)) // len(y)

    def count_folds(self, y: Array, wanted: int) -> int:
        return max(2, min(wanted, len(y)))

    def constant_member(self, y: Array) -> Any:
        return DummyRegressor().fit(np.zeros((len(y), 1)), y)

    def is_constant(self, member: Any) -> bool:
        return isinstance(member, DummyRegressor)

    def ask(self, member: Any, X: Any, response: str) -> Array:
        # a constant member has no spread of its own, though it could be asked for one
        name = "predict" if self.is_constant(member) else response
        return number_outputs(member, X, name, self.scale**2)

    def losses(self, outputs: Array, y: Array) -> Array:
        return np.asarray((outputs[:, 0] - y) ** 2)

    def as_error(self, mean_loss: float) -> float:
        return float(np.sqrt(mean_loss))

    def likelihoods(self, outputs: Array, y: Array) -> Array:
        said = Normals(outputs[:, 0] / self.scale, outputs[:, 1] / self.scale**2)
        return np.exp(normal_log_density(said, y / self.scale))

    def mix(self, own: Array, fused: Array, shares: Array) -> Array:
        both = np.stack([own, fused])
        weights = np.column_stack([shares, 1 - shares])
        return np.column_stack(normal_mixture(Normals(both[..., 0], both[..., 1]), weights))

    def own_voice(self, own: Array, strata: NDArray[np.intp]) -> Array:
        if self.own_variances is None:
            return own
        return np.column_stack([own[:, 0], self.own_variances[strata]])

    def can_mix(self, fused: Array, responses: list[str]) -> bool:
        return True

    def report(self, member: Any, outputs: Array | None, y: Array) -> dict[str, Any]:
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


def _accuracy(outputs: Array | None, y: NDArray[np.intp]) -> float | None:
    if outputs is None or len(outputs) == 0:
        return None
    return float((outputs.argmax(axis=1) == y).mean())


def read_classes(y: Any, weights: Array) -> tuple[NDArray[np.intp], ClassTarget]:
    """Give classes numbers; refuse what is none, one class alone, and classes without weight."""
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
    return y, ClassTarget(classes)


def read_numbers(y: Any, weights: Array) -> tuple[Array, NumberTarget]:
    """Read numbers; refuse words, gaps, infinity, and what does not vary."""
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
    return numbers, NumberTarget(scale)
