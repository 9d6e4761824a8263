"""Decisions inside one learner, taken by a crowd."""

from typing import TYPE_CHECKING

from ensemblage.messages import lazy_door

if TYPE_CHECKING:
    from ensemblage.inner._bayes_net import InnerBayesNetClassifier
    from ensemblage.inner._inner_ensemble import InnerEnsemble, Measure, ViewSampler, draw_views
    from ensemblage.inner._inner_ensemble import draw_feature_views as draw_feature_views
    from ensemblage.inner._inner_ensemble import mean_of_views as mean_of_views
    from ensemblage.inner._kmeans import InnerKMeans
    from ensemblage.inner._kmeans_labels import labelled_blocks as labelled_blocks
    from ensemblage.inner._score import InnerScore, inner_score
    from ensemblage.inner._tree import InnerTreeClassifier, InnerTreeRegressor
    from ensemblage.inner._tree_base import BaseInnerTree as BaseInnerTree
    from ensemblage.inner._tree_base import outline_of as outline_of
    from ensemblage.inner._tree_base import tree_words as tree_words
    from ensemblage.inner._tree_choice import STRENGTHS as STRENGTHS
    from ensemblage.inner._tree_choice import FoldPlan as FoldPlan
    from ensemblage.inner._tree_choice import NodeValues as NodeValues
    from ensemblage.inner._tree_choice import TreeRecipe as TreeRecipe
    from ensemblage.inner._tree_choice import alpha_grid as alpha_grid
    from ensemblage.inner._tree_crowd import draw_bootstraps as draw_bootstraps
    from ensemblage.inner._tree_learning import Learned as Learned
    from ensemblage.inner._tree_learning import learn_tree as learn_tree
    from ensemblage.inner._tree_path import TreePath, TreeStep
    from ensemblage.inner._tree_reading import TreeWords as TreeWords
    from ensemblage.inner._tree_reading import as_text as as_text
    from ensemblage.inner._tree_reading import asked as asked
    from ensemblage.inner._tree_reading import outline as outline
    from ensemblage.inner._tree_structure import LARGEST as LARGEST
    from ensemblage.inner._tree_structure import GrowthRule as GrowthRule
    from ensemblage.inner._tree_structure import Structure as Structure
    from ensemblage.inner._tree_structure import TreeRows as TreeRows
    from ensemblage.inner._tree_structure import pruned as pruned
else:
    __getattr__, __dir__ = lazy_door(__name__, __file__)

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
