"""
Leaderboard and ablation of a pool
==================================

:class:`~ensemblage.pool.EnsemblageClassifier` tunes standard classifiers and this library's ensembles on the same
cross-validation folds, and learns their weights. Nothing is tuned by hand.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from ensemblage.pool import EnsemblageClassifier, PoolDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X, X_new, y, y_new = train_test_split(X, y, random_state=0)
pool = EnsemblageClassifier(
    ["logistic", "svm", "forest", "network", "subspaces"], random_state=0
).fit(X, y)
print(pool.leaderboard_)
print(f"accuracy on new rows: {pool.score(X_new, y_new):.3f}")

# %%
# Weights of the members, calibration curve of the pool, and share of rows on which two members disagree, all out of fold.

fig, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
PoolDisplay.from_estimator(pool, axes=axes)

# %%
# Ablation: log loss without each group of members.

print(pool.ablation())

# %%
# **Take away**: on this table the support vector machine alone has the lower log loss, as the leaderboard shows. Over 25
# tables the pool has the lower mean log loss, and most of that comes from the fusion; a contribution of this library's own
# members to the standard ones is not shown.
