"""Methods by name, compared on the same folds, fitted, and used on new rows."""

from ensemblage.experiments._choice import Choice
from ensemblage.experiments._cluster import CLUSTER_METHODS, Clustering, cluster_table
from ensemblage.experiments._co_selected import CoSelection, co_selected
from ensemblage.experiments._compare import Comparison, MethodScores, compare
from ensemblage.experiments._declare import (
    CellResult,
    Experiment,
    ExperimentCell,
    ResultRow,
    ResultTable,
)
from ensemblage.experiments._declared import read_experiment
from ensemblage.experiments._explain import (
    Explanation,
    MemberFacts,
    draw_strata,
    explain_model,
    explain_row,
    plain_explanation,
)
from ensemblage.experiments._export import check_export, export_results, result_columns
from ensemblage.experiments._fingerprint import dataset_fingerprint
from ensemblage.experiments._methods import (
    METHODS,
    Method,
    UnknownMethodError,
    get_method,
    make_model,
)
from ensemblage.experiments._papers import PAPER_EXPERIMENTS, paper_experiment
from ensemblage.experiments._readable import (
    draw_readable,
    model_kind,
    named_co_selection,
    named_parents,
    named_tables,
)
from ensemblage.experiments._runner import ExperimentInterrupt, run_experiment
from ensemblage.experiments._store import ResultStore, ResultStoreError, plain_values
from ensemblage.experiments._summary import as_plain, summary_rows
from ensemblage.experiments._toml import ExperimentFileError
from ensemblage.experiments._train import Predictions, Trained, predict_rows, train

__all__ = [
    "CLUSTER_METHODS",
    "METHODS",
    "PAPER_EXPERIMENTS",
    "CellResult",
    "Choice",
    "Clustering",
    "CoSelection",
    "Comparison",
    "Experiment",
    "ExperimentCell",
    "ExperimentFileError",
    "ExperimentInterrupt",
    "Explanation",
    "MemberFacts",
    "Method",
    "MethodScores",
    "Predictions",
    "ResultRow",
    "ResultStore",
    "ResultStoreError",
    "ResultTable",
    "Trained",
    "UnknownMethodError",
    "as_plain",
    "check_export",
    "cluster_table",
    "co_selected",
    "compare",
    "dataset_fingerprint",
    "draw_readable",
    "draw_strata",
    "explain_model",
    "explain_row",
    "export_results",
    "get_method",
    "make_model",
    "model_kind",
    "named_co_selection",
    "named_parents",
    "named_tables",
    "paper_experiment",
    "plain_explanation",
    "plain_values",
    "predict_rows",
    "read_experiment",
    "result_columns",
    "run_experiment",
    "summary_rows",
    "train",
]
