from ._boosting import Boosting as Boosting
from ._boosting import BoostingSettings as BoostingSettings
from ._boosting import LightGBMClassifier as LightGBMClassifier
from ._boosting import LightGBMRegressor as LightGBMRegressor
from ._catboost import CatBoostClassifier as CatBoostClassifier
from ._catboost import CatBoostRegressor as CatBoostRegressor
from ._columns import ColumnContribution as ColumnContribution
from ._columns import ColumnContributions as ColumnContributions
from ._columns import ColumnImportance as ColumnImportance
from ._columns import ColumnImportanceRow as ColumnImportanceRow
from ._columns import explain_by_columns as explain_by_columns
from ._columns import gather as gather
from ._columns import log_contrast as log_contrast
from ._columns import n_permutations_for as n_permutations_for
from ._columns import permute_columns as permute_columns
from ._columns import places_for as places_for
from ._columns import stack_rows as stack_rows
from ._columns import summarise_importance as summarise_importance
from ._compact_members import CompactForestClassifier as CompactForestClassifier
from ._compact_members import CompactForestRegressor as CompactForestRegressor
from ._compact_members import CompactSVC as CompactSVC
from ._compact_members import CompactSVR as CompactSVR
from ._display import PoolDisplay as PoolDisplay
from ._distillation import DistilledModel as DistilledModel
from ._distillation import fit_to_probabilities as fit_to_probabilities
from ._distillation import make_student as make_student
from ._ensemblage import EnsemblageClassifier as EnsemblageClassifier
from ._ensemblage import EnsemblageRegressor as EnsemblageRegressor
from ._fit import LARGE_DATA_ROWS as LARGE_DATA_ROWS
from ._fit import FittedPool as FittedPool
from ._fit import cross_fuse as cross_fuse
from ._fit import cross_validate_members as cross_validate_members
from ._fit import fit_fusion as fit_fusion
from ._fit import fit_lasting_fusion as fit_lasting_fusion
from ._fit import make_fusion as make_fusion
from ._fit import refit_member as refit_member
from ._leaderboard import Ablation as Ablation
from ._leaderboard import AblationRow as AblationRow
from ._leaderboard import Leaderboard as Leaderboard
from ._leaderboard import LeaderboardRow as LeaderboardRow
from ._leaderboard import OutOfFold as OutOfFold
from ._leaderboard import PruningStep as PruningStep
from ._member_spec import PRIOR_WEIGHT as PRIOR_WEIGHT
from ._member_spec import TABLE as TABLE
from ._member_spec import MemberSpec as MemberSpec
from ._member_spec import PoolClassTarget as PoolClassTarget
from ._member_spec import TrainingData as TrainingData
from ._member_spec import TunedMember as TunedMember
from ._member_spec import make_cv_folds as make_cv_folds
from ._member_spec import mean_and_error as mean_and_error
from ._member_spec import stratified_subsample as stratified_subsample
from ._members import CLASSIFIER_POOLS as CLASSIFIER_POOLS
from ._members import resolve_members as resolve_members
from ._row_explanation import MemberContribution as MemberContribution
from ._row_explanation import RowExplanation as RowExplanation
from ._source_members import GivenNormals as GivenNormals
from ._source_members import GivenProbabilities as GivenProbabilities
from ._source_members import SourceAwareClassifier as SourceAwareClassifier
from ._source_members import SourceAwareRegressor as SourceAwareRegressor
from ._sources import ColumnPool as ColumnPool
from ._sources import SourcePool as SourcePool

__all__ = [
    "EnsemblageClassifier",
    "EnsemblageRegressor",
    "Leaderboard",
    "PoolDisplay",
    "RowExplanation",
]
