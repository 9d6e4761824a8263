"""
Consensus clustering and the number of clusters
===============================================

Twenty runs of K-means on half of the features each disagree. Consensus clustering combines them by how often two rows share
a cluster; the stability of clusterings of subsamples chooses the number of clusters.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import scale

from ensemblage.consensus import (
    ClusterStabilityDisplay,
    EvidenceAccumulation,
    co_association,
    stability_curve,
)

data = load_wine()
X = scale(data.data)
rng = np.random.default_rng(0)
partitions = [
    KMeans(3, n_init=1, random_state=seed).fit_predict(X[:, rng.permutation(13)[:6]])
    for seed in range(20)
]
consensus = EvidenceAccumulation(3).fit_partitions(partitions)
nmi = normalized_mutual_info_score(data.target, consensus.labels_)
singles = [normalized_mutual_info_score(data.target, each) for each in partitions]

# %%
# The co-association matrix, ordered by the consensus; and the stability of each number of clusters.

curve = stability_curve(X, range(2, 8), random_state=0)
print(curve.reason)
order = np.argsort(consensus.labels_, kind="stable")
fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
together = co_association(partitions).toarray()[order][:, order]
image = axes[0].imshow(together, cmap="Blues", vmin=0, vmax=1)
fig.colorbar(image, ax=axes[0], label="co-association")
axes[0].set(xticks=[], yticks=[])
axes[0].set_title(
    f"NMI {nmi:.2f}; mean of single clusterings {np.mean(singles):.2f}",
    fontsize=10,
)
ClusterStabilityDisplay.from_curve(curve, ax=axes[1])

# %%
# **Take away**: the consensus is more accurate than the single clusterings, and three clusters is the number of cultivars.
# Classes are not always clusters: for iris this curve chooses two.
