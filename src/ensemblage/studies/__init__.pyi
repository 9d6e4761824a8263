from ._adapt import adapt_saved as adapt_saved
from ._audit import AuditDocument as AuditDocument
from ._audit import audit as audit
from ._choice import ALPHA as ALPHA
from ._choice import Design as Design
from ._choice import corrected_t_test as corrected_t_test
from ._choice import share_of_fold as share_of_fold
from ._cluster import CLUSTER_METHODS as CLUSTER_METHODS
from ._cluster import Clustering as Clustering
from ._cluster import cluster as cluster
from ._compare import compare as compare
from ._compare import comparison_block as comparison_block
from ._compare import comparison_title as comparison_title
from ._compare import expected_block as expected_block
from ._doctor import DoctorDocument as DoctorDocument
from ._doctor import examine as examine
from ._documents import AdaptationDocument as AdaptationDocument
from ._documents import CellCounts as CellCounts
from ._documents import Choice as Choice
from ._documents import ClusteringDocument as ClusteringDocument
from ._documents import Comparison as Comparison
from ._documents import MethodScores as MethodScores
from ._documents import PredictionDocument as PredictionDocument
from ._documents import Prototype as Prototype
from ._documents import Residuals as Residuals
from ._documents import ResultRow as ResultRow
from ._documents import ResultTable as ResultTable
from ._documents import RunDocument as RunDocument
from ._documents import SummaryRow as SummaryRow
from ._documents import TrainingDocument as TrainingDocument
from ._experiment import Cell as Cell
from ._experiment import CellResult as CellResult
from ._experiment import Experiment as Experiment
from ._experiment import Plain as Plain
from ._experiment import entry_notes as entry_notes
from ._experiment import plain_values as plain_values
from ._export import check_export as check_export
from ._export import export_results as export_results
from ._export import result_columns as result_columns
from ._methods import METHODS as METHODS
from ._methods import Method as Method
from ._methods import UnknownMethodError as UnknownMethodError
from ._methods import check_method_name as check_method_name
from ._methods import get_method as get_method
from ._methods import make_model as make_model
from ._methods import usual_methods as usual_methods
from ._new_rows import NewRows as NewRows
from ._new_rows import open_rows as open_rows
from ._new_rows import read_rows as read_rows
from ._predict import PredictedFile as PredictedFile
from ._predict import predict as predict
from ._predict import predict_rows as predict_rows
from ._predict import write_predictions as write_predictions
from ._predict import writes_parquet as writes_parquet
from ._runner import ExperimentInterrupt as ExperimentInterrupt
from ._runner import recorded_warnings as recorded_warnings
from ._runner import run_study as run_study
from ._store import ResultStore as ResultStore
from ._store import ResultStoreError as ResultStoreError
from ._study import StudyParams as StudyParams
from ._study_file import ExperimentFileError as ExperimentFileError
from ._study_file import make_experiment as make_experiment
from ._study_file import read_study as read_study
from ._study_file import read_study_file as read_study_file
from ._train import HOLDOUT_NOTE as HOLDOUT_NOTE
from ._train import Trained as Trained
from ._train import fits_blocks as fits_blocks
from ._train import is_large_parquet as is_large_parquet
from ._train import memory_note as memory_note
from ._train import train as train
from ._workers import ClusterPool as ClusterPool
from ._workers import LocalPool as LocalPool
from ._workers import WorkerDiedError as WorkerDiedError
from ._workers import WorkerPool as WorkerPool

__all__ = [
    "METHODS",
    "Comparison",
    "Method",
    "ResultStore",
    "cluster",
    "compare",
    "export_results",
    "make_model",
    "predict",
    "read_study",
    "run_study",
    "train",
]
