"""
Your own stratifier and fusion
==============================

A stratifier defines the rows that each member is fitted on, a fusion combines the members' outputs. Both have small
interfaces; here is one of each.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted, validate_data

from ensemblage.datasets import make_multi_source
from ensemblage.fusion import Fusion
from ensemblage.strata import StrataEnsembleClassifier


class Slices(TransformerMixin, BaseEstimator):
    """Cut the rows into slices along their first principal axis."""

    def __init__(self, n_strata=6):
        self.n_strata = n_strata

    def fit(self, X, y=None, sample_weight=None):
        """Find the axis and the centres of the slices."""
        X = validate_data(self, X, dtype=np.float64)
        self.center_ = X.mean(axis=0)
        self.axis_ = np.linalg.svd(X - self.center_, full_matrices=False)[2][0]
        places = (X - self.center_) @ self.axis_
        self.middles_ = np.quantile(places, (np.arange(self.n_strata) + 0.5) / self.n_strata)
        self.width_ = np.ptp(places) / self.n_strata
        self.memberships_ = self.transform(X)
        return self

    def log_affinity(self, X):
        """Return log weights of the slices, shape (n_samples, n_strata)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        places = (X - self.center_) @ self.axis_
        return -0.5 * ((places[:, None] - self.middles_) / self.width_) ** 2

    def transform(self, X):
        """Return memberships: 1 for the nearest slice."""
        nearest = self.log_affinity(X).argmax(axis=1)
        return np.eye(self.n_strata)[nearest]


class MostConfident(Fusion):
    """Use the member with the highest probability."""

    def combine(self, outputs, context=None):
        """Select one member per row; outputs are (n_members, n_samples, n_classes)."""
        best = outputs.max(axis=2).argmax(axis=0)
        return outputs[best, range(len(best))]


# %%
# All combinations of HISS and slices with the gate and the new fusion, on rows of six sources.

X, y = make_multi_source(6, n_samples=1200, random_state=2)
X, X_new, y, y_new = train_test_split(X, y, random_state=0)
errors = {}
for rows, stratifier in {"HISS": None, "slices": Slices()}.items():
    for name, fusion in {"gate": "gate", "most confident": MostConfident()}.items():
        model = StrataEnsembleClassifier(stratifier, fusion=fusion, random_state=0).fit(X, y)
        errors[f"{rows}, {name}"] = 1 - model.score(X_new, y_new)

fig, ax = plt.subplots(figsize=(6.5, 2.4), layout="constrained")
ax.bar_label(ax.barh(list(errors), list(errors.values()), color="C0"), fmt="%.3f", padding=3)
ax.set(xlabel="error on new rows", xlim=(0, 0.6))
ax.invert_yaxis()
ax.spines[["top", "right"]].set_visible(False)

# %%
# **Take away**: a stratifier and a fusion take thirty lines. ``stratifier_checks`` tests the interface. The most
# confident member is a poor choice: members are overconfident on rows far from their training rows.
