from ._classifier import NETWORK_DOCS as NETWORK_DOCS
from ._classifier import BaseBayesNet as BaseBayesNet
from ._classifier import BayesNetClassifier as BayesNetClassifier
from ._classifier import Estimate as Estimate
from ._coding import MAX_ENTRIES as MAX_ENTRIES
from ._coding import Coder as Coder
from ._coding import EntryCapError as EntryCapError
from ._coding import ProbabilityTable as ProbabilityTable
from ._coding import Sample as Sample
from ._coding import Training as Training
from ._coding import code_columns as code_columns
from ._coding import code_sample as code_sample
from ._coding import fill_missing as fill_missing
from ._coding import full_grid as full_grid
from ._coding import read_training as read_training
from ._discretizer import MDLPDiscretizer as MDLPDiscretizer
from ._display import NetworkDisplay as NetworkDisplay
from ._exchange import NetworkFormatError as NetworkFormatError
from ._layout import HEAD as HEAD
from ._layout import Box as Box
from ._layout import NetworkDrawing as NetworkDrawing
from ._layout import arrow_width as arrow_width
from ._layout import draw_network as draw_network
from ._network import BayesNetwork as BayesNetwork
from ._score_kernels import CLASS as CLASS
from ._score_kernels import NO_EXTRA as NO_EXTRA
from ._score_kernels import PROBABILITY as PROBABILITY
from ._search import Candidates as Candidates
from ._search import LeaveOneOutMeasure as LeaveOneOutMeasure
from ._search import NetworkConstraints as NetworkConstraints
from ._search import Score as Score
from ._search import SearchSpace as SearchSpace
from ._search import Structure as Structure
from ._search import criterion_of as criterion_of
from ._search import first_best as first_best
from ._search import k2_search as k2_search
from ._search import make_measure as make_measure
from ._search import plan_search as plan_search
from ._tables import FittedNetwork as FittedNetwork
from ._tables import NodeTable as NodeTable
from ._tables import fit_expected as fit_expected
from ._tables import fit_network as fit_network
from ._tables import fit_prior as fit_prior
from ._tables import fit_table as fit_table

__all__ = [
    "BayesNetClassifier",
    "BayesNetwork",
    "MDLPDiscretizer",
    "NetworkConstraints",
    "NetworkDisplay",
]
