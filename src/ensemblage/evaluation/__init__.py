"""How good, how alike, how different: scores, tests and pictures."""

from ensemblage.evaluation._clustering import nmi_score, purity_score

__all__ = ["nmi_score", "purity_score"]
