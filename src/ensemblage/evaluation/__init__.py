"""What ensembles and clusterings are worth, and pictures of it."""

from ensemblage.evaluation._clustering import nmi_score, purity_score
from ensemblage.evaluation._co_selection_display import CoSelectionDisplay
from ensemblage.evaluation._compare_methods import MethodComparison, compare_methods
from ensemblage.evaluation._network_display import NetworkDisplay
from ensemblage.evaluation._oracle import OracleScore, oracle_score
from ensemblage.evaluation._prototype_display import PrototypeDisplay
from ensemblage.evaluation._stability import stability_score
from ensemblage.evaluation._strata_display import StrataDisplay

__all__ = [
    "CoSelectionDisplay",
    "MethodComparison",
    "NetworkDisplay",
    "OracleScore",
    "PrototypeDisplay",
    "StrataDisplay",
    "compare_methods",
    "nmi_score",
    "oracle_score",
    "purity_score",
    "stability_score",
]
