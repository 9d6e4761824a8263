"""The inner ensembles paper."""

from ensemblage.papers.inner import _clusters as _clusters
from ensemblage.papers.inner import _networks as _networks
from ensemblage.papers.inner import _sampling as _sampling
from ensemblage.papers.inner import _trees as _trees
