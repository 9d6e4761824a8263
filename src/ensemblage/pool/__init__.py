"""All three places of diversity at once: a pool of members that need no tuning by hand."""

from ensemblage.pool._ensemblage_classifier import EnsemblageClassifier
from ensemblage.pool._leaderboard import Leaderboard, Standing

__all__ = ["EnsemblageClassifier", "Leaderboard", "Standing"]
