"""What to look at: displays in scikit-learn's manner."""

from ensemblage.evaluation._strata_display import StrataDisplay

__all__ = ["StrataDisplay"]
