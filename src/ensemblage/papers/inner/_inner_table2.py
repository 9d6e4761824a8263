"""Table 2 of the inner ensembles paper: mutual information of K-means with an inner ensemble."""

from ensemblage.papers._paper_table import paper_table
from ensemblage.papers.inner._inner_cluster_rows import ClusterMeasure
from ensemblage.papers.inner._inner_cluster_tables import ClusterTable


@paper_table("inner-table2")
class InnerTable2(ClusterTable):
    """Clusterings by their normalised mutual information with the classes."""

    measure = ClusterMeasure("nmi", "normalised mutual information")
