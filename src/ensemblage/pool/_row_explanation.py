"""Members' predictions of one row and their contributions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from ensemblage._core import (
    NOTHING,
    PROBABILITY_FLOOR,
    Field,
    Heading,
    TableBlock,
    html_table,
    set_module,
    share_field,
    signed_field,
    text_table,
    write_number,
)
from ensemblage.fusion import Fusion, LogLinearPool

Doubles = NDArray[np.float64]


@set_module("ensemblage.pool")
@dataclass(frozen=True)
class Voice:
    """What one member says of a row.

    Parameters
    ----------
    member : str
        Its name.
    probabilities : tuple of float
        Of the classes, at its best temperature; what it gives as it is, where the fusion has none.
    weight : float or None
        Share of its influence on the pool; None where the fusion has no such number.
    push : float or None
        What it adds to the log odds of the answer against the next class; None where the fusion
        has no such number.
    """

    member: str
    probabilities: tuple[float, ...]
    weight: float | None
    push: float | None


@set_module("ensemblage.pool")
@dataclass(frozen=True)
class PoolDecision:
    """How a pool came to its answer about one row.

    Parameters
    ----------
    prediction : object
        The class.
    against : object
        The class that comes next.
    classes : tuple
        All classes.
    probabilities : tuple of float
        Of the classes, in their order.
    voices : tuple of Voice
        The members, those who pushed most first.
    bias : float or None
        What the biases of the two classes add to the log odds; with all pushes it adds up to them.
    source : object, default=None
        The row's source, if the pool that answered knows it.

    Examples
    --------
    >>> from ensemblage.pool import PoolDecision, Voice
    >>> svm = Voice("svm", (0.2, 0.8), 1.0, 1.4)
    >>> PoolDecision("yes", "no", ("no", "yes"), (0.2, 0.8), (svm,), 0.0).voices[0].push
    1.4
    """

    prediction: Any
    against: Any
    classes: tuple[Any, ...]
    probabilities: tuple[float, ...]
    voices: tuple[Voice, ...]
    bias: float | None
    source: Any = None

    @property
    def log_odds(self) -> float | None:  # numpydoc ignore=RT01
        """All pushes and the bias: of the answer against the next class; None without pushes."""
        if self.bias is None:
            return None
        return self.bias + sum(each.push or 0.0 for each in self.voices)

    def as_table(self) -> TableBlock:
        """Give the table as plain values.

        Returns
        -------
        TableBlock
            The pool, then a line per member; where there are pushes, they add up to the pool's.
        """
        classes = [Heading(str(each), numeric=True) for each in self.classes]
        numbers = [*classes, Heading("weight", numeric=True), Heading("push", numeric=True)]
        rows = [_row("pool", self.probabilities, 1.0, self.log_odds)]
        rows += [_row(*_values(each)) for each in self.voices]
        legend = "Probabilities of the classes."
        if self.bias is not None:
            empty = [Field("")] * (len(self.classes) + 1)
            rows.append([Field("(start)"), *empty, signed_field(self.bias, 2)])
            legend += (
                f" push: what a member adds to the log odds of {self.prediction} against "
                f"{self.against}; the start is what the pool adds whatever members say, and the "
                "pool has the sum."
            )
        told = "" if self.source is None else f", by the pool that knows {self.source}"
        title = f"The answer is {self.prediction}{told}"
        return TableBlock([Heading("member"), *numbers], rows, title, legend)

    def __str__(self) -> str:
        return text_table(self.as_table())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(self.as_table())


@set_module("ensemblage.pool")
@dataclass(frozen=True)
class NumberVoice:
    """What one member says of a row's number.

    Parameters
    ----------
    member : str
        Its name.
    prediction : float
        Its number.
    spread : float
        Standard deviation that it is known to be off by; what it says itself, where the fusion
        does not learn it.
    weight : float or None
        Its share in the precision of the answer; None where the fusion has no such number.
    push : float or None
        What it adds to the answer, from the mean of the target in training; None where the fusion
        has no such number.
    """

    member: str
    prediction: float
    spread: float
    weight: float | None
    push: float | None


@set_module("ensemblage.pool")
@dataclass(frozen=True)
class NumberDecision:
    """How a pool came to the number that it says of one row.

    Parameters
    ----------
    prediction : float
        The number.
    spread : float
        Its standard deviation.
    start : float
        Mean of the target in training; with all pushes it adds up to the prediction.
    voices : tuple of NumberVoice
        The members, those of most weight first.

    Examples
    --------
    >>> from ensemblage.pool import NumberDecision, NumberVoice
    >>> ridge = NumberVoice("ridge", 3.5, 0.4, 1.0, 0.5)
    >>> NumberDecision(3.5, 0.4, 3.0, (ridge,)).voices[0].push
    0.5
    """

    prediction: float
    spread: float
    start: float
    voices: tuple[NumberVoice, ...]

    def as_table(self) -> TableBlock:
        """Give the table as plain values.

        Returns
        -------
        TableBlock
            The pool, then a line per member.
        """
        columns = [Heading(name, numeric=True) for name in ("number", "spread", "weight", "push")]
        pool = NumberVoice("pool", self.prediction, self.spread, 1.0, None)
        rows = [_number_row(each) for each in (pool, *self.voices)]
        legend = (
            "spread: standard deviation. push: what a member adds to the answer, from the mean "
            f"of the target in training, {write_number(self.start)}."
        )
        title = f"The answer is {write_number(self.prediction, 6)}"
        return TableBlock([Heading("member"), *columns], rows, title, legend)

    def __str__(self) -> str:
        return text_table(self.as_table())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(self.as_table())


def _number_row(voice: NumberVoice) -> list[Field]:
    push = NOTHING if voice.push is None else Field(_signed(voice.push), voice.push)
    told = [
        Field(write_number(each, digits), each)
        for each, digits in ((voice.prediction, 6), (voice.spread, 4))
    ]
    return [Field(voice.member), *told, share_field(voice.weight), push]


def _signed(value: float) -> str:
    return write_number(value) if value < 0 else f"+{write_number(value)}"


def hear_number(names: list[str], outputs: Doubles, fusion: Fusion, start: float) -> NumberDecision:
    """Take the pool's answer about one row apart; ``outputs`` are (n_members, 1, 2)."""
    mean, variance = fusion.combine(outputs)[0]
    means, variances = outputs[:, 0].T
    if isinstance(fusion, LogLinearPool):
        variances = variances * fusion.variance_factors_[:, -1]
    weights = fusion.row_weights(outputs)
    shares: list[float | None] = [None] * len(names) if weights is None else weights[0].tolist()
    # stacking has shares, too, but they do not make its answer
    adds_up = weights is not None and bool(np.isclose(weights[0] @ means, mean))
    voices = [
        NumberVoice(
            name,
            float(means[k]),
            float(np.sqrt(variances[k])),
            share,
            float(share * (means[k] - start)) if share is not None and adds_up else None,
        )
        for k, (name, share) in enumerate(zip(names, shares, strict=True))
    ]
    voices.sort(key=lambda each: -(each.weight or 0.0))
    return NumberDecision(float(mean), float(np.sqrt(variance)), start, tuple(voices))


def _values(voice: Voice) -> tuple[str, tuple[float, ...], float | None, float | None]:
    return voice.member, voice.probabilities, voice.weight, voice.push


def _row(
    name: str, probabilities: tuple[float, ...], weight: float | None, push: float | None
) -> list[Field]:
    pushed = NOTHING if push is None else signed_field(push, 2)
    return [Field(name), *map(share_field, probabilities), share_field(weight), pushed]


def hear(
    names: list[str], outputs: Doubles, fusion: Fusion, classes: Any, offsets: Doubles | None = None
) -> PoolDecision:
    """Take the pool's answer about one row apart; ``outputs`` are (n_members, 1, n_classes).

    ``offsets`` of the classes are added to the pool's log probabilities.
    """
    fused = fusion.combine(outputs)[0]
    if offsets is not None:
        fused = softmax(np.log(np.maximum(fused, PROBABILITY_FLOOR)) + offsets)
    second, first = np.argsort(fused, kind="stable")[-2:]
    shares = fusion.member_weights(len(names))
    said, pushes, bias = outputs[:, 0], None, None
    if isinstance(fusion, LogLinearPool):
        logs = fusion.calibrated_log_proba(outputs)[:, 0]
        said = np.exp(logs)
        pushes = fusion.weights_ * (logs[:, first] - logs[:, second]) / fusion.temperature_
        bias = float((fusion.biases_[first] - fusion.biases_[second]) / fusion.temperature_)
        bias += 0.0 if offsets is None else float(offsets[first] - offsets[second])
    voices = [
        Voice(
            name,
            tuple(said[k].tolist()),
            None if shares is None else float(shares[k]),
            None if pushes is None else float(pushes[k]),
        )
        for k, name in enumerate(names)
    ]
    voices.sort(key=lambda each: -abs(each.push or 0.0))
    labels = tuple(np.asarray(classes).tolist())
    return PoolDecision(
        labels[first], labels[second], labels, tuple(fused.tolist()), tuple(voices), bias
    )
