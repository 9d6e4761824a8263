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
from ensemblage.kernels._prices import priced_memberships
from ensemblage.kernels._responsibilities import expectation
from ensemblage.kernels._sharing import N_BINS, share_rows

__all__ = [
    "N_BINS",
    "Caps",
    "CompiledKernel",
    "Gaussians",
    "Kind",
    "Moments",
    "bin_masses",
    "cap_for_size",
    "capped_memberships",
    "centred_columns",
    "compiled",
    "estimate",
    "expectation",
    "log_densities",
    "log_memberships",
    "make_gaussians",
    "moments",
    "priced_memberships",
    "rows_in_bins",
    "share_rows",
    "sizes_at_edges",
]
