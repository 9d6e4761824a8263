from ._base import NOTHING_KNOWN as NOTHING_KNOWN
from ._base import FusedClassifierMixin as FusedClassifierMixin
from ._base import Fusion as Fusion
from ._base import FusionContext as FusionContext
from ._base import SourcedClassifierMixin as SourcedClassifierMixin
from ._base import fused_outputs as fused_outputs
from ._gates import AnchoredGate as AnchoredGate
from ._gates import DensityGate as DensityGate
from ._gates import Gate as Gate
from ._gates import LocalCompetence as LocalCompetence
from ._gates import SoftmaxGate as SoftmaxGate
from ._gates import gate_rule as gate_rule
from ._gates import local_accuracies as local_accuracies
from ._log_linear import DensityPool as DensityPool
from ._log_linear import LogPool as LogPool
from ._normal import SHARES as SHARES
from ._normal import Normals as Normals
from ._normal import Spread as Spread
from ._normal import learn_spread as learn_spread
from ._normal import normal_log_density as normal_log_density
from ._normal import normal_mixture as normal_mixture
from ._normal import normal_product as normal_product
from ._outputs import RESPONSES as RESPONSES
from ._outputs import are_probabilities as are_probabilities
from ._outputs import as_columns as as_columns
from ._outputs import common_response as common_response
from ._outputs import member_outputs as member_outputs
from ._outputs import number_outputs as number_outputs
from ._outputs import number_response as number_response
from ._resolve import resolve_fusion as resolve_fusion
from ._rules import Mean as Mean
from ._rules import Product as Product
from ._rules import Vote as Vote
from ._rules import mean_rule as mean_rule
from ._rules import product_rule as product_rule
from ._rules import vote_rule as vote_rule
from ._stacking import DensityMean as DensityMean
from ._stacking import DensityStacking as DensityStacking
from ._stacking import MemberStackingClassifier as MemberStackingClassifier
from ._stacking import Stacking as Stacking
from ._stacking import members_of as members_of
from ._stacking import stack_features as stack_features
from ._stacking import stack_members as stack_members

__all__ = [
    "AnchoredGate",
    "DensityGate",
    "DensityMean",
    "DensityPool",
    "DensityStacking",
    "Fusion",
    "FusionContext",
    "Gate",
    "LocalCompetence",
    "LogPool",
    "Mean",
    "MemberStackingClassifier",
    "Product",
    "SoftmaxGate",
    "Stacking",
    "Vote",
    "as_columns",
    "gate_rule",
    "local_accuracies",
    "mean_rule",
    "product_rule",
    "resolve_fusion",
    "stack_features",
    "stack_members",
    "vote_rule",
]
