"""Diversity in the columns: members that choose their features while they learn."""

from ensemblage.subspace._co_selection import binary_co_selection, co_selection
from ensemblage.subspace._joint_classifier import JointSubspaceClassifier
from ensemblage.subspace._joint_regressor import JointSubspaceRegressor
from ensemblage.subspace._joint_selector import JointSubspaceSelector
from ensemblage.subspace._stability_selector import StabilitySelector

__all__ = [
    "JointSubspaceClassifier",
    "JointSubspaceRegressor",
    "JointSubspaceSelector",
    "StabilitySelector",
    "binary_co_selection",
    "co_selection",
]
