"""Tasks, predictions, and the registry of performance measures.

A measure is a function and an entry of the registry: comparisons, JSON documents, HTML pages and
the command line iterate over it. NumPy and SciPy are imported where they are used, since
``ensemblage --help`` lists the names.
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
# Half width of a central 90 % interval of the normal distribution, in standard deviations.
Z_90 = 1.6448536269514722
# Significant digits of a value in the target's unit.
DIGITS = 4
# Maximum number of decimals for that.
MAX_DECIMALS = 12


class Predictions(NamedTuple):
    """Predictions of a model for some rows; None for outputs that it does not provide.

    ``y_pred`` holds classes or values of a numeric target. ``probabilities`` and ``scores`` have
    the shape (n_rows, n_classes); the latter are the probabilities or, without these, the decision
    function. A regression may have standard deviations, ``std``, and 90 % prediction intervals, of
    shape (n_rows, 2).
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
    """Return all predictions of a fitted model; ``predict_params`` are passed to ``predict``.

    With ``class_scores`` the model is a classifier, and its decision function is used too.
    """
    import numpy as np

    from ensemblage._core import final_step, rows_at_final_step

    if not (class_scores or hasattr(model, "classes_")):
        return _regression_predictions(model, X, predict_params)
    classes = tuple(np.asarray(getattr(model, "classes_", ())).tolist())
    if not predict_params:
        # transform the rows once, for classes and for probabilities
        model, X = final_step(model), rows_at_final_step(model, X)
    y_pred, scores = np.asarray(model.predict(X, **predict_params)), None
    if hasattr(model, "predict_proba"):
        scores = np.asarray(model.predict_proba(X, **predict_params))
        return Predictions(y_pred, classes, scores, scores)
    if class_scores and hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(X))
        if scores.ndim == 1:  # scikit-learn returns one column for two classes
            scores = np.column_stack([-scores, scores])
    return Predictions(y_pred, classes, None, scores)


def _regression_predictions(model: Any, X: Any, predict_params: Mapping[str, Any]) -> Predictions:
    """Add standard deviations and intervals if ``predict`` takes ``return_std``.

    A standard deviation of zero, as of a constant prediction, counts as missing. Intervals are the
    model's own, by ``predict_interval``, or normal ones.
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

    # scikit-learn's version warns if a predicted class does not occur, as in small folds
    y_pred = predictions.y_pred
    return float(np.mean([(y_pred[y == label] == label).mean() for label in np.unique(y)]))


def log_loss(y: NDArray[Any], predictions: Predictions) -> float:
    """Probabilities are clipped at 1e-15; a class unseen in training has probability zero."""
    import numpy as np

    given, true = predictions.probabilities, np.zeros(len(y))
    for j, label in enumerate(predictions.classes):
        true[y == label] = given[y == label, j]
    return float(-np.log(np.clip(true, PROBABILITY_FLOOR, 1.0)).mean())


def auc(y: NDArray[Any], predictions: Predictions) -> float | None:
    """Average the area under the ROC curve of each class against the rest, None for one class.

    For a class with p rows among n it is the share of the p (n - p) pairs of a row of the class
    and another in which the first has the higher score; ties count one half. A class unseen in
    training has one half.
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
    """0 for a constant target."""
    total = float(((y - y.mean()) ** 2).sum())
    return 1 - float(((y - predictions.y_pred) ** 2).sum()) / total if total > 0 else 0.0


def log_score(y: Any, predicted: Any, std: Any) -> float:
    r"""Mean negative log density of a numeric target under normal predictions; lower is better.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Target.
    predicted : array-like of shape (n_rows,)
        Predicted means.
    std : array-like of shape (n_rows,)
        Predicted standard deviations, clipped below at 1e-12.

    Returns
    -------
    float
        In nats, per row. It may be negative, and it depends on the unit of the target.

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

    values, means, deviations = check_equal_lengths(y, predicted, std)
    return float(-np.mean(norm.logpdf(values, means, np.maximum(deviations, STD_FLOOR))))


def interval_coverage(y: Any, low: Any, high: Any) -> float:
    """Share of rows whose target lies in its prediction interval, ends included.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Target.
    low, high : array-like of shape (n_rows,)
        Lower and upper ends of the intervals.

    Returns
    -------
    float
        Between 0 and 1; about 0.9 for calibrated 90 % intervals.

    Examples
    --------
    >>> from ensemblage.evaluation import interval_coverage
    >>> interval_coverage([1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 3.5, 0.0], [1.0, 5.0, 4.0, 5.0])
    0.75
    """
    values, lows, highs = check_equal_lengths(y, low, high)
    return float(((lows <= values) & (values <= highs)).mean())


def check_equal_lengths(*columns: Any) -> tuple[Doubles, ...]:
    """Return finite float arrays of equal length, (n_rows,) each."""
    import numpy as np

    found = tuple(np.asarray(each, dtype=float) for each in columns)
    if found[0].ndim != 1 or len({each.shape for each in found}) > 1 or not found[0].size:
        shapes = ", ".join(str(each.shape) for each in found)
        raise ValueError(
            f"Expected one value per row in each array, got arrays of shapes {shapes}."
        )
    if not all(np.isfinite(each).all() for each in found):
        raise ValueError("Target and predictions must be finite: drop the other rows.")
    return found


def interval_width(y: Doubles, predictions: Predictions) -> float:
    del y
    low, high = predictions.intervals.T
    return float((high - low).mean())


class Measure(NamedTuple):
    """A performance measure: names, function, and whether greater is better.

    ``name`` is the key in Python, JSON, TOML and CSV; ``needs`` is the part of the predictions
    that it is computed from. A measure whose ``greater_is_better`` is None is descriptive only. The
    ``unit`` is "share", "nats", "target" (the unit of the target) or "" for none. Values lie
    between ``lower`` and ``upper``, None for no bound, and are shown with ``decimals``. Folds are
    averaged by the mean of this ``power``: the plain mean of the roots of few rows is too small.
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
    power: int = 1

    def mean(self, values: Sequence[float | None]) -> float | None:
        """Average the values of folds that are not None; None if there are none."""
        import numpy as np

        known = [value**self.power for value in values if value is not None]
        return float(np.mean(known) ** (1 / self.power)) if known else None

    def places(self, value: float, decimals: int = 3) -> int:
        """Return the number of decimals; in the target's unit, for four significant digits."""
        if self.unit != "target":
            return decimals
        return min(max(DIGITS - 1 - floor(log10(abs(value))), 0), MAX_DECIMALS) if value else 0

    def written(self, value: float, decimals: int = 3) -> str:
        """Format a value."""
        return f"{value:.{self.places(value, decimals)}f}"

    def with_error(self, value: float, error: float | None, decimals: int = 3) -> str:
        """Format a value and its standard error, if there is one."""
        shown = self.written(value, decimals)
        return shown if error is None else f"{shown} ± {error:.{self.places(value, decimals)}f}"


MEASURES = {
    measure.name: measure
    for measure in (
        Measure(
            "accuracy", "accuracy", "accuracy", "classification", accuracy,
            "Share of rows whose class is predicted correctly.", upper=1.0, unit="share",
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
            greater_is_better=False, unit="target", power=2,
        ),
        Measure(
            "mae", "MAE", "MAE", "regression", mae, "Mean absolute error.",
            greater_is_better=False, unit="target",
        ),
        Measure(
            "r2", "R²", "R²", "regression", r_squared,
            "Coefficient of determination: share of the target's variance explained.", lower=None,
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
            "Share of rows whose target is in its 90 % prediction interval.", needs="intervals",
            greater_is_better=None, upper=1.0, unit="share", decimals=3,
        ),
        Measure(
            "width", "width", "width", "regression", interval_width,
            "Mean width of the 90 % prediction intervals.", needs="intervals",
            greater_is_better=None, unit="target",
        ),
    )
}  # fmt: skip
"""The measures of all tasks by name; the first of a task is its default."""


class Task(NamedTuple):
    """Classification or regression: its name, targets, and measures, the default first.

    ``beside`` are the outputs that some measures need beside the predictions.
    """

    name: TaskName
    targets: str
    beside: str
    measures: Mapping[str, Measure]

    @property
    def usual(self) -> str:
        """Name of the default measure, which every model has."""
        return next(iter(self.measures))

    @property
    def deciding(self) -> list[str]:
        """Names of the measures by which methods are compared."""
        return [name for name, each in self.measures.items() if each.greater_is_better is not None]

    def scores(self, y: NDArray[Any], predictions: Predictions) -> dict[str, float | None]:
        """Score predictions by every measure; None where ``needs`` is missing."""
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
REGRESSION = _task("regression", "numbers", "standard deviations")
TASKS: Mapping[str, Task] = {each.name: each for each in (CLASSIFICATION, REGRESSION)}
DECIDING: Sequence[str] = [name for task in TASKS.values() for name in task.deciding]
"""Names of all measures by which methods are compared."""
