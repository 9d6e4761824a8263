"""Study of data from several sources: known sources and new sources."""

from ensemblage.papers.sources import _study as _study
