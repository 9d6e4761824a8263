"""Tasks and the measures by which methods are judged."""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, log10
from typing import Literal, NamedTuple, TypeAlias

TaskName: TypeAlias = Literal["classification", "regression"]

DIGITS = 4
MOST_PLACES = 12


class Measure(NamedTuple):
    """How good predictions are: what it is called, which way is better, how it is written.

    A ``share`` is a mean over rows judged right or wrong. What is ``in_units`` of the target may
    be of any size. One that is not to ``decide`` tells something, but more of it is neither better
    nor worse. It is written with so many ``decimals`` on pages.
    """

    label: str
    heading: str
    greater_is_better: bool
    share: bool = False
    in_units: bool = False
    decides: bool = True
    decimals: int = 4

    def places(self, value: float, decimals: int = 3) -> int:
        """Tell how many decimals to write; of what is in units, such that four digits are seen."""
        if not self.in_units:
            return decimals
        return min(max(DIGITS - 1 - floor(log10(abs(value))), 0), MOST_PLACES) if value else 0

    def written(self, value: float, decimals: int = 3) -> str:
        """Write a value."""
        return f"{value:.{self.places(value, decimals)}f}"

    def with_error(self, value: float, error: float | None, decimals: int = 3) -> str:
        """Write a value and its standard error, if there is one."""
        shown = self.written(value, decimals)
        return shown if error is None else f"{shown} ± {error:.{self.places(value, decimals)}f}"


class Task(NamedTuple):
    """A kind of prediction: its name, what is predicted, its measures, the usual one first.

    Some measures need more than predictions: ``beside``, what some methods do not give.
    """

    name: TaskName
    targets: str
    beside: str
    measures: Mapping[str, Measure]

    @property
    def usual(self) -> str:
        """Name of the measure that every fit has."""
        return next(iter(self.measures))

    @property
    def deciding(self) -> list[str]:
        """Names of the measures by which methods can be compared."""
        return [name for name, each in self.measures.items() if each.decides]


CLASSIFICATION = Task(
    "classification",
    "classes",
    "probabilities",
    {
        "accuracy": Measure("accuracy", "accuracy", True, share=True),
        "balanced_accuracy": Measure("balanced accuracy", "balanced", True, share=True),
        "log_loss": Measure("log loss", "log loss", False, decimals=3),
        "auc": Measure("AUC", "AUC", True, share=True),
        "f1": Measure("F1", "F1", True, share=True),
    },
)
REGRESSION = Task(
    "regression",
    "numbers",
    "spread",
    {
        "rmse": Measure("RMSE", "RMSE", False, in_units=True),
        "mae": Measure("MAE", "MAE", False, in_units=True),
        "r2": Measure("R²", "R²", True),
        "log_score": Measure("log score", "log score", False, decimals=3),
        "coverage": Measure("coverage", "covered", True, decides=False, decimals=3),
        "width": Measure("width", "width", False, in_units=True, decides=False),
    },
)
TASKS: Mapping[str, Task] = {each.name: each for each in (CLASSIFICATION, REGRESSION)}
MEASURES = {name: each for task in TASKS.values() for name, each in task.measures.items()}
"""The measures of all tasks by their names."""
