"""What ensembles are worth, and pictures of it."""

from ensemblage.evaluation._co_selection_display import CoSelectionDisplay
from ensemblage.evaluation._network_display import NetworkDisplay
from ensemblage.evaluation._oracle import OracleScore, oracle_score
from ensemblage.evaluation._strata_display import StrataDisplay

__all__ = ["CoSelectionDisplay", "NetworkDisplay", "OracleScore", "StrataDisplay", "oracle_score"]
