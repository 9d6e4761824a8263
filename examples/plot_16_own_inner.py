"""
Writing your own inner ensemble
===============================

Any decision based on a score can be taken by an inner ensemble. Here the decision is which features to select, and the
score is scikit-learn's F statistic.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_selection import SelectKBest, f_classif

from ensemblage.datasets import make_hidden_features
from ensemblage.inner import inner_score

# %%
# Thirty features, some of which are relevant, and few rows; some of the rows are outliers. The measure is the share of
# the relevant features that are selected, over 40 draws.


def recall(score, seed):
    """Share of the relevant features among as many selected ones."""
    X, y, relevant = make_hidden_features("linear", 60, random_state=seed)
    outliers = np.random.default_rng(seed).integers(60, size=3)
    X[outliers] *= 8
    selected = SelectKBest(score, k=int(relevant.sum())).fit(X, y).get_support()
    return (selected & relevant).sum() / relevant.sum()


scores = {
    "F statistic": f_classif,
    "mean of 50 views": inner_score(f_classif, n_views=50),
    "median of 50 views": inner_score(f_classif, n_views=50, combine="median"),
}
found = {name: [recall(score, seed) for seed in range(40)] for name, score in scores.items()}

fig, ax = plt.subplots(figsize=(7, 2.4), layout="constrained")
means = [np.mean(each) for each in found.values()]
errors = [np.std(each) / np.sqrt(40) for each in found.values()]
ax.barh(list(found), means, xerr=errors, color=["0.7", "C0", "C0"], capsize=3)
ax.set(xlabel="share of the relevant features that are selected", xlim=(0, 1))
ax.invert_yaxis()
ax.spines[["top", "right"]].set_visible(False)

# %%
# **Take away**: `inner_score` makes an inner ensemble of any score in one line. Here the mean of the views seems to help,
# the median does not, and the standard errors are as large as the gain.
