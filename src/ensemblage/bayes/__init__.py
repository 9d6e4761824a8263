"""Bayesian network classifiers: discretisation, structure search, probability tables."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "BayesNetClassifier",
    "BayesNetwork",
    "MDLPDiscretizer",
    "NetworkConstraints",
    "NetworkDisplay",
]
