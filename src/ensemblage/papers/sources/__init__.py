"""Studies of data from several sources: known sources, new sources, multilevel tables."""

from ensemblage.papers.sources import _multilevel as _multilevel
from ensemblage.papers.sources import _study as _study
