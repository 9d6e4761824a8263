"""Measures, diversity of members, statistical comparison of methods."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "CriticalDifferenceDisplay",
    "DiversityMeasures",
    "KappaError",
    "MemberDiversityDisplay",
    "MethodComparison",
    "MethodPair",
    "OracleScore",
    "PracticalPair",
    "Reliability",
    "ResidualDisplay",
    "SourceResiduals",
    "compare_methods",
    "disagreement",
    "entropy",
    "interval_coverage",
    "interval_reliability",
    "kappa",
    "kappa_error",
    "log_score",
    "nmi_score",
    "oracle_score",
    "practical_equivalence",
    "purity_score",
    "q_statistic",
    "reliability",
]
