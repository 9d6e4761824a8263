"""
A new clinic arrives
====================

A model was made elsewhere. A new clinic has more patients of one class, and a few labelled rows. How many does it take
until the model's probabilities fit?
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from ensemblage.sources import recalibrate

rng = np.random.default_rng(0)


def patients(n, offset):
    """Draw patients whose log odds are shifted by an offset."""
    X = rng.normal(size=(n, 4))
    return X, X @ [1.0, -1.0, 0.5, 0.0] + offset + rng.logistic(size=n) > 0


model = LogisticRegression().fit(*patients(2000, offset=0.0))
X_clinic, y_clinic = patients(5000, offset=2.0)

# %%
# ``recalibrate`` shifts and stretches the probabilities, no further than the labelled rows tell. Ten draws each.
# It warns where they tell too little, which we want to see for ourselves here.

numbers = [10, 20, 50, 100, 200]
warnings.simplefilter("ignore", UserWarning)
losses = []
for n in numbers:
    draws = []
    for _ in range(10):
        adapted = recalibrate(model, *patients(n, offset=2.0))
        draws.append(log_loss(y_clinic, adapted.predict_proba(X_clinic)))
    losses.append(draws)

fig, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
ax.plot(numbers, np.median(losses, axis=1), marker="o", label="recalibrated, median of ten")
ax.fill_between(numbers, np.min(losses, axis=1), np.max(losses, axis=1), alpha=0.2)
ax.axhline(
    log_loss(y_clinic, model.predict_proba(X_clinic)), color="0.5", ls="--", label="as it came"
)
own = LogisticRegression().fit(*patients(5000, offset=2.0))
ax.axhline(
    log_loss(y_clinic, own.predict_proba(X_clinic)),
    color="C2",
    ls=":",
    label="made there of 5,000 rows",
)
ax.set(
    xscale="log",
    xticks=numbers,
    xticklabels=numbers,
    xlabel="labelled rows of the clinic",
    ylabel="log loss there",
)
ax.minorticks_off()
ax.legend(frameon=False)

# %%
# **Take away**: some dozens of labels do most of what can be done where only the level differs. Where the rule itself
# differs, nothing but rows of its own will help.
