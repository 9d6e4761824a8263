"""All three places of diversity at once: a pool that needs no tuning by hand."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "EnsemblageClassifier",
    "EnsemblageRegressor",
    "Leaderboard",
    "PoolDisplay",
    "RowExplanation",
]
