"""Member fits over joblib, seeds drawn up front, and progress callbacks."""

from ensemblage.parallel._callbacks import CallbackSupportMixin, fit_progress, with_callbacks
from ensemblage.parallel._members import MAX_RETRIES, iterate_tasks, run_tasks
from ensemblage.parallel._seeds import draw_seeds, set_seed

__all__ = [
    "MAX_RETRIES",
    "CallbackSupportMixin",
    "draw_seeds",
    "fit_progress",
    "iterate_tasks",
    "run_tasks",
    "set_seed",
    "with_callbacks",
]
