"""Documents that commands write as JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from inspect import formatannotation
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar, cast, get_type_hints

from msgspec import Meta, Struct, defstruct
from msgspec.structs import asdict, fields, force_setattr

from ensemblage.datasets import DataSummary
from ensemblage.evaluation import DECIDING, MEASURES, TASKS, Measure, SourceResiduals, TaskName

if TYPE_CHECKING:
    from ensemblage.studies._experiment import CellResult


Count = Annotated[int, Meta(ge=0)]
NotNegative = Annotated[float, Meta(ge=0)]

Class = TypeVar("Class", bound=type[Struct])


def documented(document: Class) -> Class:
    """Word each field once: its description in the JSON Schema is its line in the docstring."""
    lines = [str(document.__doc__), "", "Parameters", "----------"]
    types = get_type_hints(document)
    for field in fields(document):
        kind = re.sub(r"\w+\.", "", formatannotation(types[field.name]))
        notes = [note for note in getattr(field.type, "__metadata__", ()) if note.description]
        lines += [f"{field.name} : {kind}", *(f"    {note.description}" for note in notes)]
    document.__doc__ = "\n".join([*lines, ""])
    return document


def with_measures(*, per_fold: bool) -> Callable[[Class], Class]:
    """Add a field per measure of the registry, null or empty where there is no value."""
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
        said = f"{measure.definition} Per fold; null where it failed{lacking}."
        return Annotated[tuple[value | None, ...], Meta(description=said)]
    said = f"{measure.definition} Mean over the folds; null if all failed{lacking}."
    return Annotated[value | None, Meta(description=said)]


@documented
class ResultRow(Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of a result table: what the paper printed, and what we measured."""

    row: Annotated[str, Meta(description="Where it stands: usually a dataset.")]
    column: Annotated[str, Meta(description="Usually a method.")]
    paper: Annotated[float | None, Meta(description="The paper's value; null if it gives none.")]
    ours: Annotated[
        float | None, Meta(description="Our mean; null if every repeat failed or none has run.")
    ]
    standard_error: Annotated[
        NotNegative | None, Meta(description="Of our mean; null with fewer than two repeats.")
    ]
    repeats: Annotated[Count, Meta(description="How many values the mean is of.")]
    failures: Annotated[Count, Meta(description="Repeats that failed.")] = 0
    note: Annotated[
        str, Meta(description="Why the two differ or cannot be compared; may be empty.")
    ] = ""
    comparable: Annotated[
        bool,
        Meta(
            description="Whether the difference means anything: "
            "false for a stand-in for the paper's data."
        ),
    ] = True
    is_mean: Annotated[
        bool,
        Meta(description="Whether it is of a row of means over other rows, not of a dataset."),
    ] = False

    difference: Annotated[
        float | None,
        Meta(
            description="Ours less the paper's; null where one is missing or they cannot be "
            "compared."
        ),
    ] = None

    def __post_init__(self) -> None:
        """Compute the difference."""
        known = self.paper is not None and self.ours is not None and self.comparable
        force_setattr(self, "difference", self.ours - self.paper if known else None)  # type: ignore[operator]


@documented
class ResultTable(Struct, frozen=True, forbid_unknown_fields=True):
    """An experiment's outcome, ready to be printed or drawn."""

    name: Annotated[str, Meta(description="The experiment.")]
    title: Annotated[str, Meta(description="What it shows.")]
    measure: Annotated[
        str, Meta(description='What the numbers are, with their unit, such as "accuracy (%)".')
    ]
    rows: Annotated[
        Sequence[ResultRow], Meta(description="The entries, in the order in which to read them.")
    ]
    summary: Annotated[
        Sequence[str], Meta(description="What the table shows, a sentence each.")
    ] = ()
    notes: Annotated[
        Sequence[str], Meta(description="Known deviations from the paper, and what is missing.")
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
            description="Whether ranks of the columns mean something: they are methods, and rows "
            "are independent datasets."
        ),
    ] = True


class CellCounts(Struct, frozen=True, forbid_unknown_fields=True):
    """How far a run is."""

    total: Annotated[Count, Meta(description="Cells to compute.")]
    done: Annotated[Count, Meta(description="Cells that have a result, failed ones too.")]
    failed: Annotated[Count, Meta(description="Cells that failed.")]

    @classmethod
    def of(cls, results: Sequence[CellResult], total: int) -> CellCounts:
        """Count results among so many cells."""
        return cls(total, len(results), sum(bool(each.error) for each in results))


class RunDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``run`` and ``reproduce`` print with ``--json``, and what their page shows."""

    experiment: Annotated[str, Meta(description="Its name.")]
    title: Annotated[str, Meta(description="What it shows.")]
    scale: Annotated[
        str,
        Meta(
            description="How much of a paper's table was asked for: quick, standard or full; "
            "declared for an experiment of the user's own, whose file says how much."
        ),
    ]
    seed: Annotated[Count, Meta(description="The seed.")]
    cells: CellCounts
    tables: list[ResultTable]
    results: Annotated[str | None, Meta(description="The SQLite file with the cells.")]
    report: Annotated[str | None, Meta(description="The HTML report; null if none was asked for.")]
    finished: Annotated[bool, Meta(description="Whether all cells have a result.")]
    data: Annotated[
        tuple[DataSummary, ...],
        Meta(description="What the datasets hold; empty for a paper's table."),
    ] = ()


Share = Annotated[float, Meta(ge=0, le=1)]
if TYPE_CHECKING:
    MeasureName: TypeAlias = str
else:
    MeasureName = Literal[tuple(DECIDING)]


class MeanScores(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Gives means of measures by their names."""

    def __getitem__(self, measure: str) -> float | None:
        """Give the mean of a measure."""
        value: float | None = getattr(self, measure)
        return value


@documented
@with_measures(per_fold=False)
class SummaryRow(MeanScores, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A method's means over the folds; measures of classes are null for numbers, and inversely."""

    method: Annotated[str, Meta(description="Its name.")]
    label: Annotated[str, Meta(description="What tables call it.")]
    ours: Annotated[bool, Meta(description="Whether it is a method of this library.")]
    score: Annotated[
        float | None,
        Meta(description="Mean of the comparison's measure; null if it has none on any fold."),
    ]
    score_se: Annotated[
        NotNegative | None,
        Meta(description="Standard error of the mean, corrected for the overlap of the folds."),
    ]
    accuracy_se: Annotated[
        NotNegative | None, Meta(description="Standard error of the accuracy, corrected alike.")
    ]
    mean_rank: Annotated[
        Annotated[float, Meta(ge=1)] | None,
        Meta(description="Mean rank by the measure, 1 for the best."),
    ]
    seconds: Annotated[
        NotNegative | None, Meta(description="Per fold, to fit and to predict, on one core.")
    ]
    failed_folds: Annotated[Count, Meta(description="Folds on which it failed.")]


@documented
@with_measures(per_fold=True)
class MethodScores(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one method reached, fold by fold; empty are measures of what is not predicted."""

    name: Annotated[str, Meta(description="Its name.")]
    label: Annotated[str, Meta(description="What tables call it.")]
    ours: Annotated[bool, Meta(description="Whether it is a method of this library.")]
    effort: Annotated[
        Count, Meta(description="How much there is to fit and to read, 0 for nothing.")
    ]
    seconds: Annotated[
        tuple[NotNegative | None, ...], Meta(description="Per fold; null where it failed.")
    ]
    ranks: Annotated[
        tuple[Annotated[float, Meta(ge=1)], ...],
        Meta(description="Per fold, 1 for the best by the measure, ties averaged."),
    ]
    failures: Annotated[dict[int, str], Meta(description="Error texts, by the number of the fold.")]
    warnings: Annotated[
        dict[str, int], Meta(description="What fits warned of, and on how many folds.")
    ]

    @property
    def n_folds(self) -> int:  # numpydoc ignore=RT01
        """Folds on which it was fitted, failed ones too."""
        return len(self.seconds)

    def __getitem__(self, measure: str) -> tuple[float | None, ...]:
        """Give the values of a measure, fold by fold."""
        values: tuple[float | None, ...] = getattr(self, measure)
        return values


@documented
class Choice(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The method to take."""

    method: Annotated[str, Meta(description="Its name.")]
    label: Annotated[str, Meta(description="What tables call it.")]
    measure: Annotated[MeasureName, Meta(description="The measure that decided.")]
    score: Annotated[float, Meta(description="Its mean by the measure.")]
    leader: Annotated[
        str,
        Meta(
            description="The method of the best mean; another one, if the choice is the simpler of "
            "two that cannot be told apart."
        ),
    ]
    clear: Annotated[
        bool, Meta(description="Whether a paired test tells the leader from every other method.")
    ]
    not_told_apart: Annotated[
        tuple[str, ...],
        Meta(
            description="Methods that the test, corrected for the number of methods, does not tell "
            "from the leader."
        ),
    ]
    sentence: Annotated[str, Meta(description="All that in plain words.")]
    detail: Annotated[str, Meta(description="The figures behind it.")]


@documented
class Residuals(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one method's predicted numbers miss on rows that it has not seen."""

    method: Annotated[str, Meta(description="The method: the one to take, or the best.")]
    label: Annotated[str, Meta(description="What tables call it.")]
    numbers: Annotated[
        tuple[float, ...],
        Meta(description="Numbers of some rows, in equal steps if there are many."),
    ]
    predicted: Annotated[
        tuple[float, ...], Meta(description="What the method, not fitted on the row, predicts.")
    ]
    intervals: Annotated[
        tuple[tuple[float, float], ...] | None,
        Meta(description="Intervals that should hold 90 % of the numbers; null if it gives none."),
    ]
    row_sources: Annotated[
        tuple[str, ...] | None, Meta(description="Where the rows come from; null if not known.")
    ]
    sources: Annotated[
        tuple[SourceResiduals, ...], Meta(description="The same rows, source by source.")
    ]


@documented
class Comparison(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Scores of several methods on the same folds of one dataset, and what they show."""

    dataset: Annotated[str, Meta(description="Name of the data.")]
    n_rows: Annotated[Count, Meta(description="Rows.")]
    n_features: Annotated[Count, Meta(description="Columns but the target.")]
    n_classes: Annotated[
        Annotated[int, Meta(ge=2)] | None,
        Meta(description="Classes; null if numbers are predicted."),
    ]
    n_splits: Annotated[int, Meta(ge=2, description="Folds per repeat.")]
    n_repeats: Annotated[int, Meta(ge=1, description="How often the folds were drawn.")]
    seed: Annotated[Count, Meta(description="The seed.")]
    notes: Annotated[
        tuple[str, ...], Meta(description="What to know about the data and what was left out.")
    ]
    quick: Annotated[bool, Meta(description="Whether rows could be left out to save time.")] = False
    finished: Annotated[
        bool,
        Meta(
            description="Whether every fold was computed; if not, the scores are of the folds that "
            "every method has."
        ),
    ] = True
    measure: Annotated[
        MeasureName,
        Meta(
            description="What decides order, ranks, tests and choice; of log_loss, rmse, mae and "
            "log_score less is better."
        ),
    ]
    summary: Annotated[
        tuple[SummaryRow, ...],
        Meta(description="One row per method, the best by the measure first."),
    ]
    verdict: Annotated[str, Meta(description="In one sentence, which method to take, and why.")]
    choice: Annotated[
        Choice | None,
        Meta(description="The method to take; null if fewer than two have a score on every fold."),
    ]
    methods: Annotated[
        tuple[MethodScores, ...],
        Meta(description="Every score of every fold, methods in the order asked for."),
    ]
    data: Annotated[DataSummary | None, Meta(description="What the data hold.")] = None
    task: Annotated[TaskName, Meta(description="Whether classes or numbers are predicted.")] = (
        "classification"
    )
    residuals: Annotated[
        Residuals | None,
        Meta(description="What predicted numbers miss; null if classes are predicted."),
    ] = None

    def rows(self) -> list[dict[str, Any]]:
        """Give the table as plain rows, which any frame takes.

        Returns
        -------
        list of dict
            Per method, the best first, the fields of ``summary`` by name, without measures of
            what is not predicted.
        """
        foreign = MEASURES.keys() - TASKS[self.task].measures.keys()
        foreign |= {f"{name}_se" for name in foreign}
        return [
            {name: value for name, value in asdict(row).items() if name not in foreign}
            for row in self.summary
        ]

    def __repr__(self) -> str:
        """Show the table and what it says."""
        from ensemblage.studies._compare import comparison_text  # noqa: PLC0415  in turn

        return comparison_text(self)

    def _repr_html_(self) -> str:
        from ensemblage.studies._compare import comparison_html  # noqa: PLC0415  in turn

        return comparison_html(self)


@with_measures(per_fold=False)
class TrainingDocument(MeanScores, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``fit`` prints with ``--json``, and what is kept with the model."""

    dataset: Annotated[str, Meta(description="Name of the data.")]
    method: Annotated[str, Meta(description="The method fitted.")]
    n_rows: Annotated[Count, Meta(description="Rows that it was fitted on.")]
    classes: Annotated[
        dict[str, Count], Meta(description="Rows of each class; empty if numbers are predicted.")
    ]
    folds: Annotated[int, Meta(ge=2, description="Folds behind the scores.")]
    accuracy_se: Annotated[
        NotNegative | None,
        Meta(
            description="Standard error of the accuracy, corrected for the overlap of the folds; "
            "null with fewer than two."
        ),
    ]
    learned: Annotated[
        tuple[str, ...], Meta(description="What the model learned, a sentence each.")
    ]
    notes: Annotated[tuple[str, ...], Meta(description="What to know about the data.")]
    data: Annotated[DataSummary | None, Meta(description="What the data hold.")] = None
    task: Annotated[TaskName, Meta(description="Whether classes or numbers are predicted.")] = (
        "classification"
    )
    rmse_se: Annotated[
        NotNegative | None, Meta(description="Standard error of the RMSE, as that of the accuracy.")
    ] = None
    deviation: Annotated[
        NotNegative | None,
        Meta(
            description="Standard deviation of the numbers, what always predicting their mean "
            "would miss; null if classes are predicted."
        ),
    ] = None
    model: Annotated[
        str | None, Meta(description="Where the model was saved; null in the model's own file.")
    ] = None


class PredictionDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``predict`` prints with ``--json``."""

    classes: Annotated[
        tuple[str, ...],
        Meta(
            description="The model's classes, in the order of the probabilities; empty if it "
            "predicts numbers."
        ),
    ]
    predictions: Annotated[
        list[str | float], Meta(description="The predicted class or number of each row.")
    ]
    probabilities: Annotated[
        list[list[Share]] | None,
        Meta(description="Per row the probability of each class; null if the model gives none."),
    ]
    output: Annotated[
        str | None,
        Meta(description="Where the predictions were written; null if nowhere."),
    ]
    kept: Annotated[
        dict[str, list[str | None]],
        Meta(description="Columns of the new rows that were asked for; null where missing."),
    ]
    notes: Annotated[
        tuple[str, ...],
        Meta(description="How the rows were read, and what in them was new to the model."),
    ]
    spread: Annotated[
        list[NotNegative] | None,
        Meta(
            description="Per row the standard deviation of a predicted number; null if the model "
            "gives none."
        ),
    ] = None
    intervals: Annotated[
        list[tuple[float, float]] | None,
        Meta(
            description="Per row an interval that should hold the number in 90 % of the rows; null "
            "if the model gives none."
        ),
    ] = None


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
