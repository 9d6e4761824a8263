"""What ensembles are worth, and pictures of it."""

from ensemblage.evaluation._co_selection_display import CoSelectionDisplay
from ensemblage.evaluation._oracle import OracleScore, oracle_score

__all__ = ["CoSelectionDisplay", "OracleScore", "oracle_score"]
