"""The inner ensembles paper."""

from ensemblage.papers.inner import _inner_cluster_tables as _inner_cluster_tables
from ensemblage.papers.inner import _inner_figure2 as _inner_figure2
from ensemblage.papers.inner import _inner_noise as _inner_noise
from ensemblage.papers.inner import _inner_table1 as _inner_table1
from ensemblage.papers.inner import _inner_tree as _inner_tree
