"""Feature-subset ensembles and stability selection."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "CoSelectionDisplay",
    "JointSubspaceClassifier",
    "JointSubspaceRegressor",
    "JointSubspaceSelector",
    "StabilityDisplay",
    "StabilitySelector",
    "co_selection",
]
