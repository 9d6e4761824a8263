"""Diversity in rows, columns and decisions at once: a pool that tunes itself."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "EnsemblageClassifier",
    "EnsemblageRegressor",
    "Leaderboard",
    "PoolDisplay",
    "RowExplanation",
]
