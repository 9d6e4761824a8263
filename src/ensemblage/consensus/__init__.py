"""Consensus clustering and cluster stability."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

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
