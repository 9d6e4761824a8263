"""
Features chosen together
========================

Two features decide, six are dummies. The selector learns members together with the features that they see; how often two
of them are chosen together says which belong together. This is the paper's Figure 2.
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
selector = JointSubspaceSelector(n_features_to_select=2, random_state=0).fit(X, y)
stability = StabilitySelector(selector, n_pairs=20, random_state=0).fit(X, y)

# %%
# On the left one run; on the right the share of many half samples in which each feature was chosen.

fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
CoSelectionDisplay.from_estimator(selector, feature_names=names, ax=axes[0])
StabilityDisplay.from_estimator(stability, feature_names=names, ax=axes[1])

# %%
# **Take away**: the two features that matter are found, and found again on other halves of the rows. A plain L1 regression
# would find them here as well; the pairs are what it does not tell.
