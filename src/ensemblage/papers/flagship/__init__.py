"""Study of the pool against its members, other fusions and tuned boosting."""

from ensemblage.papers.flagship import _study as _study
