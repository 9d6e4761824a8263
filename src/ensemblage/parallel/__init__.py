"""Member fits over joblib, seeds drawn up front, and progress callbacks."""

from ensemblage.parallel._blueprint import Blueprint
from ensemblage.parallel._callbacks import CallbackSupportMixin, fit_progress, with_callbacks
from ensemblage.parallel._cluster import ClusterPool
from ensemblage.parallel._members import MAX_RETRIES, iterate_tasks, run_tasks
from ensemblage.parallel._seeds import draw_seeds, set_seed, spread_seeds
from ensemblage.parallel._stream import (
    LocalPool,
    Outcome,
    WorkerDiedError,
    WorkerPool,
    stream_tasks,
)

__all__ = [
    "MAX_RETRIES",
    "Blueprint",
    "CallbackSupportMixin",
    "ClusterPool",
    "LocalPool",
    "Outcome",
    "WorkerDiedError",
    "WorkerPool",
    "draw_seeds",
    "fit_progress",
    "iterate_tasks",
    "run_tasks",
    "set_seed",
    "spread_seeds",
    "stream_tasks",
    "with_callbacks",
]

from ensemblage.parallel._folds import Fold as Fold
from ensemblage.parallel._folds import deal_folds as deal_folds
from ensemblage.parallel._folds import make_folds as make_folds
from ensemblage.parallel._final_step import final_step as final_step
from ensemblage.parallel._final_step import fit_parameter as fit_parameter
from ensemblage.parallel._final_step import rows_at_final_step as rows_at_final_step
