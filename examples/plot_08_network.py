"""
A network, read and explained row by row
========================================

One Bayesian network that a crowd decided: thirty samples of the rows vote on each arc, and the tables are pooled. What
comes out is one network, to be read.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from ensemblage.bayes import NetworkDisplay
from ensemblage.inner import InnerBayesNetClassifier
from ensemblage.report import explain_model

data = load_breast_cancer(as_frame=True)
X = data.data[["mean radius", "mean texture", "mean concavity", "worst area", "worst symmetry"]]
y = data.target.map({0: "malignant", 1: "benign"}).rename("diagnosis")
model = InnerBayesNetClassifier(random_state=0).fit(X[:400], y[:400])
print(f"accuracy on new rows: {model.score(X[400:], y[400:]):.3f}")

# %%
# An arrow points from a node to one that depends on it. Arrows from the class, which every column has here, are faint; of the
# others the shade tells how many of the samples, searching alone, chose them.

fig, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
NetworkDisplay.from_estimator(model, ax=ax)

# %%
# And why one patient? Each column adds to the log-odds what its table says of the row; the parts add up exactly.

decision = explain_model(model, X[400:], row=0).document.decision
labels = [f"{part.column} = {part.value}" for part in decision.contributions]
fig, ax = plt.subplots(figsize=(7, 2.8), layout="constrained")
ax.barh(
    ["baseline", *labels],
    [decision.baseline, *(part.contribution for part in decision.contributions)],
)
ax.axvline(0, color="k", lw=0.8)
ax.invert_yaxis()
ax.set(xlabel=f"log-odds of {decision.label}", title=f"total: {decision.value:+.2f}")
ax.spines[["top", "right"]].set_visible(False)

# %%
# **Take away**: one network that can be shown to a person, 1.1 points less accurate than a bag of thirty in the mean of 25
# tables. Arrows are dependence, not cause.
