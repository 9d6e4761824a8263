"""Diversity in the columns: members that choose their features while they learn."""

from ensemblage.subspace._co_selection import binary_co_selection, co_selection
from ensemblage.subspace._joint_classifier import JointSubspaceClassifier
from ensemblage.subspace._joint_selector import JointSubspaceSelector

__all__ = [
    "JointSubspaceClassifier",
    "JointSubspaceSelector",
    "binary_co_selection",
    "co_selection",
]
