from ._bayes_net import InnerBayesNetClassifier as InnerBayesNetClassifier
from ._display import PrototypeDisplay as PrototypeDisplay
from ._display import TreeDisplay as TreeDisplay
from ._inner_ensemble import InnerEnsemble as InnerEnsemble
from ._inner_ensemble import InnerScore as InnerScore
from ._inner_ensemble import Measure as Measure
from ._inner_ensemble import ViewSampler as ViewSampler
from ._inner_ensemble import draw_feature_views as draw_feature_views
from ._inner_ensemble import draw_views as draw_views
from ._inner_ensemble import inner_score as inner_score
from ._inner_ensemble import mean_of_views as mean_of_views
from ._inner_ensemble import sample_views as sample_views
from ._kmeans import InnerKMeans as InnerKMeans
from ._kmeans import labelled_blocks as labelled_blocks
from ._kmeans_kernels import ClusterSums as ClusterSums
from ._kmeans_kernels import Draws as Draws
from ._kmeans_kernels import add_cluster_sums as add_cluster_sums
from ._kmeans_kernels import cluster_means as cluster_means
from ._kmeans_kernels import own_distances as own_distances
from ._tree import BaseInnerTree as BaseInnerTree
from ._tree import InnerTreeClassifier as InnerTreeClassifier
from ._tree import InnerTreeRegressor as InnerTreeRegressor
from ._tree import TreeNames as TreeNames
from ._tree import TreePath as TreePath
from ._tree import TreeStep as TreeStep
from ._tree import as_text as as_text
from ._tree import describe_split as describe_split
from ._tree import outline as outline
from ._tree import tree_names as tree_names
from ._tree_decisions import rows_at_splits as rows_at_splits
from ._tree_drawing import TreeDrawing as TreeDrawing
from ._tree_drawing import TreeNode as TreeNode
from ._tree_drawing import draw_tree as draw_tree
from ._tree_drawing import tree_svg as tree_svg
from ._tree_growth import LARGEST as LARGEST
from ._tree_growth import SHRINKAGE_GRID as SHRINKAGE_GRID
from ._tree_growth import FittedTree as FittedTree
from ._tree_growth import TreeSettings as TreeSettings
from ._tree_growth import alpha_grid as alpha_grid
from ._tree_growth import draw_bootstraps as draw_bootstraps
from ._tree_growth import learn_tree as learn_tree
from ._tree_growth import pruned as pruned
from ._tree_kernels import RowTargets as RowTargets
from ._tree_kernels import SoftTree as SoftTree
from ._tree_kernels import TreeRows as TreeRows
from ._tree_kernels import bin_sums as bin_sums
from ._tree_kernels import bins_of as bins_of
from ._tree_kernels import candidate_cuts as candidate_cuts
from ._tree_kernels import predict_soft as predict_soft
from ._tree_kernels import pruning_alphas as pruning_alphas

__all__ = [
    "InnerBayesNetClassifier",
    "InnerEnsemble",
    "InnerKMeans",
    "InnerTreeClassifier",
    "InnerTreeRegressor",
    "Measure",
    "PrototypeDisplay",
    "TreeDisplay",
    "ViewSampler",
    "inner_score",
]
