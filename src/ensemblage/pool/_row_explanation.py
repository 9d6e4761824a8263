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
    set_module,
    share_field,
    signed_field,
    write_number,
)
from ensemblage.fusion import Fusion, LogLinearPool
from ensemblage.pool._leaderboard import PrintedTable

Doubles = NDArray[np.float64]


@set_module("ensemblage.pool")
@dataclass(frozen=True)
class MemberContribution:
    """One member's prediction of a row; probabilities of classes, or a number and its std."""

    member: str
    weight: float | None
    contribution: float | None
    probabilities: tuple[float, ...] = ()
    prediction: float | None = None
    std: float | None = None


@set_module("ensemblage.pool")
@dataclass(frozen=True, repr=False)
class RowExplanation(PrintedTable):
    """How a pool came to its prediction of one row; prints as a table.

    Parameters
    ----------
    prediction : object
        The class, or the number.
    members : tuple of MemberContribution
        The members, those that contribute most first. Each has the fields ``member`` (its name),
        ``weight`` (share of its influence on the pool, or of the precision of the prediction; None
        where the fusion has no such number), ``contribution`` (what it adds to the log odds of the
        prediction against the runner-up, or to the predicted number; None where the fusion has no
        such number) and what it predicts itself: ``probabilities`` of the classes, or
        ``prediction`` and ``std``, its standard deviation.
    baseline : float or None
        What is there without any member: class biases in log odds, or the mean of the target in
        training. With all contributions it adds up to the pool's log odds, or to the prediction.
    runner_up : object, default=None
        The class that comes next.
    classes : tuple, default=()
        All classes; empty for a numeric target.
    probabilities : tuple of float, default=()
        Of the classes, in their order.
    std : float, default=None
        Standard deviation of a predicted number.
    source : object, default=None
        The row's source, if the pool that answered knows it.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from ensemblage.pool import EnsemblageClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = EnsemblageClassifier(["logistic"], cv=3, random_state=0).fit(X, y)
    >>> [each.member for each in model.explain_row(X[0]).members]
    ['logistic']
    """

    prediction: Any
    members: tuple[MemberContribution, ...]
    baseline: float | None
    runner_up: Any = None
    classes: tuple[Any, ...] = ()
    probabilities: tuple[float, ...] = ()
    std: float | None = None
    source: Any = None

    @property
    def log_odds(self) -> float | None:  # numpydoc ignore=RT01
        """Log odds of the predicted class against the runner-up; None without contributions."""
        if self.baseline is None or not self.classes:
            return None
        return self.baseline + sum(each.contribution or 0.0 for each in self.members)

    def as_table(self) -> TableBlock:
        """Give the table as plain values.

        Returns
        -------
        TableBlock
            The pool, then a line per member; contributions add up to the pool's.
        """
        return self._class_table() if self.classes else self._numeric_table()

    def _class_table(self) -> TableBlock:
        heads = [*map(str, self.classes), "weight", "contribution"]
        pool = MemberContribution("pool", 1.0, self.log_odds, self.probabilities)
        rows = [
            [
                Field(each.member),
                *map(share_field, each.probabilities),
                share_field(each.weight),
                NOTHING if each.contribution is None else signed_field(each.contribution, 2),
            ]
            for each in (pool, *self.members)
        ]
        legend = "Probabilities of the classes."
        if self.baseline is not None:
            empty = [Field("")] * (len(self.classes) + 1)
            rows.append([Field("(baseline)"), *empty, signed_field(self.baseline, 2)])
            legend += (
                f" contribution: what a member adds to the log odds of {self.prediction} against "
                f"{self.runner_up}; the baseline is what the pool adds without any member, and the "
                "pool has the sum."
            )
        known = "" if self.source is None else f", by the pool that knows {self.source}"
        return _table(heads, rows, f"The prediction is {self.prediction}{known}", legend)

    def _numeric_table(self) -> TableBlock:
        pool = MemberContribution("pool", 1.0, None, prediction=self.prediction, std=self.std)
        rows = []
        for each in (pool, *self.members):
            added = NOTHING
            if each.contribution is not None:
                sign = "" if each.contribution < 0 else "+"
                added = Field(f"{sign}{write_number(each.contribution)}", each.contribution)
            numbers = [
                Field(write_number(value, digits), value)
                for value, digits in ((each.prediction or 0.0, 6), (each.std or 0.0, 4))
            ]
            rows.append([Field(each.member), *numbers, share_field(each.weight), added])
        legend = (
            "std: standard deviation. contribution: what a member adds to the prediction, from the "
            f"mean of the target in training, {write_number(self.baseline or 0.0)}."
        )
        title = f"The prediction is {write_number(self.prediction, 6)}"
        return _table(["prediction", "std", "weight", "contribution"], rows, title, legend)


def _table(heads: list[str], rows: list[list[Field]], title: str, legend: str) -> TableBlock:
    columns = [Heading("member"), *(Heading(head, numeric=True) for head in heads)]
    return TableBlock(columns, rows, title, legend)


def explain_class(
    names: list[str], outputs: Doubles, fusion: Fusion, classes: Any, offsets: Doubles | None = None
) -> RowExplanation:
    """Explain the pool's prediction of one row; ``outputs`` are (n_members, 1, n_classes).

    ``offsets`` of the classes are added to the pool's log probabilities.
    """
    fused = fusion.combine(outputs)[0]
    if offsets is not None:
        fused = softmax(np.log(np.maximum(fused, PROBABILITY_FLOOR)) + offsets)
    second, first = np.argsort(fused, kind="stable")[-2:]
    weights = fusion.member_weights(len(names))
    proba, contributions, baseline = outputs[:, 0], None, None
    if isinstance(fusion, LogLinearPool):
        logs = fusion.calibrated_log_proba(outputs)[:, 0]
        proba = np.exp(logs)
        contributions = fusion.weights_ * (logs[:, first] - logs[:, second]) / fusion.temperature_
        baseline = float((fusion.biases_[first] - fusion.biases_[second]) / fusion.temperature_)
        baseline += 0.0 if offsets is None else float(offsets[first] - offsets[second])
    members = [
        MemberContribution(
            name,
            None if weights is None else float(weights[k]),
            None if contributions is None else float(contributions[k]),
            tuple(proba[k].tolist()),
        )
        for k, name in enumerate(names)
    ]
    members.sort(key=lambda each: -abs(each.contribution or 0.0))
    labels = tuple(np.asarray(classes).tolist())
    return RowExplanation(
        labels[first], tuple(members), baseline, labels[second], labels, tuple(fused.tolist())
    )


def explain_number(
    names: list[str], outputs: Doubles, fusion: Fusion, target_mean: float
) -> RowExplanation:
    """Explain the pool's prediction of one row; ``outputs`` are (n_members, 1, 2)."""
    mean, variance = fusion.combine(outputs)[0]
    means, variances = outputs[:, 0].T
    if isinstance(fusion, LogLinearPool):
        variances = variances * fusion.variance_factors_[:, -1]
    weights = fusion.row_weights(outputs)
    shares: list[float | None] = [None] * len(names) if weights is None else weights[0].tolist()
    # stacking has weights, too, but they do not add up to its prediction
    adds_up = weights is not None and bool(np.isclose(weights[0] @ means, mean))
    members = [
        MemberContribution(
            name,
            share,
            float(share * (means[k] - target_mean)) if share is not None and adds_up else None,
            prediction=float(means[k]),
            std=float(np.sqrt(variances[k])),
        )
        for k, (name, share) in enumerate(zip(names, shares, strict=True))
    ]
    members.sort(key=lambda each: -(each.weight or 0.0))
    return RowExplanation(float(mean), tuple(members), target_mean, std=float(np.sqrt(variance)))
