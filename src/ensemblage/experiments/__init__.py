"""Methods by name, compared on the same folds, fitted, and used on new rows."""

from ensemblage.experiments._cluster import CLUSTER_METHODS, Clustering, cluster_table
from ensemblage.experiments._co_selected import CoSelection, co_selected
from ensemblage.experiments._compare import Comparison, MethodScores, compare
from ensemblage.experiments._explain import (
    Explanation,
    MemberFacts,
    draw_strata,
    explain_model,
    explain_row,
    plain_explanation,
)
from ensemblage.experiments._hiss_tables import NOTES as HISS_NOTES
from ensemblage.experiments._hiss_tables import TableRow, reproduce_hiss
from ensemblage.experiments._methods import (
    METHODS,
    Method,
    UnknownMethodError,
    get_method,
    make_model,
)
from ensemblage.experiments._readable import (
    draw_readable,
    model_kind,
    named_co_selection,
    named_parents,
    named_tables,
)
from ensemblage.experiments._summary import as_plain, summary_rows
from ensemblage.experiments._train import Predictions, Trained, predict_rows, train

__all__ = [
    "CLUSTER_METHODS",
    "HISS_NOTES",
    "METHODS",
    "Clustering",
    "CoSelection",
    "Comparison",
    "Explanation",
    "MemberFacts",
    "Method",
    "MethodScores",
    "Predictions",
    "TableRow",
    "Trained",
    "UnknownMethodError",
    "as_plain",
    "cluster_table",
    "co_selected",
    "compare",
    "draw_readable",
    "draw_strata",
    "explain_model",
    "explain_row",
    "get_method",
    "make_model",
    "model_kind",
    "named_co_selection",
    "named_parents",
    "named_tables",
    "plain_explanation",
    "predict_rows",
    "reproduce_hiss",
    "summary_rows",
    "train",
]
