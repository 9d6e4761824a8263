"""
Convergence of HISS
===================

HISS iterates three steps: responsibilities, Gaussians, and memberships under the constraint that each stratum has a
given share of the rows. The objective never decreases.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ensemblage.strata import HISS, StrataDisplay

rng = np.random.default_rng(1)
X = np.concatenate([rng.normal(centre, 1.0, (150, 2)) for centre in [(0, 0), (5, 0), (2.5, 4)]])

# %%
# The same initial means, with at most 1, 5 and 200 iterations. Ellipses span 1.5 standard deviations.

fig, axes = plt.subplots(1, 4, figsize=(12, 3.2), layout="constrained")
for ax, max_iter in zip(axes, (1, 5, 200), strict=False):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # stopped early on purpose
        hiss = HISS(
            n_strata=3, stratum_size=1 / 3, init="random", max_iter=max_iter, random_state=4
        ).fit(X)
    StrataDisplay.from_estimator(hiss, X, ax=ax)
    ax.set_title(f"after {hiss.n_iter_} iterations")
    if ax.get_legend():
        ax.get_legend().remove()
axes[3].plot(np.arange(len(hiss.objective_path_)), hiss.objective_path_, marker=".")
axes[3].set(title="the objective never decreases", xlabel="iteration", ylabel="eq. 5")

# %%
# **Take away**: few iterations suffice for separate clusters; the sizes are exact after each iteration.
