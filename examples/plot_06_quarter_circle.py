"""
Decision boundaries on the quarter circle
=========================================

The synthetic data of the joint feature-subset paper: inside or outside the circle. Members are linear, and each new one gives
more weight to the rows that earlier ones misclassify.
"""

import matplotlib.pyplot as plt
import numpy as np

from ensemblage.datasets import make_quarter_circle
from ensemblage.subspace import JointSubspaceClassifier

X, y = make_quarter_circle(100, random_state=0)
X_new, y_new = make_quarter_circle(5000, random_state=1)

# %%
# Members fused by the product, as in the paper, and members refitted with a mixture-of-experts gate.

models = {
    "fused by the product": JointSubspaceClassifier(C=100.0, random_state=0),
    "refined with a gate": JointSubspaceClassifier(refine="gate", C=100.0, random_state=0),
}
side = np.linspace(0, 1, 200)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
fig, axes = plt.subplots(1, 2, figsize=(8, 4), sharex=True, sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(X, y)
    inside = model.predict_proba(grid)[:, 0].reshape(200, 200)
    ax.contourf(side, side, inside, levels=[0, 0.5, 1], colors=["#f3d9c5", "#cfe2f0"])
    for member in model.member_outputs(grid):
        ax.contour(
            side, side, member[:, 0].reshape(200, 200), levels=[0.5], colors="0.4", linewidths=0.8
        )
    ax.plot(side, np.sqrt(1 - side**2), "k--", lw=1)
    ax.scatter(*X.T, c=np.where(y == y.min(), "C0", "C1"), s=8)
    ax.set_title(f"{name}: error {1 - model.score(X_new, y_new):.3f}", fontsize=10)
    ax.set_aspect("equal")

# %%
# **Take away**: a product of linear members is linear, for any number of members. A nonlinear boundary needs a gate that
# weights members by row.
