"""One clustering out of many."""

from ensemblage.consensus._base import ConsensusClusterer
from ensemblage.consensus._co_association import co_association
from ensemblage.consensus._evidence_accumulation import EvidenceAccumulation
from ensemblage.consensus._graph_cuts import CSPA, HBGF
from ensemblage.consensus._hgpa import HGPA
from ensemblage.consensus._mcla import MCLA
from ensemblage.consensus._stability_curve import StabilityCurve, stability_curve

__all__ = [
    "CSPA",
    "HBGF",
    "HGPA",
    "MCLA",
    "ConsensusClusterer",
    "EvidenceAccumulation",
    "StabilityCurve",
    "co_association",
    "stability_curve",
]
