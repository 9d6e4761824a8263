from ._consensus import CSPA as CSPA
from ._consensus import HBGF as HBGF
from ._consensus import HGPA as HGPA
from ._consensus import MCLA as MCLA
from ._consensus import EvidenceAccumulation as EvidenceAccumulation
from ._partitions import co_association as co_association
from ._stability import ClusterStabilityDisplay as ClusterStabilityDisplay
from ._stability import StabilityCurve as StabilityCurve
from ._stability import stability_curve as stability_curve
from ._stability import stability_score as stability_score

__all__ = [
    "CSPA",
    "HBGF",
    "HGPA",
    "MCLA",
    "ClusterStabilityDisplay",
    "EvidenceAccumulation",
    "co_association",
    "stability_curve",
    "stability_score",
]
