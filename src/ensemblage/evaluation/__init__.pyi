from ._calibration import Reliability as Reliability
from ._calibration import interval_reliability as interval_reliability
from ._calibration import reliability as reliability
from ._calibration import source_thresholds as source_thresholds
from ._calibration import weighted_threshold as weighted_threshold
from ._clustering_scores import nmi_score as nmi_score
from ._clustering_scores import purity_score as purity_score
from ._compare_methods import MethodComparison as MethodComparison
from ._compare_methods import MethodPair as MethodPair
from ._compare_methods import compare_methods as compare_methods
from ._compare_methods import holm as holm
from ._critical_difference_display import CriticalDifferenceDisplay as CriticalDifferenceDisplay
from ._diversity import KappaError as KappaError
from ._diversity import MemberDiversityDisplay as MemberDiversityDisplay
from ._diversity import OracleScore as OracleScore
from ._diversity import disagreement as disagreement
from ._diversity import entropy_diversity as entropy_diversity
from ._diversity import kappa as kappa
from ._diversity import kappa_error as kappa_error
from ._diversity import member_labels as member_labels
from ._diversity import oracle_score as oracle_score
from ._diversity import q_statistic as q_statistic
from ._measures import CLASSIFICATION as CLASSIFICATION
from ._measures import DECIDING as DECIDING
from ._measures import MEASURES as MEASURES
from ._measures import PROBABILITY_FLOOR as PROBABILITY_FLOOR
from ._measures import REGRESSION as REGRESSION
from ._measures import TASKS as TASKS
from ._measures import Measure as Measure
from ._measures import Predictions as Predictions
from ._measures import Task as Task
from ._measures import TaskName as TaskName
from ._measures import interval_coverage as interval_coverage
from ._measures import log_score as log_score
from ._measures import model_predictions as model_predictions
from ._practical_equivalence import PracticalPair as PracticalPair
from ._practical_equivalence import practical_equivalence as practical_equivalence
from ._residuals import PredictedValues as PredictedValues
from ._residuals import ResidualDisplay as ResidualDisplay
from ._residuals import SourceResiduals as SourceResiduals
from ._residuals import draw_residuals as draw_residuals
from ._residuals import draw_source_means as draw_source_means
from ._residuals import source_residuals as source_residuals

__all__ = [
    "CriticalDifferenceDisplay",
    "MemberDiversityDisplay",
    "ResidualDisplay",
    "compare_methods",
    "disagreement",
    "entropy_diversity",
    "interval_coverage",
    "kappa",
    "kappa_error",
    "log_score",
    "oracle_score",
    "practical_equivalence",
    "purity_score",
    "q_statistic",
    "reliability",
]
