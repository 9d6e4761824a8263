"""
Leave-one-source-out validation: an audit
=========================================

A model is to be used at a new clinic. Cross-validation does not estimate its performance there, since rows of every
clinic are in training. An audit also leaves each clinic out of training in turn.
"""

import numpy as np
from sklearn.linear_model import LogisticRegression

from ensemblage.datasets import make_multi_source
from ensemblage.sources import SourceAuditDisplay, source_audit

# %%
# Six clinics with similar coefficients (``agreement``). In one of them the labels are inverted.

X, y, sources = make_multi_source(
    n_sources=6, n_samples=900, agreement=0.9, separation=0.5, random_state=3, return_sources=True
)
clinics = np.array(["Sihl", "Birs", "Doubs", "Inn", "Linth", "Reuss"])[sources]
y = np.where(clinics == "Inn", 1 - y, y)

audit = source_audit(LogisticRegression(), X, y, clinics, random_state=0)
print(audit)

# %%
# Forest plots: estimates at the left-out clinics, their mean, and the prediction interval of a new clinic.

SourceAuditDisplay.from_audit(audit)

# %%
# The calibration curve of each clinic, of risks predicted by a model of the others.

SourceAuditDisplay.from_audit(audit, kind="calibration")

# %%
# **Summary**: the audit names the clinic whose labels may be inverted, and says what to expect of a new one. Both
# results are for this model; another model may differ.
