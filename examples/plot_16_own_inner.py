"""
Writing your own inner ensemble
===============================

Any decision that rests on a measure can be taken by a crowd. Here the decision is which features to keep, and the measure
is scikit-learn's F statistic.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_selection import SelectKBest, f_classif

from ensemblage.datasets import make_hidden_features
from ensemblage.inner import inner_score

# %%
# Thirty features, some of which matter, and few rows; some of the rows are outliers. We count how many features that
# matter are among those chosen, over 40 draws.


def hits(score, seed):
    """Count the relevant features among as many chosen ones."""
    X, y, relevant = make_hidden_features("linear", 60, random_state=seed)
    wild = np.random.default_rng(seed).integers(60, size=3)
    X[wild] *= 8
    chosen = SelectKBest(score, k=int(relevant.sum())).fit(X, y).get_support()
    return (chosen & relevant).sum() / relevant.sum()


scores = {
    "F statistic": f_classif,
    "mean of 50 views": inner_score(f_classif, n_views=50),
    "median of 50 views": inner_score(f_classif, n_views=50, combine="median"),
}
found = {name: [hits(score, seed) for seed in range(40)] for name, score in scores.items()}

fig, ax = plt.subplots(figsize=(7, 2.4), layout="constrained")
means = [np.mean(each) for each in found.values()]
errors = [np.std(each) / np.sqrt(40) for each in found.values()]
ax.barh(list(found), means, xerr=errors, color=["0.7", "C0", "C0"], capsize=3)
ax.set(xlabel="share of the features that matter among those chosen", xlim=(0, 1))
ax.invert_yaxis()
ax.spines[["top", "right"]].set_visible(False)

# %%
# **Take away**: one line makes a crowd of any score. Whether it helps is for the data to say: here the mean of the views seems
# to, the median does not, and the bars' standard errors are as long as the gain.
