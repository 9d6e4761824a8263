"""Contributions of members to the prediction of one row."""

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
    """One member's prediction of a row: class probabilities, or mean and standard deviation."""

    member: str
    weight: float | None
    contribution: float | None
    probabilities: tuple[float, ...] = ()
    prediction: float | None = None
    std: float | None = None


@set_module("ensemblage.pool")
@dataclass(frozen=True, repr=False)
class RowExplanation(PrintedTable):
    """Explanation of a pool's prediction of one row; prints as a table.

    Parameters
    ----------
    prediction : object
        The predicted class, or value of a numeric target.
    members : tuple of MemberContribution
        The members, the largest contribution first. Each has the fields ``member`` (its name),
        ``weight`` (relative weight in the fusion, or its share of the precision of the prediction;
        None where the fusion has none), ``contribution`` (to the log-odds of the prediction against
        the runner-up, or to the predicted value; None where the fusion is not additive) and its own
        prediction: ``probabilities`` of the classes, or ``prediction`` and ``std``, its standard
        deviation.
    baseline : float or None
        Prediction without any member: class biases in log-odds, or the mean of the training target.
        Baseline and contributions add up to the pool's log-odds, or to the prediction.
    runner_up : object, default=None
        The second most probable class.
    classes : tuple, default=()
        All classes; empty for a numeric target.
    probabilities : tuple of float, default=()
        The pool's class probabilities, in the order of ``classes``.
    std : float, default=None
        Standard deviation of the prediction of a numeric target.
    source : object, default=None
        The row's source, if the source-aware pool predicted it.

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
        """Log-odds of the predicted class against the runner-up; None without contributions."""
        if self.baseline is None or not self.classes:
            return None
        return self.baseline + sum(each.contribution or 0.0 for each in self.members)

    def as_table(self) -> TableBlock:
        """Return the table as plain values.

        Returns
        -------
        TableBlock
            The pool, then a row per member; contributions add up to the pool's.
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
                f" contribution: to the log-odds of {self.prediction} against {self.runner_up}; "
                "the pool has the total, baseline included."
            )
        known = "" if self.source is None else f" (source-aware, source {self.source})"
        return _table(heads, rows, f"The prediction is {self.prediction}{known}", legend)

    def _numeric_table(self) -> TableBlock:
        pool = MemberContribution("pool", 1.0, None, prediction=self.prediction, std=self.std)
        rows = []
        for each in (pool, *self.members):
            added = NOTHING
            if each.contribution is not None:
                sign = "" if each.contribution < 0 else "+"
                added = Field(f"{sign}{write_number(each.contribution)}", each.contribution)
            mean_and_std = [
                Field(write_number(value, digits), value)
                for value, digits in ((each.prediction or 0.0, 6), (each.std or 0.0, 4))
            ]
            rows.append([Field(each.member), *mean_and_std, share_field(each.weight), added])
        legend = (
            "std: standard deviation. contribution: to the prediction, relative to the baseline, "
            f"the mean of the training target, {write_number(self.baseline or 0.0)}."
        )
        title = f"The prediction is {write_number(self.prediction, 6)}"
        return _table(["prediction", "std", "weight", "contribution"], rows, title, legend)


def _table(heads: list[str], rows: list[list[Field]], title: str, legend: str) -> TableBlock:
    columns = [Heading("member"), *(Heading(head, numeric=True) for head in heads)]
    return TableBlock(columns, rows, title, legend)


def explain_classification(
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


def explain_regression(
    names: list[str], outputs: Doubles, fusion: Fusion, target_mean: float
) -> RowExplanation:
    """Explain the pool's prediction of one row; ``outputs`` are (n_members, 1, 2)."""
    mean, variance = fusion.combine(outputs)[0]
    means, variances = outputs[:, 0].T
    if isinstance(fusion, LogLinearPool):
        variances = variances * fusion.variance_factors_[:, -1]
    weights = fusion.row_weights(outputs)
    shares: list[float | None] = [None] * len(names) if weights is None else weights[0].tolist()
    # stacking has weights too, but its prediction is no weighted mean
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
