"""Decisions inside one learner, taken by a crowd."""

from ensemblage.inner._bayes_net import InnerBayesNetClassifier
from ensemblage.inner._inner_ensemble import InnerEnsemble, Measure, ViewSampler, draw_views
from ensemblage.inner._kmeans import InnerKMeans
from ensemblage.inner._score import InnerScore, inner_score
from ensemblage.inner._tree import InnerTreeClassifier, InnerTreeRegressor
from ensemblage.inner._tree_path import TreePath, TreeStep

__all__ = [
    "InnerBayesNetClassifier",
    "InnerEnsemble",
    "InnerKMeans",
    "InnerScore",
    "InnerTreeClassifier",
    "InnerTreeRegressor",
    "Measure",
    "TreePath",
    "TreeStep",
    "ViewSampler",
    "draw_views",
    "inner_score",
]

from ensemblage.inner._inner_ensemble import draw_feature_views as draw_feature_views
