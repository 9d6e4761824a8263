"""Models for data from several places, and ensembles whose members differ on purpose.

The names that most people need are importable from here; all others from the packages, such as
``ensemblage.strata`` or ``ensemblage.datasets``. A package is imported when it is first used.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "EnsemblageClassifier",
    "EnsemblageRegressor",
    "InnerBayesNetClassifier",
    "InnerKMeans",
    "InnerTreeClassifier",
    "InnerTreeRegressor",
    "JointSubspaceClassifier",
    "StrataEnsembleClassifier",
    "StrataEnsembleRegressor",
    "__version__",
    "compare",
    "source_audit",
]
