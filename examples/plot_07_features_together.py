"""
Co-selection of features
========================

Two features are relevant, six are dummies. The selector fits members jointly with their feature subsets; the co-selection
matrix shows which features are used together. This is the paper's Figure 2.
"""

import matplotlib.pyplot as plt

from ensemblage.datasets import make_quarter_circle
from ensemblage.subspace import (
    CoSelectionDisplay,
    JointSubspaceSelector,
    StabilityDisplay,
    StabilitySelector,
)

X, y = make_quarter_circle(200, n_dummies=6, random_state=0)
names = [f"x{number}" for number in range(1, 9)]
selector = JointSubspaceSelector(n_features_to_select=2, basis="linear", random_state=0).fit(X, y)
stability = StabilitySelector(selector, n_pairs=20, random_state=0).fit(X, y)

# %%
# Left: one run. Right: the selection frequency of each feature over many half samples.

fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
CoSelectionDisplay.from_estimator(selector, feature_names=names, ax=axes[0])
StabilityDisplay.from_estimator(stability, feature_names=names, ax=axes[1])

# %%
# **Take away**: the two relevant features are found, also on other halves of the rows. An L1-penalised regression would find
# them here as well, but not the pairs.
