"""How members' outputs become one: the contract and its rules."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "AnchoredGate",
    "DensityGate",
    "DensityMean",
    "DensityPool",
    "DensityStacking",
    "Fusion",
    "FusionContext",
    "Gate",
    "LocalCompetence",
    "LogPool",
    "Mean",
    "MemberStackingClassifier",
    "Product",
    "SoftmaxGate",
    "Stacking",
    "Vote",
    "as_columns",
    "gate_rule",
    "local_accuracies",
    "mean_rule",
    "product_rule",
    "resolve_fusion",
    "stack_features",
    "stack_members",
    "vote_rule",
]
