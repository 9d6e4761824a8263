from ._base import EMPTY_CONTEXT as EMPTY_CONTEXT
from ._base import RESPONSE_METHODS as RESPONSE_METHODS
from ._base import FusedClassifierMixin as FusedClassifierMixin
from ._base import Fusion as Fusion
from ._base import FusionContext as FusionContext
from ._base import SourcedClassifierMixin as SourcedClassifierMixin
from ._base import are_probabilities as are_probabilities
from ._base import as_columns as as_columns
from ._base import common_response_method as common_response_method
from ._base import cross_val_combine as cross_val_combine
from ._base import member_outputs as member_outputs
from ._base import regressor_outputs as regressor_outputs
from ._base import regressor_response_method as regressor_response_method
from ._gates import AffinityGate as AffinityGate
from ._gates import AnchoredGate as AnchoredGate
from ._gates import LocalCompetence as LocalCompetence
from ._gates import SoftmaxGate as SoftmaxGate
from ._gates import gate_rule as gate_rule
from ._gates import local_accuracies as local_accuracies
from ._log_linear import LogLinearPool as LogLinearPool
from ._normal import SHARE_GRID as SHARE_GRID
from ._normal import Normals as Normals
from ._normal import VarianceCorrection as VarianceCorrection
from ._normal import fit_variance_correction as fit_variance_correction
from ._normal import normal_log_density as normal_log_density
from ._normal import normal_mixture as normal_mixture
from ._normal import normal_product as normal_product
from ._resolve import resolve_fusion as resolve_fusion
from ._rules import Mean as Mean
from ._rules import Product as Product
from ._rules import Vote as Vote
from ._rules import mean_rule as mean_rule
from ._rules import product_rule as product_rule
from ._rules import vote_rule as vote_rule
from ._stacking import MemberStackingClassifier as MemberStackingClassifier
from ._stacking import Stacking as Stacking
from ._stacking import encoded_members as encoded_members
from ._stacking import stack_members as stack_members
from ._stacking import stacking_features as stacking_features

__all__ = [
    "AffinityGate",
    "AnchoredGate",
    "Fusion",
    "FusionContext",
    "LocalCompetence",
    "LogLinearPool",
    "Mean",
    "MemberStackingClassifier",
    "Product",
    "Stacking",
    "Vote",
    "stack_members",
]
