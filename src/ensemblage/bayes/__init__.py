"""Bayesian network classifiers that can be read."""

from typing import TYPE_CHECKING

from ensemblage.messages import lazy_door

if TYPE_CHECKING:
    from ensemblage.bayes._arc_constraints import NetworkConstraints
    from ensemblage.bayes._base import BaseBayesNet as BaseBayesNet
    from ensemblage.bayes._base import Found as Found
    from ensemblage.bayes._base import Learned as Learned
    from ensemblage.bayes._base import Plan as Plan
    from ensemblage.bayes._coding import Coder as Coder
    from ensemblage.bayes._coding import Grid as Grid
    from ensemblage.bayes._coding import Sample as Sample
    from ensemblage.bayes._coding import Training as Training
    from ensemblage.bayes._coding import code_columns as code_columns
    from ensemblage.bayes._coding import code_sample as code_sample
    from ensemblage.bayes._coding import fill_missing as fill_missing
    from ensemblage.bayes._discretizer import MDLPDiscretizer
    from ensemblage.bayes._expected_tables import Estimation as Estimation
    from ensemblage.bayes._interchange import NetworkFormatError
    from ensemblage.bayes._k2_search import LeaveOneOutMeasure as LeaveOneOutMeasure
    from ensemblage.bayes._k2_search import k2_search as k2_search
    from ensemblage.bayes._k2_search import make_measure as make_measure
    from ensemblage.bayes._network import BayesNetwork
    from ensemblage.bayes._network_classifier import BayesNetClassifier
    from ensemblage.bayes._network_tables import FittedNetwork as FittedNetwork
    from ensemblage.bayes._network_tables import NodeTable as NodeTable
    from ensemblage.bayes._network_tables import fit_network as fit_network
    from ensemblage.bayes._network_tables import fit_prior as fit_prior
    from ensemblage.bayes._network_words import NETWORK_DOCS as NETWORK_DOCS
    from ensemblage.bayes._probability_table import MAX_ENTRIES as MAX_ENTRIES
    from ensemblage.bayes._probability_table import EntryCapError, ProbabilityTable
    from ensemblage.bayes._reading import read_training as read_training
    from ensemblage.bayes._search_space import Candidates as Candidates
    from ensemblage.bayes._search_space import SearchSpace as SearchSpace
    from ensemblage.bayes._search_space import Structure as Structure
    from ensemblage.bayes._search_space import first_best as first_best
    from ensemblage.bayes._searches import criterion_of as criterion_of
    from ensemblage.bayes._searches import plan_search as plan_search
else:
    __getattr__, __dir__ = lazy_door(__name__, __file__)

__all__ = [
    "BayesNetClassifier",
    "BayesNetwork",
    "EntryCapError",
    "MDLPDiscretizer",
    "NetworkConstraints",
    "NetworkFormatError",
    "ProbabilityTable",
]
