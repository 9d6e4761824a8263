"""One engine by which anything is repeated: cells, a store, a runner, an export."""

from ensemblage.runs._cell import Cell, CellResult, Plain
from ensemblage.runs._experiment import Experiment, ResultRow, ResultTable
from ensemblage.runs._export import check_export, export_results, result_columns
from ensemblage.runs._runner import ExperimentInterrupt, run_experiment
from ensemblage.runs._scoring import balanced_accuracy, log_loss, recorded_warnings
from ensemblage.runs._store import ResultStore, ResultStoreError, plain_values

__all__ = [
    "Cell",
    "CellResult",
    "Experiment",
    "ExperimentInterrupt",
    "Plain",
    "ResultRow",
    "ResultStore",
    "ResultStoreError",
    "ResultTable",
    "balanced_accuracy",
    "check_export",
    "export_results",
    "log_loss",
    "plain_values",
    "recorded_warnings",
    "result_columns",
    "run_experiment",
]
