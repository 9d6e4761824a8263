"""Methods by name: made, trained, compared, and used on new rows."""

from ensemblage.methods._choice import Choice
from ensemblage.methods._cluster_rows import CLUSTER_METHODS, Clustering, cluster_table
from ensemblage.methods._compare import Comparison, MethodScores, compare
from ensemblage.methods._registry import METHODS, Method, UnknownMethodError, get_method, make_model
from ensemblage.methods._study import read_experiment
from ensemblage.methods._study_file import ExperimentFileError
from ensemblage.methods._summary import as_plain, summary_rows
from ensemblage.methods._train import Predictions, Trained, predict_rows, train

__all__ = [
    "CLUSTER_METHODS",
    "METHODS",
    "Choice",
    "Clustering",
    "Comparison",
    "ExperimentFileError",
    "Method",
    "MethodScores",
    "Predictions",
    "Trained",
    "UnknownMethodError",
    "as_plain",
    "cluster_table",
    "compare",
    "get_method",
    "make_model",
    "predict_rows",
    "read_experiment",
    "summary_rows",
    "train",
]
