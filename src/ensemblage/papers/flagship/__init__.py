"""A study of our own: the pool beside its members, other fusions and tuned boosting."""

from ensemblage.papers.flagship import _flagship_study as _flagship_study
