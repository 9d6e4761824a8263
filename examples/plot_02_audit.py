"""
Which sources differ? An audit
==============================

A model is meant for the next clinic, which is not in the file. Ordinary folds cannot tell what it will be worth
there, since they have rows of every clinic in training. An audit leaves each clinic out.
"""

import numpy as np
from sklearn.linear_model import LogisticRegression

from ensemblage.datasets import make_multi_source
from ensemblage.sources import SourceAuditDisplay, source_audit

# %%
# Six clinics that share most of their rule (``agreement``). In one of them the labels were entered the wrong way round.

X, y, sources = make_multi_source(
    n_sources=6, n_samples=900, agreement=0.9, separation=0.5, random_state=3, return_sources=True
)
clinics = np.array(["Sihl", "Birs", "Doubs", "Inn", "Linth", "Reuss"])[sources]
y = np.where(clinics == "Inn", 1 - y, y)

audit = source_audit(LogisticRegression(), X, y, clinics, random_state=0)
print(audit)

# %%
# On the left the error in each clinic as known and as new; on the right how the model's probabilities should be read there.

SourceAuditDisplay(audit).plot()

# %%
# **Take away**: the audit names the clinic whose labels look inverted, and says what to expect of one that it has never
# seen. Both figures are for this model; another one may differ.
