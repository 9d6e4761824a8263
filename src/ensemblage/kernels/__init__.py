"""Pure numeric functions: validated arrays in, arrays out."""

from ensemblage.kernels._capping import (
    Caps,
    bin_masses,
    cap_for_size,
    capped_memberships,
    log_memberships,
    rows_in_bins,
    sizes_at_edges,
)
from ensemblage.kernels._compile import CompiledKernel, compiled
from ensemblage.kernels._gaussians import (
    Gaussians,
    Kind,
    Moments,
    centred_columns,
    estimate,
    log_densities,
    make_gaussians,
    moments,
)
from ensemblage.kernels._masked_softmax import StepBuffers, candidate_step, step_buffers
from ensemblage.kernels._mixture_loss import (
    MixtureParameters,
    log_softmax,
    member_log_proba,
    mixture_loss,
)
from ensemblage.kernels._prices import priced_memberships, sizes_at_prices
from ensemblage.kernels._responsibilities import expectation
from ensemblage.kernels._sharing import N_BINS, bin_shares, share_rows
from ensemblage.kernels._softmax_loss import softmax_loss

__all__ = [
    "N_BINS",
    "Caps",
    "CompiledKernel",
    "Gaussians",
    "Kind",
    "MixtureParameters",
    "Moments",
    "StepBuffers",
    "bin_masses",
    "bin_shares",
    "candidate_step",
    "cap_for_size",
    "capped_memberships",
    "centred_columns",
    "compiled",
    "estimate",
    "expectation",
    "log_densities",
    "log_memberships",
    "log_softmax",
    "make_gaussians",
    "member_log_proba",
    "mixture_loss",
    "moments",
    "priced_memberships",
    "rows_in_bins",
    "share_rows",
    "sizes_at_edges",
    "sizes_at_prices",
    "softmax_loss",
    "step_buffers",
]
