"""Methods by name: train, predict, compare, and experiments on many datasets."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

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
