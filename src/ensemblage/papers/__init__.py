"""The papers' tables and figures as experiments to run."""

from ensemblage.papers._registry import PAPER_EXPERIMENTS, paper_experiment

__all__ = [
    "PAPER_EXPERIMENTS",
    "paper_experiment",
]
