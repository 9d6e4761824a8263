"""
Strata in two dimensions
========================

Strata of the same rows by a mixture, HISS and the bootstrap. Clusters of a mixture compete for rows, and some are very
small. A bootstrap sample has a given size, but its rows are not similar. Strata of HISS have a given size and similar
rows.
"""

import matplotlib.pyplot as plt
import numpy as np

from ensemblage.strata import HISS, BootstrapStrata, MixtureStrata

rng = np.random.default_rng(0)
X = np.concatenate(
    [
        rng.normal([0, 0], [1.0, 1.0], (400, 2)),
        rng.normal([6, 1], [0.7, 2.0], (120, 2)),
        rng.normal([3, 6], [2.0, 0.5], (80, 2)),
    ]
)

# %%
# Six strata each. A panel shows the smallest stratum; darker rows have a higher membership.

stratifiers = {
    "mixture": MixtureStrata(n_strata=6, random_state=0),
    "HISS, 25 % of the rows": HISS(n_strata=6, stratum_size=0.25, random_state=0),
    "bootstrap of 25 %": BootstrapStrata(
        n_strata=6, stratum_size=0.25, replace=False, random_state=0
    ),
}
fig, axes = plt.subplots(1, 3, figsize=(9, 3.2), sharex=True, sharey=True, layout="constrained")
for ax, (name, stratifier) in zip(axes, stratifiers.items(), strict=True):
    memberships = stratifier.fit(X).memberships_
    sizes = memberships.sum(axis=0)
    smallest = sizes.argmin()
    ax.scatter(*X.T, c="0.88", s=8)
    inside = memberships[:, smallest] > 0
    ax.scatter(*X[inside].T, c=memberships[inside, smallest], cmap="Blues", vmin=-0.3, vmax=1, s=10)
    ax.set_title(f"{name}\nthe smallest of six: {sizes.min():.0f} rows", fontsize=10)

# %%
# **Take away**: with HISS every member has enough rows, and its rows are similar. A row may be in several strata; here in
# one and a half on average.
