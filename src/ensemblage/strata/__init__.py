"""Diversity in the rows: strata, and an ensemble with one member on each."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "HISS",
    "BootstrapStrata",
    "KMeansStrata",
    "MixtureStrata",
    "ScaledLogisticRegression",
    "ScaledRidge",
    "StrataDisplay",
    "StrataEnsembleClassifier",
    "StrataEnsembleRegressor",
    "describe_strata",
    "stratifier_checks",
]
