"""Tasks, predictions, and the registry of measures by which methods are judged.

A measure is a function and a row of the registry: comparisons, documents, pages and the command
line iterate over it. NumPy and SciPy are imported where they are used, as ``ensemblage --help``
reads the names.
"""

# ruff: noqa: PLC0415  see above

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from math import floor, log10
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Doubles: TypeAlias = NDArray[np.float64]

TaskName: TypeAlias = Literal["classification", "regression"]
Need: TypeAlias = Literal["y_pred", "probabilities", "scores", "std", "intervals"]

# A probability of zero for the true class would make the log loss infinite.
PROBABILITY_FLOOR = 1e-15
# A standard deviation of zero would make the log score infinite.
STD_FLOOR = 1e-12
# So many standard deviations to each side hold 90 % of a normal distribution.
Z_90 = 1.6448536269514722
# Digits shown of a value in the target's unit, and the most decimals for that.
DIGITS = 4
MOST_PLACES = 12


class Predictions(NamedTuple):
    """What a model predicts for some rows; None is what it does not give.

    ``y_pred`` holds classes or numbers. ``probabilities`` and ``scores`` have the shape
    (n_rows, n_classes); the latter are the probabilities or, without these, the decision
    function. Predicted numbers may have standard deviations and intervals that should hold 90 %
    of the true ones, of shape (n_rows, 2).
    """

    y_pred: NDArray[Any]
    classes: tuple[Any, ...] = ()
    probabilities: Any = None
    scores: Any = None
    std: Any = None
    intervals: Any = None


def model_predictions(
    model: Any,
    X: Any,
    predict_params: Mapping[str, Any] = MappingProxyType({}),
    *,
    class_scores: bool = False,
) -> Predictions:
    """Ask a fitted model for all that it predicts; ``predict_params`` is known beside the rows.

    With ``class_scores`` the model is a classifier, and is asked for its decision function too.
    """
    import numpy as np

    from ensemblage._core import final_step, rows_at_final_step

    if not (class_scores or hasattr(model, "classes_")):
        return _predicted_numbers(model, X, predict_params)
    classes = tuple(np.asarray(getattr(model, "classes_", ())).tolist())
    if not predict_params:
        # a pipeline prepares the rows once, for classes and for probabilities
        model, X = final_step(model), rows_at_final_step(model, X)
    y_pred, scores = np.asarray(model.predict(X, **predict_params)), None
    if hasattr(model, "predict_proba"):
        scores = np.asarray(model.predict_proba(X, **predict_params))
        return Predictions(y_pred, classes, scores, scores)
    if class_scores and hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(X))
        if scores.ndim == 1:  # of two classes scikit-learn gives one column for both
            scores = np.column_stack([-scores, scores])
    return Predictions(y_pred, classes, None, scores)


def _predicted_numbers(model: Any, X: Any, predict_params: Mapping[str, Any]) -> Predictions:
    """Add standard deviations if ``predict`` takes ``return_std``, and intervals.

    A standard deviation of zero, as of a constant prediction, is none; intervals are the model's
    own, by ``predict_interval``, or normal ones.
    """
    import numpy as np

    from ensemblage._core import final_step, rows_at_final_step

    estimator = final_step(model)
    if "return_std" not in signature(estimator.predict).parameters:
        return Predictions(np.ravel(model.predict(X, **predict_params)).astype(float))
    found = model.predict(X, return_std=True, **predict_params)
    y_pred, std = (np.ravel(each).astype(float) for each in found)
    if not (std > 0).all():
        return Predictions(y_pred)
    if hasattr(estimator, "predict_interval"):
        own = estimator.predict_interval(rows_at_final_step(model, X), **predict_params)
        return Predictions(y_pred, std=std, intervals=np.asarray(own, dtype=float))
    half = Z_90 * std
    return Predictions(y_pred, std=std, intervals=np.column_stack([y_pred - half, y_pred + half]))


def accuracy(y: NDArray[Any], predictions: Predictions) -> float:
    return float((predictions.y_pred == y).mean())


def balanced_accuracy(y: NDArray[Any], predictions: Predictions) -> float:
    import numpy as np

    # scikit-learn's own warns if a predicted class does not occur; on a small fold it may.
    y_pred = predictions.y_pred
    return float(np.mean([(y_pred[y == label] == label).mean() for label in np.unique(y)]))


def log_loss(y: NDArray[Any], predictions: Predictions) -> float:
    """Each probability is at least 1e-15; a true class that the model does not know has zero."""
    import numpy as np

    given, true = predictions.probabilities, np.zeros(len(y))
    for j, label in enumerate(predictions.classes):
        true[y == label] = given[y == label, j]
    return float(-np.log(np.clip(true, PROBABILITY_FLOOR, 1.0)).mean())


def auc(y: NDArray[Any], predictions: Predictions) -> float | None:
    """Average the area under the ROC curve of each class against the rest, None for one class.

    For a class with p rows among n it is the share of the p (n - p) pairs of a row of the class
    and another in which the first has the higher score; ties count one half. A class that the
    model does not know has one half.
    """
    import numpy as np
    from scipy.stats import rankdata

    labels = np.unique(y)
    if len(labels) < 2:
        return None
    columns, areas = dict(zip(predictions.classes, predictions.scores.T, strict=True)), []
    for label in labels.tolist():
        positive = y == label
        inside = int(positive.sum())
        if label in columns:
            above = rankdata(columns[label])[positive].sum() - inside * (inside + 1) / 2
            areas.append(float(above / (inside * (len(positive) - inside))))
        else:
            areas.append(0.5)
    return float(np.mean(areas))


def macro_f1(y: NDArray[Any], predictions: Predictions) -> float:
    """Average 2 tp / (2 tp + fp + fn) over the classes that occur or are predicted."""
    import numpy as np

    y_pred = predictions.y_pred
    labels = np.unique(np.concatenate([y, y_pred]))
    both = np.array([((y == label) & (y_pred == label)).sum() for label in labels])
    either = np.array([(y == label).sum() + (y_pred == label).sum() for label in labels])
    return float((2 * both / either).mean())


def rmse(y: Doubles, predictions: Predictions) -> float:
    import numpy as np

    return float(np.sqrt(((y - predictions.y_pred) ** 2).mean()))


def mae(y: Doubles, predictions: Predictions) -> float:
    return float(abs(y - predictions.y_pred).mean())


def r_squared(y: Doubles, predictions: Predictions) -> float:
    """0 if the numbers do not vary."""
    whole = float(((y - y.mean()) ** 2).sum())
    return 1 - float(((y - predictions.y_pred) ** 2).sum()) / whole if whole > 0 else 0.0


def log_score(y: Any, predicted: Any, std: Any) -> float:
    r"""Average the negative log density of numbers under normal predictions; less is better.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        The numbers.
    predicted : array-like of shape (n_rows,)
        Their predicted means.
    std : array-like of shape (n_rows,)
        Their predicted standard deviations; what is below 1e-12 counts as that.

    Returns
    -------
    float
        In nats, per row. It may be negative, and it changes with the unit of the numbers.

    Notes
    -----
    For a prediction :math:`m` with standard deviation :math:`s` it is

    .. math:: \frac12 \log(2\pi s^2) + \frac{(y - m)^2}{2 s^2} .

    Examples
    --------
    >>> from ensemblage.evaluation import log_score
    >>> round(log_score([1.0, 2.0], [1.0, 2.0], [1.0, 1.0]), 4)
    0.9189
    """
    import numpy as np
    from scipy.stats import norm

    numbers, means, deviations = alike_columns(y, predicted, std)
    return float(-np.mean(norm.logpdf(numbers, means, np.maximum(deviations, STD_FLOOR))))


def interval_coverage(y: Any, low: Any, high: Any) -> float:
    """Tell the share of numbers that lie in their intervals, ends included.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        The numbers.
    low, high : array-like of shape (n_rows,)
        Ends of their intervals.

    Returns
    -------
    float
        Between 0 and 1; intervals of 90 % should hold 0.9 of the numbers.

    Examples
    --------
    >>> from ensemblage.evaluation import interval_coverage
    >>> interval_coverage([1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 3.5, 0.0], [1.0, 5.0, 4.0, 5.0])
    0.75
    """
    numbers, lows, highs = alike_columns(y, low, high)
    return float(((lows <= numbers) & (numbers <= highs)).mean())


def alike_columns(*columns: Any) -> tuple[Doubles, ...]:
    """Take columns of finite numbers of one length."""
    import numpy as np

    found = tuple(np.asarray(each, dtype=float) for each in columns)
    if found[0].ndim != 1 or len({each.shape for each in found}) > 1 or not found[0].size:
        shapes = ", ".join(str(each.shape) for each in found)
        raise ValueError(f"One value per row is needed in each, got arrays of shapes {shapes}.")
    if not all(np.isfinite(each).all() for each in found):
        raise ValueError("Numbers and predictions must be finite: leave the others out.")
    return found


def interval_width(y: Doubles, predictions: Predictions) -> float:
    del y
    low, high = predictions.intervals.T
    return float((high - low).mean())


class Measure(NamedTuple):
    """How good predictions are: what it is called, how it is computed, which way is better.

    ``name`` is the key in Python, JSON, TOML and CSV; ``needs`` is the part of the predictions
    without which there is no value. A measure whose ``greater_is_better`` is None describes, and
    never decides. The ``unit`` is "share", a mean over rows judged right or wrong, "nats",
    "target", the unit of what is predicted, or "" for none. Values lie between ``lower`` and
    ``upper`` where there are such bounds, and have so many ``decimals`` on pages.
    """

    name: str
    label: str
    heading: str
    task: TaskName
    function: Callable[[Any, Predictions], float | None]
    definition: str
    needs: Need = "y_pred"
    greater_is_better: bool | None = True
    lower: float | None = 0.0
    upper: float | None = None
    unit: str = ""
    decimals: int = 4

    def places(self, value: float, decimals: int = 3) -> int:
        """Tell how many decimals to write; in the target's unit, such that four digits are seen."""
        if self.unit != "target":
            return decimals
        return min(max(DIGITS - 1 - floor(log10(abs(value))), 0), MOST_PLACES) if value else 0

    def written(self, value: float, decimals: int = 3) -> str:
        """Write a value."""
        return f"{value:.{self.places(value, decimals)}f}"

    def with_error(self, value: float, error: float | None, decimals: int = 3) -> str:
        """Write a value and its standard error, if there is one."""
        shown = self.written(value, decimals)
        return shown if error is None else f"{shown} ± {error:.{self.places(value, decimals)}f}"


MEASURES = {
    measure.name: measure
    for measure in (
        Measure(
            "accuracy", "accuracy", "accuracy", "classification", accuracy,
            "Share of the rows whose class is predicted.", upper=1.0, unit="share",
        ),
        Measure(
            "balanced_accuracy", "balanced accuracy", "balanced", "classification",
            balanced_accuracy, "Mean recall over the classes.", upper=1.0, unit="share",
        ),
        Measure(
            "log_loss", "log loss", "log loss", "classification", log_loss,
            "Mean negative log probability of the true class.", needs="probabilities",
            greater_is_better=False, unit="nats", decimals=3,
        ),
        Measure(
            "auc", "AUC", "AUC", "classification", auc,
            "Area under the ROC curve of each class against the rest, averaged.", needs="scores",
            upper=1.0, unit="share",
        ),
        Measure(
            "f1", "F1", "F1", "classification", macro_f1, "F1 of each class, averaged.",
            upper=1.0, unit="share",
        ),
        Measure(
            "rmse", "RMSE", "RMSE", "regression", rmse, "Root mean squared error.",
            greater_is_better=False, unit="target",
        ),
        Measure(
            "mae", "MAE", "MAE", "regression", mae, "Mean absolute error.",
            greater_is_better=False, unit="target",
        ),
        Measure(
            "r2", "R²", "R²", "regression", r_squared,
            "One less the share of the target's variance that is missed.", lower=None,
        ),
        Measure(
            "log_score", "log score", "log score", "regression",
            lambda y, made: log_score(y, made.y_pred, made.std),
            "Mean negative log density of the target.", needs="std", greater_is_better=False,
            lower=None, unit="nats", decimals=3,
        ),
        Measure(
            "coverage", "coverage", "covered", "regression",
            lambda y, made: interval_coverage(y, *made.intervals.T),
            "Share of the rows whose target is in its interval of 90 %.", needs="intervals",
            greater_is_better=None, upper=1.0, unit="share", decimals=3,
        ),
        Measure(
            "width", "width", "width", "regression", interval_width,
            "Mean width of the intervals of 90 %.", needs="intervals", greater_is_better=None,
            unit="target",
        ),
    )
}  # fmt: skip
"""The measures of all tasks by their names; the first of a task is its usual one."""


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
        return [name for name, each in self.measures.items() if each.greater_is_better is not None]

    def scores(self, y: NDArray[Any], predictions: Predictions) -> dict[str, float | None]:
        """Score predictions by every measure; None where they lack what it needs."""
        return {
            name: None
            if getattr(predictions, each.needs) is None
            else each.function(y, predictions)
            for name, each in self.measures.items()
        }


def _task(name: TaskName, targets: str, beside: str) -> Task:
    return Task(
        name, targets, beside, {key: each for key, each in MEASURES.items() if each.task == name}
    )


CLASSIFICATION = _task("classification", "classes", "probabilities")
REGRESSION = _task("regression", "numbers", "spread")
TASKS: Mapping[str, Task] = {each.name: each for each in (CLASSIFICATION, REGRESSION)}
DECIDING: Sequence[str] = [name for task in TASKS.values() for name in task.deciding]
"""Names of all measures that can decide a comparison."""
