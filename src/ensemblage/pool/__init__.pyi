from ._boosting import Boosting as Boosting
from ._boosting import BoostingSettings as BoostingSettings
from ._boosting import LightGBMTrees as LightGBMTrees
from ._boosting import LightGBMTreesRegressor as LightGBMTreesRegressor
from ._compact_members import Forest as Forest
from ._compact_members import ForestRegressor as ForestRegressor
from ._compact_members import KernelMachine as KernelMachine
from ._compact_members import KernelMachineRegressor as KernelMachineRegressor
from ._display import PoolDisplay as PoolDisplay
from ._distillation import Distilled as Distilled
from ._distillation import Soft as Soft
from ._distillation import fit_softly as fit_softly
from ._distillation import make_readable as make_readable
from ._ensemblage import EnsemblageClassifier as EnsemblageClassifier
from ._ensemblage import EnsemblageRegressor as EnsemblageRegressor
from ._fit import Candidate as Candidate
from ._fit import FittedPool as FittedPool
from ._fit import Verdict as Verdict
from ._fit import cross_fitted as cross_fitted
from ._fit import fuse as fuse
from ._fit import hold_out_members as hold_out_members
from ._fit import make_fusion as make_fusion
from ._fit import refit_member as refit_member
from ._leaderboard import Contribution as Contribution
from ._leaderboard import Contributions as Contributions
from ._leaderboard import HeldOutRecord as HeldOutRecord
from ._leaderboard import Leaderboard as Leaderboard
from ._leaderboard import NumberStanding as NumberStanding
from ._leaderboard import PrunedPool as PrunedPool
from ._leaderboard import Standing as Standing
from ._member_spec import PoolRows as PoolRows
from ._member_spec import Recipe as Recipe
from ._member_spec import shared_folds as shared_folds
from ._member_spec import thin as thin
from ._members import POOLS as POOLS
from ._members import resolve_pool as resolve_pool
from ._row_explanation import NumberDecision as NumberDecision
from ._row_explanation import NumberVoice as NumberVoice
from ._row_explanation import PoolDecision as PoolDecision
from ._row_explanation import Voice as Voice
from ._sources import BySource as BySource
from ._sources import KnownSources as KnownSources
from ._sources import LeftOutScores as LeftOutScores
from ._targets import FLOOR as FLOOR
from ._targets import PoolClasses as PoolClasses

__all__ = [
    "Contribution",
    "Contributions",
    "Distilled",
    "EnsemblageClassifier",
    "EnsemblageRegressor",
    "HeldOutRecord",
    "KnownSources",
    "Leaderboard",
    "NumberDecision",
    "NumberStanding",
    "NumberVoice",
    "PoolDecision",
    "PoolDisplay",
    "PrunedPool",
    "Standing",
    "Voice",
]
