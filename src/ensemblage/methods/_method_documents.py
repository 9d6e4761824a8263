"""What the methods tell: the typed values behind ``--json`` and the pages of a report."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import asdict

from ensemblage.datasets import DataCard
from ensemblage.runs import documented

Count = Annotated[int, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
NotNegative = Annotated[float, Meta(ge=0)]
MeasureName = Literal["accuracy", "balanced_accuracy", "log_loss", "auc", "f1"]


@documented
class SummaryRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A method's means over the folds."""

    method: Annotated[str, Meta(description="Its name.")]
    label: Annotated[str, Meta(description="What tables call it.")]
    ours: Annotated[bool, Meta(description="Whether it is a method of this library.")]
    score: Annotated[
        NotNegative | None,
        Meta(description="Mean of the comparison's measure; null if it has none on any fold."),
    ]
    score_se: Annotated[
        NotNegative | None,
        Meta(description="Standard error of the mean, corrected for the overlap of the folds."),
    ]
    accuracy: Annotated[Share | None, Meta(description="Mean over the folds; null if all failed.")]
    accuracy_se: Annotated[
        NotNegative | None, Meta(description="Standard error of the accuracy, corrected alike.")
    ]
    balanced_accuracy: Annotated[Share | None, Meta(description="Mean recall over the classes.")]
    log_loss: Annotated[
        NotNegative | None,
        Meta(
            description="Mean negative log probability of the true class; null without "
            "probabilities."
        ),
    ]
    auc: Annotated[
        Share | None,
        Meta(description="Mean area under the ROC curve, each class against the rest."),
    ]
    f1: Annotated[Share | None, Meta(description="Mean F1 over the classes.")]
    mean_rank: Annotated[
        Annotated[float, Meta(ge=1)] | None,
        Meta(description="Mean rank by the measure, 1 for the best."),
    ]
    seconds: Annotated[
        NotNegative | None, Meta(description="Per fold, to fit and to predict, on one core.")
    ]
    failed_folds: Annotated[Count, Meta(description="Folds on which it failed.")]


@documented
class MethodScores(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one method reached, fold by fold."""

    name: Annotated[str, Meta(description="Its name.")]
    label: Annotated[str, Meta(description="What tables call it.")]
    ours: Annotated[bool, Meta(description="Whether it is a method of this library.")]
    effort: Annotated[
        Count, Meta(description="How much there is to fit and to read, 0 for nothing.")
    ]
    accuracy: Annotated[
        tuple[Share | None, ...], Meta(description="Per fold; null where it failed.")
    ]
    balanced_accuracy: Annotated[
        tuple[Share | None, ...], Meta(description="Per fold; null where it failed.")
    ]
    log_loss: Annotated[
        tuple[NotNegative | None, ...],
        Meta(description="Per fold; null where it failed or there are no probabilities."),
    ]
    auc: Annotated[
        tuple[Share | None, ...],
        Meta(description="Per fold; null where it failed or rows cannot be ordered."),
    ]
    f1: Annotated[tuple[Share | None, ...], Meta(description="Per fold; null where it failed.")]
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


@documented
class Choice(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The method to take."""

    method: Annotated[str, Meta(description="Its name.")]
    label: Annotated[str, Meta(description="What tables call it.")]
    measure: Annotated[MeasureName, Meta(description="The measure that decided.")]
    score: Annotated[NotNegative, Meta(description="Its mean by the measure.")]
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
class Comparison(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Scores of several methods on the same folds of one dataset, and what they show."""

    dataset: Annotated[str, Meta(description="Name of the data.")]
    n_rows: Annotated[Count, Meta(description="Rows.")]
    n_features: Annotated[Count, Meta(description="Columns but the target.")]
    n_classes: Annotated[int, Meta(ge=2, description="Classes.")]
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
        Meta(description="What decides order, ranks, tests and choice; log_loss: less is better."),
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
    data: Annotated[DataCard | None, Meta(description="What the data hold.")] = None

    def rows(self) -> list[dict[str, Any]]:
        """Give the table as plain rows, which any frame takes.

        Returns
        -------
        list of dict
            Per method, the best first, the fields of ``summary`` by name.
        """
        return [asdict(row) for row in self.summary]

    def __repr__(self) -> str:
        """Show the table and what it says."""
        from ensemblage.methods._comparison_table import comparison_text  # noqa: PLC0415  in turn

        return comparison_text(self)

    def _repr_html_(self) -> str:
        from ensemblage.methods._comparison_table import comparison_html  # noqa: PLC0415  in turn

        return comparison_html(self)


class TrainingDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is kept with a model about how it was trained."""

    dataset: Annotated[str, Meta(description="Name of the data.")]
    method: Annotated[str, Meta(description="The method fitted.")]
    n_rows: Annotated[Count, Meta(description="Rows that it was fitted on.")]
    classes: Annotated[dict[str, Count], Meta(description="Rows of each class.")]
    folds: Annotated[int, Meta(ge=2, description="Folds behind the scores.")]
    accuracy: Annotated[
        Share | None,
        Meta(description="Cross-validated accuracy; null if the fits on the folds failed."),
    ]
    accuracy_se: Annotated[
        NotNegative | None,
        Meta(
            description="Its standard error, corrected for the overlap of the folds; null with "
            "fewer than two."
        ),
    ]
    balanced_accuracy: Annotated[Share | None, Meta(description="Mean recall over the classes.")]
    learned: Annotated[
        tuple[str, ...], Meta(description="What the model learned, a sentence each.")
    ]
    notes: Annotated[tuple[str, ...], Meta(description="What to know about the data.")]
    data: Annotated[DataCard | None, Meta(description="What the data hold.")] = None


class FitDocument(TrainingDocument, frozen=True, kw_only=True):
    """What ``fit`` prints with ``--json``."""

    model: Annotated[str, Meta(description="Where the model was saved.")]


class PredictionDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``predict`` prints with ``--json``."""

    classes: Annotated[
        tuple[str, ...],
        Meta(description="The model's classes, in the order of the probabilities."),
    ]
    predictions: Annotated[list[str], Meta(description="The predicted class of each row.")]
    probabilities: Annotated[
        list[list[Share]] | None,
        Meta(description="Per row the probability of each class; null if the model gives none."),
    ]
    output: Annotated[
        str | None,
        Meta(description="Where the predictions were written as CSV; null if nowhere."),
    ]
    kept: Annotated[
        dict[str, list[str | None]],
        Meta(description="Columns of the new rows that were asked for; null where missing."),
    ]
    notes: Annotated[
        tuple[str, ...],
        Meta(description="How the rows were read, and what in them was new to the model."),
    ]


class Prototype(Struct, frozen=True, forbid_unknown_fields=True):
    """What the rows of one cluster are like."""

    cluster: Annotated[Count, Meta(description="The cluster's number.")]
    rows: Annotated[Count, Meta(description="How many rows are in it.")]
    typical: Annotated[
        dict[str, float | str | None],
        Meta(
            description="For each column the mean of the numbers or the most frequent word, null "
            "if all values are missing."
        ),
    ]


class ClusteringDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``cluster`` prints with ``--json``, and what its page shows."""

    method: Annotated[str, Meta(description="The clustering method.")]
    clusters: Annotated[int, Meta(ge=1, description="Number of clusters found.")]
    labels: Annotated[list[Count], Meta(description="The cluster of each row.")]
    agreement: Annotated[
        list[Share] | None,
        Meta(
            description="Per row the share of the views that agree with its cluster; null for "
            "consensus methods."
        ),
    ]
    prototypes: Annotated[
        list[Prototype], Meta(description="What each cluster is like, in the order of numbers.")
    ]
    scores: Annotated[
        dict[str, NotNegative],
        Meta(description="nmi and purity against the target; empty without one."),
    ]
    output: Annotated[
        str | None, Meta(description="Where the labels were written as CSV; null if nowhere.")
    ]
    data: Annotated[DataCard | None, Meta(description="What the data hold.")] = None
