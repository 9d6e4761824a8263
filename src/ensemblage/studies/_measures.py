"""Which measure decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from ensemblage._core import suggestion
from ensemblage.evaluation import MEASURES, REGRESSION, TASKS, Task
from ensemblage.studies._documents import MeasureName, MethodScores

if TYPE_CHECKING:
    from ensemblage.datasets import Dataset


AUTO = "auto"

LABELS = {name: each.label for name, each in MEASURES.items()}
UNEVEN = 1.5
"""Classes are uneven if the largest has more than so many times its share among even ones."""


def check_measure(name: str, task: Task | None = None) -> None:
    """Refuse what is no measure; once the task is known, also those of another."""
    known = [each for one in (TASKS.values() if task is None else [task]) for each in one.deciding]
    if name not in {AUTO, *known}:
        problem = "is not known"
        if name in MEASURES and task is not None:
            problem = f"does not judge predicted {task.targets}"
        raise ValueError(
            f"`measure`={name!r} {problem}.{suggestion(name, known)} It must be one of: "
            f"{', '.join([AUTO, *known])}."
        )


def is_uneven(classes: Mapping[str, int]) -> bool:
    """Tell whether always giving the largest class would look good by accuracy.

    That is so for two classes above 75 % of the rows, for three above 50 %.
    """
    if not classes:
        return False
    return max(classes.values()) * len(classes) > UNEVEN * sum(classes.values())


def measure_for(asked: str, dataset: Dataset, methods: Sequence[MethodScores]) -> MeasureName:
    """Take the measure asked for, or else the one that suits classes or numbers."""
    if asked != AUTO:
        return cast("MeasureName", asked)
    if dataset.task is REGRESSION:
        return "rmse"
    return fitting_measure(dataset.classes, methods)


def fitting_measure(classes: Mapping[str, int], methods: Sequence[MethodScores]) -> MeasureName:
    """Choose accuracy for even classes; for others log loss, if all methods have probabilities.

    Balanced accuracy is for uneven classes where some method gives none.
    """
    if not is_uneven(classes):
        return "accuracy"
    scored = [each for each in methods if any(value is not None for value in each.accuracy)]
    silent = any(value is None for each in scored for value in known_folds(each))
    return "balanced_accuracy" if silent or not scored else "log_loss"


def known_folds(method: MethodScores) -> list[float | None]:
    """Log losses of the folds on which a method did not fail."""
    return [
        loss
        for loss, accuracy in zip(method.log_loss, method.accuracy, strict=True)
        if accuracy is not None
    ]


def values_of(method: MethodScores, measure: str) -> tuple[float | None, ...]:
    """Read a method's scores on the folds."""
    values: tuple[float | None, ...] = getattr(method, measure)
    return values


def gains(values: Sequence[float | None], measure: str) -> list[float]:
    """Turn values such that more is better; NaN for those that are not there."""
    sign = 1.0 if MEASURES[measure].greater_is_better else -1.0
    return [float("nan") if value is None else sign * value for value in values]
