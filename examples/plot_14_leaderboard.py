"""
The pool's leaderboard, and what each place of diversity gave
=============================================================

:class:`~ensemblage.pool.EnsemblageClassifier` tunes members of usual kinds and of this library on the same folds, and learns
how much to listen to each. Nothing is tuned by hand.
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
# Whom the pool listens to, whether it is right as often as it is sure, and on how many rows two members disagree.

fig, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
PoolDisplay.from_estimator(pool, axes=axes)

# %%
# What would be lost without each place of diversity:

print(pool.ablation())

# %%
# **Take away**: on this table the support vector machine alone has the lower log loss, and the leaderboard says so. Over 25
# tables the pool is the better bet, and most of that is the fusion; that this library's own members add to the usual
# ones is not shown.
