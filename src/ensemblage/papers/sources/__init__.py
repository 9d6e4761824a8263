"""Data from several sources: what helps where they are known, and what to expect of new ones."""

from ensemblage.papers.sources import _study as _study
