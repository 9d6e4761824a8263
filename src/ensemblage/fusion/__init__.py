"""How members' outputs become one."""

from ensemblage.fusion._fusion import Fusion, Mean, Vote
from ensemblage.fusion._rules import mean_rule, vote_rule
from ensemblage.fusion._stacking import Stacking, as_columns, stack_features

__all__ = [
    "Fusion",
    "Mean",
    "Stacking",
    "Vote",
    "as_columns",
    "mean_rule",
    "stack_features",
    "vote_rule",
]
