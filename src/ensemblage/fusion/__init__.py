"""How members' outputs become one."""

from typing import TYPE_CHECKING

from ensemblage.messages import lazy_door

if TYPE_CHECKING:
    from ensemblage.fusion._affinity_gate import Gate, gate_rule
    from ensemblage.fusion._anchored_gate import AnchoredGate
    from ensemblage.fusion._base import NOTHING_KNOWN as NOTHING_KNOWN
    from ensemblage.fusion._base import FusedClassifierMixin as FusedClassifierMixin
    from ensemblage.fusion._base import Fusion, FusionContext
    from ensemblage.fusion._base import take_rows as take_rows
    from ensemblage.fusion._by_name import resolve_fusion
    from ensemblage.fusion._density_gate import DensityGate
    from ensemblage.fusion._density_pool import DensityPool
    from ensemblage.fusion._density_rules import DensityMean, DensityStacking
    from ensemblage.fusion._fixed_rules import Mean, Vote, mean_rule, vote_rule
    from ensemblage.fusion._foreign_members import members_of as members_of
    from ensemblage.fusion._local_competence import LocalCompetence, local_accuracies
    from ensemblage.fusion._log_pool import LogPool
    from ensemblage.fusion._member_outputs import RESPONSES as RESPONSES
    from ensemblage.fusion._member_outputs import are_probabilities as are_probabilities
    from ensemblage.fusion._member_outputs import common_response as common_response
    from ensemblage.fusion._member_outputs import member_outputs as member_outputs
    from ensemblage.fusion._member_stacking import MemberStackingClassifier, stack_members
    from ensemblage.fusion._number_outputs import number_outputs as number_outputs
    from ensemblage.fusion._number_outputs import number_response as number_response
    from ensemblage.fusion._product import Product, product_rule
    from ensemblage.fusion._softmax_gate import SoftmaxGate
    from ensemblage.fusion._sourced_classifier import (
        SourcedClassifierMixin as SourcedClassifierMixin,
    )
    from ensemblage.fusion._stacking import Stacking, as_columns, stack_features
else:
    __getattr__, __dir__ = lazy_door(__name__, __file__)

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
