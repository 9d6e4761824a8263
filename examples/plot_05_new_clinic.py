"""
Recalibration at a new clinic
=============================

A model was fitted at other clinics. A new clinic has another class frequency, and a few labelled rows. How many labelled
rows does recalibration need?
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from ensemblage.sources import recalibrate

rng = np.random.default_rng(0)


def patients(n, intercept):
    """Draw patients with a calibration intercept."""
    X = rng.normal(size=(n, 4))
    return X, X @ [1.0, -1.0, 0.5, 0.0] + intercept + rng.logistic(size=n) > 0


model = LogisticRegression().fit(*patients(2000, intercept=0.0))
X_clinic, y_clinic = patients(5000, intercept=2.0)

# %%
# ``recalibrate`` fits a calibration slope and intercepts, shrunk towards no change. Ten draws of labelled rows each.
# It warns if no change is significant; here the warning is ignored.

n_labelled = [10, 20, 50, 100, 200]
warnings.simplefilter("ignore", UserWarning)
losses = []
for n in n_labelled:
    draws = []
    for _ in range(10):
        adapted = recalibrate(model, *patients(n, intercept=2.0))
        draws.append(log_loss(y_clinic, adapted.predict_proba(X_clinic)))
    losses.append(draws)

fig, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
ax.plot(
    n_labelled, np.median(losses, axis=1), marker="o", label="recalibrated, median of ten draws"
)
ax.fill_between(n_labelled, np.min(losses, axis=1), np.max(losses, axis=1), alpha=0.2)
ax.axhline(
    log_loss(y_clinic, model.predict_proba(X_clinic)),
    color="0.5",
    ls="--",
    label="not recalibrated",
)
own = LogisticRegression().fit(*patients(5000, intercept=2.0))
ax.axhline(
    log_loss(y_clinic, own.predict_proba(X_clinic)),
    color="C2",
    ls=":",
    label="fitted on 5,000 rows of the clinic",
)
ax.set(
    xscale="log",
    xticks=n_labelled,
    xticklabels=n_labelled,
    xlabel="labelled rows of the clinic",
    ylabel="log loss at the clinic",
)
ax.minorticks_off()
ax.legend(frameon=False)

# %%
# **Summary**: if only the intercept differs, some dozens of labelled rows give most of the improvement. If the coefficients
# differ, the model has to be trained on rows of the clinic.
