"""Pure numeric functions for the other packages: validated arrays in, arrays out."""

from typing import TYPE_CHECKING

from ensemblage.messages import lazy_door

if TYPE_CHECKING:
    from ensemblage.kernels._cache_watch import seem_compiling as seem_compiling
    from ensemblage.kernels._capping import Bins as Bins
    from ensemblage.kernels._capping import Caps as Caps
    from ensemblage.kernels._capping import bin_masses as bin_masses
    from ensemblage.kernels._capping import cap_for_size as cap_for_size
    from ensemblage.kernels._capping import log_memberships as log_memberships
    from ensemblage.kernels._capping import rows_in_bins as rows_in_bins
    from ensemblage.kernels._capping import sizes_at_edges as sizes_at_edges
    from ensemblage.kernels._cluster_sums import cluster_sums as cluster_sums
    from ensemblage.kernels._cluster_sums import own_distances as own_distances
    from ensemblage.kernels._compile import CompiledKernel as CompiledKernel
    from ensemblage.kernels._compile import compiled as compiled
    from ensemblage.kernels._crowd_cuts import ENTROPY as ENTROPY
    from ensemblage.kernels._crowd_cuts import GINI as GINI
    from ensemblage.kernels._crowd_cuts import POISSON as POISSON
    from ensemblage.kernels._crowd_cuts import SQUARED as SQUARED
    from ensemblage.kernels._crowd_cuts import CutRule as CutRule
    from ensemblage.kernels._crowd_cuts import Cuts as Cuts
    from ensemblage.kernels._crowd_cuts import NodeRows as NodeRows
    from ensemblage.kernels._crowd_cuts import RowTargets as RowTargets
    from ensemblage.kernels._crowd_cuts import bin_sums as bin_sums
    from ensemblage.kernels._crowd_cuts import bins_of as bins_of
    from ensemblage.kernels._crowd_cuts import candidate_cuts as candidate_cuts
    from ensemblage.kernels._crowd_cuts import count_draws as count_draws
    from ensemblage.kernels._crowd_cuts import cut_gains as cut_gains
    from ensemblage.kernels._crowd_cuts import rows_of_side as rows_of_side
    from ensemblage.kernels._exponential import exponentials as exponentials
    from ensemblage.kernels._forest_shares import PackedTrees as PackedTrees
    from ensemblage.kernels._forest_shares import forest_shares as forest_shares
    from ensemblage.kernels._gaussians import NO_BINS as NO_BINS
    from ensemblage.kernels._gaussians import Gaussians as Gaussians
    from ensemblage.kernels._gaussians import Kind as Kind
    from ensemblage.kernels._gaussians import Moments as Moments
    from ensemblage.kernels._gaussians import centred_columns as centred_columns
    from ensemblage.kernels._gaussians import estimate as estimate
    from ensemblage.kernels._gaussians import expectation as expectation
    from ensemblage.kernels._gaussians import log_densities as log_densities
    from ensemblage.kernels._gaussians import make_gaussians as make_gaussians
    from ensemblage.kernels._gaussians import moments as moments
    from ensemblage.kernels._instance_votes import Draws as Draws
    from ensemblage.kernels._instance_votes import instance_votes as instance_votes
    from ensemblage.kernels._k2 import ACCURACY as ACCURACY
    from ensemblage.kernels._k2 import BDEU as BDEU
    from ensemblage.kernels._k2 import BIC as BIC
    from ensemblage.kernels._k2 import CLASS as CLASS
    from ensemblage.kernels._k2 import K2 as K2
    from ensemblage.kernels._k2 import LIKELIHOOD as LIKELIHOOD
    from ensemblage.kernels._k2 import LOG as LOG
    from ensemblage.kernels._k2 import NO_EXTRA as NO_EXTRA
    from ensemblage.kernels._k2 import PROBABILITY as PROBABILITY
    from ensemblage.kernels._k2 import Family as Family
    from ensemblage.kernels._k2 import Nodes as Nodes
    from ensemblage.kernels._k2 import Rest as Rest
    from ensemblage.kernels._k2 import RowViews as RowViews
    from ensemblage.kernels._k2 import add_log_ratios as add_log_ratios
    from ensemblage.kernels._k2 import leave_one_out_scores as leave_one_out_scores
    from ensemblage.kernels._k2 import (
        leave_one_out_scores_by_entry as leave_one_out_scores_by_entry,
    )
    from ensemblage.kernels._k2 import local_scores as local_scores
    from ensemblage.kernels._masked_softmax import MaskedMember as MaskedMember
    from ensemblage.kernels._masked_softmax import StepBuffers as StepBuffers
    from ensemblage.kernels._masked_softmax import StepRows as StepRows
    from ensemblage.kernels._masked_softmax import candidate_step as candidate_step
    from ensemblage.kernels._masked_softmax import step_buffers as step_buffers
    from ensemblage.kernels._mdlp import bin_numbers as bin_numbers
    from ensemblage.kernels._mdlp import mdlp_cut_points as mdlp_cut_points
    from ensemblage.kernels._mixture_loss import MixtureParameters as MixtureParameters
    from ensemblage.kernels._mixture_loss import log_softmax as log_softmax
    from ensemblage.kernels._mixture_loss import member_log_proba as member_log_proba
    from ensemblage.kernels._mixture_loss import mixture_loss as mixture_loss
    from ensemblage.kernels._node_tables import CodedColumn as CodedColumn
    from ensemblage.kernels._node_tables import LookUp as LookUp
    from ensemblage.kernels._node_tables import Refinement as Refinement
    from ensemblage.kernels._node_tables import add_log_likelihood as add_log_likelihood
    from ensemblage.kernels._node_tables import entry_weights as entry_weights
    from ensemblage.kernels._node_tables import log_probabilities as log_probabilities
    from ensemblage.kernels._node_tables import refine as refine
    from ensemblage.kernels._prices import priced_memberships as priced_memberships
    from ensemblage.kernels._prices import sizes_at_prices as sizes_at_prices
    from ensemblage.kernels._sharing import N_BINS as N_BINS
    from ensemblage.kernels._sharing import bin_shares as bin_shares
    from ensemblage.kernels._sharing import share_rows as share_rows
    from ensemblage.kernels._shrunk_losses import ShrunkPaths as ShrunkPaths
    from ensemblage.kernels._shrunk_losses import node_means as node_means
    from ensemblage.kernels._shrunk_losses import shrinkage_factors as shrinkage_factors
    from ensemblage.kernels._shrunk_losses import shrunk_losses as shrunk_losses
    from ensemblage.kernels._soft_tree import LEAF as LEAF
    from ensemblage.kernels._soft_tree import Memberships as Memberships
    from ensemblage.kernels._soft_tree import SoftTree as SoftTree
    from ensemblage.kernels._soft_tree import leaf_memberships as leaf_memberships
    from ensemblage.kernels._soft_tree import node_sums as node_sums
    from ensemblage.kernels._soft_tree import predict_softly as predict_softly
    from ensemblage.kernels._soft_tree import views_right as views_right
    from ensemblage.kernels._softmax_loss import softmax_loss as softmax_loss
    from ensemblage.kernels._source_losses import SourceRows as SourceRows
    from ensemblage.kernels._source_losses import add_source_losses as add_source_losses
    from ensemblage.kernels._standing_out import StandingOut as StandingOut
    from ensemblage.kernels._standing_out import compare_medians as compare_medians
    from ensemblage.kernels._standing_out import compare_shares as compare_shares
    from ensemblage.kernels._view_votes import BoundedVotes as BoundedVotes
    from ensemblage.kernels._view_votes import Votes as Votes
    from ensemblage.kernels._view_votes import agreeing_views as agreeing_views
    from ensemblage.kernels._view_votes import bounded_view_votes as bounded_view_votes
    from ensemblage.kernels._view_votes import center_drift as center_drift
    from ensemblage.kernels._view_votes import view_votes as view_votes
    from ensemblage.kernels._weakest_links import CostedTree as CostedTree
    from ensemblage.kernels._weakest_links import link_strengths as link_strengths
    from ensemblage.kernels._weakest_links import parents_of as parents_of
else:
    __getattr__, __dir__ = lazy_door(__name__, __file__)
