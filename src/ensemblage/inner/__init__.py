"""Decisions inside one learner, taken by a crowd."""

from ensemblage.inner._bayes_net import InnerBayesNetClassifier
from ensemblage.inner._inner_ensemble import InnerEnsemble, Measure
from ensemblage.inner._kmeans import InnerKMeans
from ensemblage.inner._score import InnerScore, inner_score
from ensemblage.inner._views import ViewSampler, draw_views

__all__ = [
    "InnerBayesNetClassifier",
    "InnerEnsemble",
    "InnerKMeans",
    "InnerScore",
    "Measure",
    "ViewSampler",
    "draw_views",
    "inner_score",
]

from ensemblage.inner._views import draw_feature_views as draw_feature_views
