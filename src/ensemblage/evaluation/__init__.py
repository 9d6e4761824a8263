"""What ensembles and clusterings are worth, and pictures of it."""

from typing import TYPE_CHECKING

from ensemblage.messages import lazy_door

if TYPE_CHECKING:
    from ensemblage.evaluation._audited_sources import AuditedSource, SourceAudit
    from ensemblage.evaluation._cluster_stability_display import ClusterStabilityDisplay
    from ensemblage.evaluation._clustering_scores import nmi_score, purity_score
    from ensemblage.evaluation._co_selection_display import CoSelectionDisplay
    from ensemblage.evaluation._column_shift import ColumnShift
    from ensemblage.evaluation._compare_methods import MethodComparison, compare_methods
    from ensemblage.evaluation._critical_difference_display import CriticalDifferenceDisplay
    from ensemblage.evaluation._diversity import (
        DiversityMeasures,
        KappaError,
        disagreement,
        entropy,
        kappa,
        kappa_error,
        q_statistic,
    )
    from ensemblage.evaluation._member_diversity_display import MemberDiversityDisplay
    from ensemblage.evaluation._network_display import NetworkDisplay
    from ensemblage.evaluation._number_measures import interval_coverage, log_score
    from ensemblage.evaluation._oracle import OracleScore, oracle_score
    from ensemblage.evaluation._pairwise import MethodPair
    from ensemblage.evaluation._pairwise import holm as holm
    from ensemblage.evaluation._pool_display import (
        PoolDisplay,
        Reliability,
        interval_reliability,
        reliability,
    )
    from ensemblage.evaluation._practical_equivalence import PracticalPair, practical_equivalence
    from ensemblage.evaluation._prototype_display import PrototypeDisplay
    from ensemblage.evaluation._random_effects import new_bound as new_bound
    from ensemblage.evaluation._residual_display import ResidualDisplay
    from ensemblage.evaluation._residual_display import draw_residuals as draw_residuals
    from ensemblage.evaluation._residual_display import draw_source_means as draw_source_means
    from ensemblage.evaluation._residuals import PredictedNumbers as PredictedNumbers
    from ensemblage.evaluation._residuals import SourceResiduals
    from ensemblage.evaluation._residuals import source_residuals as source_residuals
    from ensemblage.evaluation._source_audit import source_audit
    from ensemblage.evaluation._source_display import SourceDisplay
    from ensemblage.evaluation._source_display import draw_calibration_fan as draw_calibration_fan
    from ensemblage.evaluation._source_display import draw_source_errors as draw_source_errors
    from ensemblage.evaluation._source_predictions import HeldOut as HeldOut
    from ensemblage.evaluation._source_predictions import held_out as held_out
    from ensemblage.evaluation._source_predictions import ordinary_folds as ordinary_folds
    from ensemblage.evaluation._source_predictions import source_folds as source_folds
    from ensemblage.evaluation._stability import stability_score
    from ensemblage.evaluation._stability_display import StabilityDisplay
    from ensemblage.evaluation._strata_display import StrataDisplay
    from ensemblage.evaluation._tree_display import TreeDisplay
else:
    __getattr__, __dir__ = lazy_door(__name__, __file__)

__all__ = [
    "AuditedSource",
    "ClusterStabilityDisplay",
    "CoSelectionDisplay",
    "ColumnShift",
    "CriticalDifferenceDisplay",
    "DiversityMeasures",
    "KappaError",
    "MemberDiversityDisplay",
    "MethodComparison",
    "MethodPair",
    "NetworkDisplay",
    "OracleScore",
    "PoolDisplay",
    "PracticalPair",
    "PrototypeDisplay",
    "Reliability",
    "ResidualDisplay",
    "SourceAudit",
    "SourceDisplay",
    "SourceResiduals",
    "StabilityDisplay",
    "StrataDisplay",
    "TreeDisplay",
    "compare_methods",
    "disagreement",
    "entropy",
    "interval_coverage",
    "interval_reliability",
    "kappa",
    "kappa_error",
    "log_score",
    "nmi_score",
    "oracle_score",
    "practical_equivalence",
    "purity_score",
    "q_statistic",
    "reliability",
    "source_audit",
    "stability_score",
]
