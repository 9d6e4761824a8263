"""How members' outputs become one."""

from ensemblage.fusion._anchored import AnchoredGate
from ensemblage.fusion._fusion import Fusion, Mean, Vote
from ensemblage.fusion._gate import Gate, gate_rule
from ensemblage.fusion._local import LocalCompetence, local_accuracies
from ensemblage.fusion._logpool import LogPool
from ensemblage.fusion._product import Product, product_rule
from ensemblage.fusion._rules import mean_rule, vote_rule
from ensemblage.fusion._stacking import Stacking, as_columns, stack_features

__all__ = [
    "AnchoredGate",
    "Fusion",
    "Gate",
    "LocalCompetence",
    "LogPool",
    "Mean",
    "Product",
    "Stacking",
    "Vote",
    "as_columns",
    "gate_rule",
    "local_accuracies",
    "mean_rule",
    "product_rule",
    "stack_features",
    "vote_rule",
]
