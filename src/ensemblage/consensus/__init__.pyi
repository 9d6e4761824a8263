from ._base import ConsensusClusterer as ConsensusClusterer
from ._display import ClusterStabilityDisplay as ClusterStabilityDisplay
from ._evidence_accumulation import EvidenceAccumulation as EvidenceAccumulation
from ._graphs import CSPA as CSPA
from ._graphs import HBGF as HBGF
from ._graphs import HGPA as HGPA
from ._graphs import MCLA as MCLA
from ._partitions import co_association as co_association
from ._stability import StabilityCurve as StabilityCurve
from ._stability import stability_curve as stability_curve
from ._stability import stability_score as stability_score

__all__ = [
    "CSPA",
    "HBGF",
    "HGPA",
    "MCLA",
    "ClusterStabilityDisplay",
    "ConsensusClusterer",
    "EvidenceAccumulation",
    "StabilityCurve",
    "co_association",
    "stability_curve",
    "stability_score",
]
