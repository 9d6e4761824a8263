"""How members' outputs become one: the contract and its rules."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "AffinityGate",
    "AnchoredGate",
    "Fusion",
    "FusionContext",
    "LocalCompetence",
    "LogLinearPool",
    "Mean",
    "MemberStackingClassifier",
    "Product",
    "Stacking",
    "Vote",
    "stack_members",
]
