"""Measures, diversity of members, statistical comparison of methods."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "CriticalDifferenceDisplay",
    "MemberDiversityDisplay",
    "ResidualDisplay",
    "compare_methods",
    "disagreement",
    "entropy_diversity",
    "interval_coverage",
    "kappa",
    "kappa_error",
    "log_score",
    "oracle_score",
    "practical_equivalence",
    "purity_score",
    "q_statistic",
    "reliability",
]
