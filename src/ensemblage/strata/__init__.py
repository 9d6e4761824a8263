"""Diversity in the rows: which rows does each member learn from?"""

from ensemblage.strata._bootstrap import BootstrapStrata
from ensemblage.strata._ensemble import StrataEnsembleClassifier
from ensemblage.strata._hiss import HISS
from ensemblage.strata._mixture import MixtureStrata

__all__ = ["HISS", "BootstrapStrata", "MixtureStrata", "StrataEnsembleClassifier"]
