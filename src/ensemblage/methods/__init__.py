"""Methods by name: made, trained, compared, and used on new rows."""

from typing import TYPE_CHECKING

from ensemblage.messages import lazy_door

if TYPE_CHECKING:
    from ensemblage.methods._audit import AuditDocument as AuditDocument
    from ensemblage.methods._audit import audit
    from ensemblage.methods._choice import ALPHA as ALPHA
    from ensemblage.methods._choice import Design as Design
    from ensemblage.methods._choice import gap_between as gap_between
    from ensemblage.methods._class_methods import METHODS
    from ensemblage.methods._cluster_file import FileClusters, cluster_file
    from ensemblage.methods._cluster_rows import CLUSTER_METHODS, Clustering, cluster_table
    from ensemblage.methods._compare import compare
    from ensemblage.methods._comparison_table import comparison_block as comparison_block
    from ensemblage.methods._comparison_table import comparison_title as comparison_title
    from ensemblage.methods._dask_predictions import predict_dask
    from ensemblage.methods._doctor import DoctorDocument as DoctorDocument
    from ensemblage.methods._doctor import examine as examine
    from ensemblage.methods._given_methods import usual_methods as usual_methods
    from ensemblage.methods._measures import LABELS as LABELS
    from ensemblage.methods._measures import values_of as values_of
    from ensemblage.methods._method import Method
    from ensemblage.methods._method_documents import (
        Choice,
        Comparison,
        MethodScores,
        Residuals,
        SummaryRow,
    )
    from ensemblage.methods._method_documents import ClusteringDocument as ClusteringDocument
    from ensemblage.methods._method_documents import FitDocument as FitDocument
    from ensemblage.methods._method_documents import PredictionDocument as PredictionDocument
    from ensemblage.methods._method_documents import Prototype as Prototype
    from ensemblage.methods._method_documents import TrainingDocument as TrainingDocument
    from ensemblage.methods._number_methods import NUMBER_METHODS
    from ensemblage.methods._prediction_files import PredictedFile, predict_file
    from ensemblage.methods._prediction_files import write_predictions as write_predictions
    from ensemblage.methods._prediction_files import writes_parquet as writes_parquet
    from ensemblage.methods._predictions import Predictions, predict_rows
    from ensemblage.methods._registry import UnknownMethodError, get_method, make_model
    from ensemblage.methods._registry import check_method_name as check_method_name
    from ensemblage.methods._registry import in_blocks as in_blocks
    from ensemblage.methods._study import StudyParams as StudyParams
    from ensemblage.methods._study_experiment import read_experiment
    from ensemblage.methods._table_memory import is_large_parquet as is_large_parquet
    from ensemblage.methods._table_memory import memory_note as memory_note
    from ensemblage.methods._target_score import TargetScore as TargetScore
    from ensemblage.methods._train import Trained, train
    from ensemblage.methods._train_file import TrainedFile, train_file
else:
    __getattr__, __dir__ = lazy_door(__name__, __file__)

__all__ = [
    "CLUSTER_METHODS",
    "METHODS",
    "NUMBER_METHODS",
    "Choice",
    "Clustering",
    "Comparison",
    "FileClusters",
    "Method",
    "MethodScores",
    "PredictedFile",
    "Predictions",
    "Residuals",
    "SummaryRow",
    "Trained",
    "TrainedFile",
    "UnknownMethodError",
    "audit",
    "cluster_file",
    "cluster_table",
    "compare",
    "get_method",
    "make_model",
    "predict_dask",
    "predict_file",
    "predict_rows",
    "read_experiment",
    "train",
    "train_file",
]
