"""Inner ensembles: one model, learned with an ensemble inside the learner."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "InnerBayesNetClassifier",
    "InnerEnsemble",
    "InnerKMeans",
    "InnerTreeClassifier",
    "InnerTreeRegressor",
    "Measure",
    "PrototypeDisplay",
    "TreeDisplay",
    "ViewSampler",
    "inner_score",
]
