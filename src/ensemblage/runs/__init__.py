"""One engine by which anything is repeated: cells, a store, a runner, an export, a study's file."""

from ensemblage.runs._entry_notes import entry_notes as entry_notes
from ensemblage.runs._experiment import Cell, CellResult, Experiment, Plain
from ensemblage.runs._export import check_export, export_results, result_columns
from ensemblage.runs._run_documents import CellCounts as CellCounts
from ensemblage.runs._run_documents import ResultRow, ResultTable
from ensemblage.runs._run_documents import RowDocument as RowDocument
from ensemblage.runs._run_documents import RunDocument as RunDocument
from ensemblage.runs._run_documents import TableDocument as TableDocument
from ensemblage.runs._run_documents import documented as documented
from ensemblage.runs._runner import ExperimentInterrupt, run_experiment
from ensemblage.runs._runner import recorded_warnings as recorded_warnings
from ensemblage.runs._store import ResultStore, ResultStoreError, plain_values
from ensemblage.runs._study_file import DEFAULT_FOLDS as DEFAULT_FOLDS
from ensemblage.runs._study_file import DatasetEntry as DatasetEntry
from ensemblage.runs._study_file import ExperimentFileError
from ensemblage.runs._study_file import MethodEntry as MethodEntry
from ensemblage.runs._study_file import StudyFile as StudyFile
from ensemblage.runs._study_file import check_choice as check_choice
from ensemblage.runs._study_file import check_different as check_different
from ensemblage.runs._study_file import read_study_file as read_study_file
from ensemblage.runs._time_left import Cost as Cost

__all__ = [
    "Cell",
    "CellResult",
    "Experiment",
    "ExperimentFileError",
    "ExperimentInterrupt",
    "Plain",
    "ResultRow",
    "ResultStore",
    "ResultStoreError",
    "ResultTable",
    "check_export",
    "export_results",
    "plain_values",
    "result_columns",
    "run_experiment",
]
