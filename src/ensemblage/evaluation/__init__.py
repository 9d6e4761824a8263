"""Drawings of what was learned."""

from ensemblage.evaluation._network_display import NetworkDisplay

__all__ = ["NetworkDisplay"]
