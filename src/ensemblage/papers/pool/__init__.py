"""Study of the pool beside AutoGluon, boosting and RealMLP."""

from ensemblage.papers.pool import _peers as _peers
