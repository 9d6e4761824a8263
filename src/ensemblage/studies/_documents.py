"""Documents that the commands print as JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from inspect import formatannotation
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar, cast, get_type_hints

from msgspec import Meta, Struct, defstruct
from msgspec.structs import asdict, fields, force_setattr

from ensemblage.datasets import DataSummary
from ensemblage.evaluation import DECIDING, MEASURES, TASKS, Measure, SourceResiduals, TaskName
from ensemblage.sources import MeasureSummary

if TYPE_CHECKING:
    from ensemblage.studies._experiment import CellResult


Count = Annotated[int, Meta(ge=0)]
NotNegative = Annotated[float, Meta(ge=0)]

Class = TypeVar("Class", bound=type[Struct])


def documented(document: Class) -> Class:
    """Build the docstring from the field descriptions of the JSON Schema."""
    lines = [str(document.__doc__), "", "Parameters", "----------"]
    types = get_type_hints(document)
    for field in fields(document):
        kind = re.sub(r"\w+\.", "", formatannotation(types[field.name]))
        notes = [note for note in getattr(field.type, "__metadata__", ()) if note.description]
        lines += [f"{field.name} : {kind}", *(f"    {note.description}" for note in notes)]
    document.__doc__ = "\n".join([*lines, ""])
    return document


def with_measures(*, per_fold: bool) -> Callable[[Class], Class]:
    """Add a field for each registered measure, null or empty where there is no value."""
    names = [
        (each.name, _measure_type(each, per_fold=per_fold), () if per_fold else None)
        for each in MEASURES.values()
    ]

    def extend(document: Class) -> Class:
        made: Any = defstruct(
            document.__name__, names, bases=(document,), module=document.__module__,
            namespace={"__doc__": document.__doc__}, frozen=True, kw_only=True,
            forbid_unknown_fields=True,
        )  # fmt: skip
        return cast(Class, made)

    return extend


def _measure_type(measure: Measure, *, per_fold: bool) -> Any:
    value: Any = float
    if measure.lower is not None or measure.upper is not None:
        value = Annotated[float, Meta(ge=measure.lower, le=measure.upper)]
    lacking = "" if measure.needs == "y_pred" else f" or the model gives no {measure.needs}"
    if per_fold:
        text = f"{measure.definition} Per fold; null where the fit failed{lacking}."
        return Annotated[tuple[value | None, ...], Meta(description=text)]
    text = f"{measure.definition} Mean over the folds; null if all fits failed{lacking}."
    return Annotated[value | None, Meta(description=text)]


@documented
class ResultRow(Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of a result table: the paper's value and ours."""

    row: Annotated[str, Meta(description="Row of the table, usually a dataset.")]
    column: Annotated[str, Meta(description="Column of the table, usually a method.")]
    paper: Annotated[float | None, Meta(description="The paper's value; null if it gives none.")]
    ours: Annotated[
        float | None, Meta(description="Our mean; null if every repeat failed or none has run.")
    ]
    standard_error: Annotated[
        NotNegative | None,
        Meta(description="Standard error of our mean; null with fewer than two repeats."),
    ]
    repeats: Annotated[Count, Meta(description="Number of values in the mean.")]
    failures: Annotated[Count, Meta(description="Repeats that failed.")] = 0
    note: Annotated[
        str, Meta(description="Why the two values differ or cannot be compared; may be empty.")
    ] = ""
    comparable: Annotated[
        bool,
        Meta(
            description="Whether the two values can be compared; "
            "false where generated data replace the paper's."
        ),
    ] = True
    is_mean: Annotated[
        bool,
        Meta(description="Whether the row holds means over other rows, not a dataset."),
    ] = False

    difference: Annotated[
        float | None,
        Meta(
            description="Our mean minus the paper's value; null where one is missing or not "
            "comparable."
        ),
    ] = None

    def __post_init__(self) -> None:
        """Compute the difference."""
        known = self.paper is not None and self.ours is not None and self.comparable
        force_setattr(self, "difference", self.ours - self.paper if known else None)  # type: ignore[operator]


@documented
class ResultTable(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of results of an experiment."""

    name: Annotated[str, Meta(description="The experiment.")]
    title: Annotated[str, Meta(description="Title of the table.")]
    measure: Annotated[str, Meta(description='The measure with its unit, such as "accuracy (%)".')]
    rows: Annotated[Sequence[ResultRow], Meta(description="The entries, in display order.")]
    summary: Annotated[
        Sequence[str], Meta(description="What the table shows, one sentence each.")
    ] = ()
    notes: Annotated[
        Sequence[str], Meta(description="Known deviations from the paper, and missing data.")
    ] = ()
    greater_is_better: Annotated[
        bool | None, Meta(description="Direction of the measure; null if it has none.")
    ] = None
    library: Annotated[
        Sequence[str], Meta(description="Columns that are methods of this library.")
    ] = ()
    ranked: Annotated[
        bool,
        Meta(
            description="Whether columns can be ranked: they are methods, and the rows are "
            "independent datasets."
        ),
    ] = True


class CellCounts(Struct, frozen=True, forbid_unknown_fields=True):
    """Counts of cells of a run."""

    total: Annotated[Count, Meta(description="All cells of the experiment.")]
    done: Annotated[Count, Meta(description="Cells that have a result, including failed ones.")]
    failed: Annotated[Count, Meta(description="Cells that failed.")]

    @classmethod
    def of(cls, results: Sequence[CellResult], total: int) -> CellCounts:
        """Count the results of an experiment with ``total`` cells."""
        return cls(total, len(results), sum(bool(each.error) for each in results))


class RunDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Output of ``run`` and ``reproduce`` with ``--json``, and content of their report."""

    experiment: Annotated[str, Meta(description="Name of the experiment.")]
    title: Annotated[str, Meta(description="Title of the experiment.")]
    scale: Annotated[
        str,
        Meta(
            description="Part of a paper's protocol that was run: quick, standard or full; "
            "declared for an experiment of your own, whose file states it."
        ),
    ]
    seed: Annotated[Count, Meta(description="Random seed.")]
    cells: CellCounts
    tables: list[ResultTable]
    results: Annotated[str | None, Meta(description="The SQLite file with the cells.")]
    report: Annotated[str | None, Meta(description="The HTML report; null without --report.")]
    finished: Annotated[bool, Meta(description="Whether all cells have a result.")]
    data: Annotated[
        tuple[DataSummary, ...],
        Meta(description="Summary of each dataset; empty for a paper's table."),
    ] = ()


Share = Annotated[float, Meta(ge=0, le=1)]
if TYPE_CHECKING:
    MeasureName: TypeAlias = str
else:
    MeasureName = Literal[tuple(DECIDING)]


class MeanScores(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Mean scores by name of the measure."""

    def __getitem__(self, measure: str) -> float | None:
        """Return the mean of a measure."""
        value: float | None = getattr(self, measure)
        return value


@documented
@with_measures(per_fold=False)
class SummaryRow(MeanScores, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A method's mean scores over the folds; measures of the other task are null."""

    method: Annotated[str, Meta(description="Name of the method.")]
    label: Annotated[str, Meta(description="Display name.")]
    ours: Annotated[bool, Meta(description="Whether it is a method of this library.")]
    score: Annotated[
        float | None,
        Meta(description="Mean of the comparison's measure; null if there is none on any fold."),
    ]
    score_se: Annotated[
        NotNegative | None,
        Meta(description="Standard error of the mean, corrected for overlapping training sets."),
    ]
    accuracy_se: Annotated[
        NotNegative | None, Meta(description="Corrected standard error of the accuracy.")
    ]
    mean_rank: Annotated[
        Annotated[float, Meta(ge=1)] | None,
        Meta(description="Mean rank by the measure, 1 for the best."),
    ]
    seconds: Annotated[
        NotNegative | None,
        Meta(description="Mean seconds per fold to fit and predict, on one core."),
    ]
    failed_folds: Annotated[Count, Meta(description="Folds on which the fit failed.")]


@documented
@with_measures(per_fold=True)
class MethodScores(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A method's scores on each fold; measures of the other task are empty."""

    name: Annotated[str, Meta(description="Name of the method.")]
    label: Annotated[str, Meta(description="Display name.")]
    ours: Annotated[bool, Meta(description="Whether it is a method of this library.")]
    complexity: Annotated[
        Count,
        Meta(
            description="0 for a constant prediction, 1 for one small model, 2 for many trees, 3 "
            "for a hyperparameter search or an ensemble of models."
        ),
    ]
    seconds: Annotated[
        tuple[NotNegative | None, ...],
        Meta(description="Seconds per fold to fit and predict; null where the fit failed."),
    ]
    ranks: Annotated[
        tuple[Annotated[float, Meta(ge=1)], ...],
        Meta(description="Per fold, 1 for the best by the measure, ties averaged."),
    ]
    failures: Annotated[dict[int, str], Meta(description="Error messages by fold index.")]
    warnings: Annotated[
        dict[str, int], Meta(description="Warnings of the fits, with the number of folds of each.")
    ]

    @property
    def n_folds(self) -> int:  # numpydoc ignore=RT01
        """Folds on which it was fitted, including failed ones."""
        return len(self.seconds)

    def __getitem__(self, measure: str) -> tuple[float | None, ...]:
        """Return the values of a measure, fold by fold."""
        values: tuple[float | None, ...] = getattr(self, measure)
        return values


@documented
class Choice(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The recommended method."""

    method: Annotated[str, Meta(description="Name of the recommended method.")]
    label: Annotated[str, Meta(description="Display name.")]
    measure: Annotated[MeasureName, Meta(description="The measure of the comparison.")]
    score: Annotated[float, Meta(description="Mean score of the recommended method.")]
    best: Annotated[
        str,
        Meta(
            description="The method with the best mean score; not the recommended one if a simpler "
            "method is not significantly different and within two standard errors."
        ),
    ]
    significant: Annotated[
        bool,
        Meta(
            description="Whether the best method is significantly better than every other: "
            "corrected resampled t-test at 2.5 % with Holm's correction."
        ),
    ]
    not_significantly_different: Annotated[
        tuple[str, ...],
        Meta(description="Methods not significantly different from the best by that test."),
    ]
    sentence: Annotated[str, Meta(description="The recommendation and its reason.")]
    detail: Annotated[
        str, Meta(description="Mean difference to the best or next method, and its test.")
    ]


@documented
class Residuals(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Out-of-fold predictions of a numeric target by one method."""

    method: Annotated[
        str, Meta(description="The recommended method, or the best if none is recommended.")
    ]
    label: Annotated[str, Meta(description="Display name.")]
    observed: Annotated[
        tuple[float, ...],
        Meta(description="Target of the rows; of many rows, an evenly spaced subset."),
    ]
    predicted: Annotated[tuple[float, ...], Meta(description="Out-of-fold predictions.")]
    intervals: Annotated[
        tuple[tuple[float, float], ...] | None,
        Meta(description="90 % prediction intervals; null if the method gives none."),
    ]
    row_sources: Annotated[
        tuple[str, ...] | None, Meta(description="Source of each row; null if not known.")
    ]
    sources: Annotated[
        tuple[SourceResiduals, ...], Meta(description="Residuals of these rows by source.")
    ]


@documented
class Comparison(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Scores of several methods on the same folds of one dataset, with a recommendation."""

    dataset: Annotated[str, Meta(description="Name of the dataset.")]
    n_rows: Annotated[Count, Meta(description="Number of rows.")]
    n_features: Annotated[Count, Meta(description="Number of columns without the target.")]
    n_classes: Annotated[
        Annotated[int, Meta(ge=2)] | None,
        Meta(description="Number of classes; null in regression."),
    ]
    n_splits: Annotated[
        int, Meta(ge=1, description="Folds per repeat, or periods predicted from the past.")
    ]
    n_repeats: Annotated[int, Meta(ge=1, description="Repeats of the cross-validation.")]
    seed: Annotated[Count, Meta(description="Random seed.")]
    notes: Annotated[
        tuple[str, ...], Meta(description="Notes on the data and on what was left out.")
    ]
    quick: Annotated[
        bool, Meta(description="Whether large folds were subsampled to save time.")
    ] = False
    finished: Annotated[
        bool,
        Meta(
            description="Whether every fold was computed; if not, scores are of the folds that "
            "every method has."
        ),
    ] = True
    measure: Annotated[
        MeasureName,
        Meta(
            description="The measure of order, ranks, tests and recommendation; lower is better "
            "for log_loss, rmse, mae and log_score."
        ),
    ]
    summary: Annotated[
        tuple[SummaryRow, ...],
        Meta(description="One row per method, sorted by the measure, best first."),
    ]
    verdict: Annotated[
        str, Meta(description="The recommendation with its reason, in one sentence.")
    ]
    choice: Annotated[
        Choice | None,
        Meta(
            description="The recommended method; null if fewer than two have a score on every fold."
        ),
    ]
    methods: Annotated[
        tuple[MethodScores, ...],
        Meta(description="Scores of every fold, methods in the order given."),
    ]
    data: Annotated[DataSummary | None, Meta(description="Summary of the dataset.")] = None
    task: Annotated[TaskName, Meta(description="Classification or regression.")] = "classification"
    residuals: Annotated[
        Residuals | None,
        Meta(description="Out-of-fold predictions of a numeric target; null in classification."),
    ] = None
    validation: Annotated[
        Literal["cross-validation", "new-sources", "time"],
        Meta(
            description="What is tested: rows of known sources, sources (or groups of rows) that "
            "are not in training, or each period by models of the earlier ones."
        ),
    ] = "cross-validation"
    expected: Annotated[
        dict[str, tuple[MeasureSummary, ...]],
        Meta(
            description="By method, what to expect at a new source, or in the next period: AUC, "
            "O:E ratio (two classes), calibration slope and log loss, or R², RMSE and slope. Empty "
            "by cross-validation, and without methods that failed or give no probabilities."
        ),
    ] = {}

    def rows(self) -> list[dict[str, Any]]:
        """Return the table as a list of dicts, as ``pandas.DataFrame`` takes it.

        Returns
        -------
        list of dict
            Per method, best first: the fields of ``summary`` by name, without measures of the
            other task.
        """
        foreign = MEASURES.keys() - TASKS[self.task].measures.keys()
        foreign |= {f"{name}_se" for name in foreign}
        return [
            {name: value for name, value in asdict(row).items() if name not in foreign}
            for row in self.summary
        ]

    def __repr__(self) -> str:
        """Show the table and the recommendation."""
        from ensemblage.studies._compare import comparison_text  # noqa: PLC0415  circular

        return comparison_text(self)

    def _repr_html_(self) -> str:
        from ensemblage.studies._compare import comparison_html  # noqa: PLC0415  circular

        return comparison_html(self)


@with_measures(per_fold=False)
class TrainingDocument(MeanScores, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Output of ``fit`` with ``--json``; also saved with the model."""

    dataset: Annotated[str, Meta(description="Name of the dataset.")]
    method: Annotated[str, Meta(description="Name of the fitted method.")]
    n_rows: Annotated[Count, Meta(description="Number of training rows.")]
    classes: Annotated[
        dict[str, Count], Meta(description="Number of rows of each class; empty in regression.")
    ]
    folds: Annotated[int, Meta(ge=2, description="Folds of the scores.")]
    accuracy_se: Annotated[
        NotNegative | None,
        Meta(
            description="Standard error of the accuracy, corrected for overlapping training sets; "
            "null with fewer than two folds."
        ),
    ]
    learned: Annotated[
        tuple[str, ...], Meta(description="Summary of the fitted model, one line each.")
    ]
    notes: Annotated[tuple[str, ...], Meta(description="Notes on the data and the scores.")]
    data: Annotated[DataSummary | None, Meta(description="Summary of the dataset.")] = None
    task: Annotated[TaskName, Meta(description="Classification or regression.")] = "classification"
    rmse_se: Annotated[
        NotNegative | None, Meta(description="Corrected standard error of the RMSE.")
    ] = None
    target_std: Annotated[
        NotNegative | None,
        Meta(
            description="Standard deviation of the target, the RMSE of always predicting the mean; "
            "null in classification."
        ),
    ] = None
    model: Annotated[
        str | None, Meta(description="File of the model; null in the saved model itself.")
    ] = None


@documented
class UnknownSources(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rows to predict whose source was not in training."""

    rows: Annotated[
        Count, Meta(description="Rows of an unknown source; they are predicted without a source.")
    ]
    sources: Annotated[
        dict[str, Count], Meta(description="Rows of each unknown source, the most frequent first.")
    ]
    missing: Annotated[Count, Meta(description="Those of these rows that have no source.")]
    inner_rows: Annotated[
        Count,
        Meta(
            description="Of nested sources: rows of a known outer source whose inner source is "
            "unknown; they are predicted as rows of the outer source."
        ),
    ] = 0
    inner_sources: Annotated[
        dict[str, Count],
        Meta(description="Rows of each such pair of sources, as `outer / inner`."),
    ] = {}
    absent_columns: Annotated[
        tuple[str, ...], Meta(description="Columns of sources that the file does not have.")
    ] = ()


class PredictionDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Output of ``predict`` with ``--json``."""

    classes: Annotated[
        tuple[str, ...],
        Meta(
            description="The model's classes, in the order of the probabilities; empty in "
            "regression."
        ),
    ]
    predictions: Annotated[
        list[str | float], Meta(description="The predicted class or value of each row.")
    ]
    probabilities: Annotated[
        list[list[Share]] | None,
        Meta(description="Class probabilities of each row; null if the model gives none."),
    ]
    output: Annotated[
        str | None,
        Meta(description="File with the predictions; null without --output."),
    ]
    kept: Annotated[
        dict[str, list[str | None]],
        Meta(description="Columns named by --keep; null for a missing value."),
    ]
    notes: Annotated[
        tuple[str, ...],
        Meta(description="Notes on how the rows were read, and on unseen values in them."),
    ]
    std: Annotated[
        list[NotNegative] | None,
        Meta(
            description="Standard deviation of each prediction; null in classification, or if the "
            "model gives none."
        ),
    ] = None
    intervals: Annotated[
        list[tuple[float, float]] | None,
        Meta(
            description="90 % prediction interval of each row; null in classification, or if the "
            "model gives none."
        ),
    ] = None
    unknown_sources: Annotated[
        UnknownSources | None,
        Meta(description="Rows of unknown sources; null if the model uses no source."),
    ] = None


@documented
class AdaptationDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Output of ``adapt --json`` and ``recalibrate --json``."""

    rows: Annotated[Count, Meta(description="Number of rows of the new source.")]
    classes: Annotated[
        dict[str, Count],
        Meta(description="Labelled rows of each class; empty in regression."),
    ]
    ways: Annotated[
        tuple[Literal["recalibration", "refit", "normalisation"], ...],
        Meta(description="What was done; empty if nothing helps."),
    ]
    slope: Annotated[
        float, Meta(description="Calibration slope, shrunk by the probability of a change.")
    ]
    intercepts: Annotated[
        dict[str, float] | None,
        Meta(description="Calibration intercept of each class; null in regression."),
    ]
    shift: Annotated[
        float | None, Meta(description="Added to a predicted value; null in classification.")
    ]
    significant: Annotated[
        bool, Meta(description="Whether a change of calibration is significant.")
    ]
    share: Annotated[
        Share | None,
        Meta(description="Share of the change that is made; null after recalibration alone."),
    ]
    summary: Annotated[str, Meta(description="What the rows tell, in words.")]
    notes: Annotated[tuple[str, ...], Meta(description="Notes on the rows.")] = ()
    model: Annotated[str | None, Meta(description="The file of the adapted model.")] = None


class Prototype(Struct, frozen=True, forbid_unknown_fields=True):
    """Prototype of one cluster."""

    cluster: Annotated[Count, Meta(description="Label of the cluster.")]
    rows: Annotated[Count, Meta(description="Number of rows in the cluster.")]
    typical: Annotated[
        dict[str, float | str | None],
        Meta(
            description="Mean of each numeric column or most frequent category of each categorical "
            "column; null if all values are missing."
        ),
    ]


class ClusteringDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Output of ``cluster --json``."""

    method: Annotated[str, Meta(description="The clustering method.")]
    clusters: Annotated[int, Meta(ge=1, description="Number of clusters found.")]
    labels: Annotated[
        list[Count],
        Meta(
            description="Cluster of each row; empty for a file that is read in blocks, whose "
            "labels are only written by --output."
        ),
    ]
    agreement: Annotated[
        list[Share] | None,
        Meta(
            description="Fraction of the views that agree with each row's cluster; null for "
            "consensus methods and for a file that is read in blocks."
        ),
    ]
    prototypes: Annotated[
        list[Prototype], Meta(description="Prototype of each cluster, in the order of the labels.")
    ]
    scores: Annotated[
        dict[str, NotNegative],
        Meta(description="NMI and purity against the target; empty without one."),
    ]
    output: Annotated[
        str | None, Meta(description="CSV file with the labels; null if none was written.")
    ]
    data: Annotated[DataSummary | None, Meta(description="What the data hold.")] = None
    reason: Annotated[
        str | None,
        Meta(description="Why this number of clusters was chosen; null if it was given."),
    ] = None
