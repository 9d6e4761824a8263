"""All three places of diversity at once: a pool of members that need no tuning by hand."""

from ensemblage.pool._boosting import Boosting as Boosting
from ensemblage.pool._boosting import BoostingSettings as BoostingSettings
from ensemblage.pool._contributions import Contribution, Contributions
from ensemblage.pool._distilling import Distilled
from ensemblage.pool._distilling import Soft as Soft
from ensemblage.pool._distilling import fit_softly as fit_softly
from ensemblage.pool._distilling import make_readable as make_readable
from ensemblage.pool._ensemblage_classifier import EnsemblageClassifier
from ensemblage.pool._ensemblage_regressor import EnsemblageRegressor
from ensemblage.pool._held_out import Candidate as Candidate
from ensemblage.pool._held_out import hold_out_members as hold_out_members
from ensemblage.pool._held_out import refit_member as refit_member
from ensemblage.pool._held_out_record import HeldOutRecord
from ensemblage.pool._known_sources import KnownSources
from ensemblage.pool._leaderboard import Leaderboard, NumberStanding, Standing
from ensemblage.pool._lightgbm_trees import LightGBMTrees as LightGBMTrees
from ensemblage.pool._members import POOLS as POOLS
from ensemblage.pool._members import resolve_pool as resolve_pool
from ensemblage.pool._pool_rows import PoolRows as PoolRows
from ensemblage.pool._pool_rows import shared_folds as shared_folds
from ensemblage.pool._pool_rows import thin as thin
from ensemblage.pool._pool_targets import FLOOR as FLOOR
from ensemblage.pool._pool_targets import PoolClasses as PoolClasses
from ensemblage.pool._pooling import Verdict as Verdict
from ensemblage.pool._pooling import cross_fitted as cross_fitted
from ensemblage.pool._pooling import fuse as fuse
from ensemblage.pool._pooling import make_fusion as make_fusion
from ensemblage.pool._pruning import PrunedPool
from ensemblage.pool._recipe import Recipe as Recipe
from ensemblage.pool._voices import NumberDecision, NumberVoice, PoolDecision, Voice

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
    "PrunedPool",
    "Standing",
    "Voice",
]
