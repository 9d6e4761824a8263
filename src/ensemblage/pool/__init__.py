"""All three places of diversity at once: a pool of members that need no tuning by hand."""

from ensemblage.pool._contributions import Contribution, Contributions
from ensemblage.pool._distilling import Distilled
from ensemblage.pool._ensemblage_classifier import EnsemblageClassifier
from ensemblage.pool._held_out_record import HeldOutRecord
from ensemblage.pool._leaderboard import Leaderboard, Standing
from ensemblage.pool._pruning import PrunedPool
from ensemblage.pool._voices import PoolDecision, Voice

__all__ = [
    "Contribution",
    "Contributions",
    "Distilled",
    "EnsemblageClassifier",
    "HeldOutRecord",
    "Leaderboard",
    "PoolDecision",
    "PrunedPool",
    "Standing",
    "Voice",
]
