"""How members' outputs become one."""

from ensemblage.fusion._fusion import Fusion, Mean, Vote
from ensemblage.fusion._local import LocalCompetence, local_accuracies
from ensemblage.fusion._product import Product, product_rule
from ensemblage.fusion._rules import mean_rule, vote_rule
from ensemblage.fusion._stacking import Stacking, as_columns, stack_features

__all__ = [
    "Fusion",
    "LocalCompetence",
    "Mean",
    "Product",
    "Stacking",
    "Vote",
    "as_columns",
    "local_accuracies",
    "mean_rule",
    "product_rule",
    "stack_features",
    "vote_rule",
]
