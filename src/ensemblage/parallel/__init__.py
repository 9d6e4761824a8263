"""Member fits over joblib, streams of tasks, seeds drawn up front, folds, progress callbacks."""

from typing import TYPE_CHECKING

from ensemblage.messages import lazy_door

if TYPE_CHECKING:
    from ensemblage.parallel._callbacks import CallbackSupportMixin as CallbackSupportMixin
    from ensemblage.parallel._callbacks import fit_progress as fit_progress
    from ensemblage.parallel._callbacks import with_callbacks as with_callbacks
    from ensemblage.parallel._dask_pool import ClusterPool
    from ensemblage.parallel._dask_pool import members_on as members_on
    from ensemblage.parallel._dask_pool import rows_on as rows_on
    from ensemblage.parallel._final_step import encoded_rows as encoded_rows
    from ensemblage.parallel._final_step import final_step as final_step
    from ensemblage.parallel._final_step import fit_parameter as fit_parameter
    from ensemblage.parallel._final_step import rows_at_final_step as rows_at_final_step
    from ensemblage.parallel._folds import Fold as Fold
    from ensemblage.parallel._folds import deal_folds as deal_folds
    from ensemblage.parallel._folds import make_folds as make_folds
    from ensemblage.parallel._guarded_fit import guarded_fit as guarded_fit
    from ensemblage.parallel._memory_at_hand import memory_at_hand as memory_at_hand
    from ensemblage.parallel._number_targets import as_numbers as as_numbers
    from ensemblage.parallel._row_weights import read_weights as read_weights
    from ensemblage.parallel._row_weights import short_weights as short_weights
    from ensemblage.parallel._seeds import Blueprint as Blueprint
    from ensemblage.parallel._seeds import draw_seeds as draw_seeds
    from ensemblage.parallel._seeds import set_seed as set_seed
    from ensemblage.parallel._seeds import spread_seeds as spread_seeds
    from ensemblage.parallel._stream import Deadline as Deadline
    from ensemblage.parallel._stream import LocalPool, WorkerDiedError, WorkerPool
    from ensemblage.parallel._stream import Outcome as Outcome
    from ensemblage.parallel._stream import stream_tasks as stream_tasks
    from ensemblage.parallel._tasks import MAX_RETRIES as MAX_RETRIES
    from ensemblage.parallel._tasks import iterate_tasks as iterate_tasks
    from ensemblage.parallel._tasks import run_tasks as run_tasks
    from ensemblage.parallel._threads import threads_for as threads_for
    from ensemblage.parallel._worth import n_workers as n_workers
    from ensemblage.parallel._worth import worth_workers as worth_workers
else:
    __getattr__, __dir__ = lazy_door(__name__, __file__)

__all__ = ["ClusterPool", "LocalPool", "WorkerDiedError", "WorkerPool"]
