"""Diversity in the rows: strata, and an ensemble with one member on each."""

from ensemblage.strata._bootstrap import BootstrapStrata
from ensemblage.strata._contract import stratifier_checks
from ensemblage.strata._ensemble import StrataEnsembleClassifier
from ensemblage.strata._hiss import HISS
from ensemblage.strata._mixture import MixtureStrata

__all__ = [
    "HISS",
    "BootstrapStrata",
    "MixtureStrata",
    "StrataEnsembleClassifier",
    "stratifier_checks",
]
