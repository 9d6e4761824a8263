"""Bayesian network classifiers that can be read."""

from ensemblage.bayes._cells import EntryCapError
from ensemblage.bayes._classifier import BayesNetClassifier
from ensemblage.bayes._discretizer import MDLPDiscretizer
from ensemblage.bayes._network import BayesNetwork
from ensemblage.bayes._parts import NetworkFormatError

__all__ = [
    "BayesNetClassifier",
    "BayesNetwork",
    "EntryCapError",
    "MDLPDiscretizer",
    "NetworkFormatError",
]
