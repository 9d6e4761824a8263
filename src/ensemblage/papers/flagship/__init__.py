"""A study of our own: the pool beside its members, other fusions and tuned boosting."""

from ensemblage.papers.flagship import _study as _study
