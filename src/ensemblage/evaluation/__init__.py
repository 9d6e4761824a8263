"""How good, how alike, how different: scores, tests and pictures."""

from ensemblage.evaluation._clustering import nmi_score, purity_score
from ensemblage.evaluation._prototype_display import PrototypeDisplay
from ensemblage.evaluation._stability import stability_score

__all__ = ["PrototypeDisplay", "nmi_score", "purity_score", "stability_score"]
