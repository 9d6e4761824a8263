from ._co_selection import CoSelectionDisplay as CoSelectionDisplay
from ._co_selection import co_selection as co_selection
from ._joint import JointSubspaceClassifier as JointSubspaceClassifier
from ._joint import JointSubspaceRegressor as JointSubspaceRegressor
from ._objectives import FeatureBasis as FeatureBasis
from ._selector import JointSubspaceSelector as JointSubspaceSelector
from ._stability import StabilityDisplay as StabilityDisplay
from ._stability import StabilitySelector as StabilitySelector

__all__ = [
    "CoSelectionDisplay",
    "JointSubspaceClassifier",
    "JointSubspaceRegressor",
    "JointSubspaceSelector",
    "StabilityDisplay",
    "StabilitySelector",
    "co_selection",
]
