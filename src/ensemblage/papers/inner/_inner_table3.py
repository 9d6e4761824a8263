"""Table 3 of the inner ensembles paper: purity of K-means with an inner ensemble."""

from ensemblage.papers._paper_table import paper_table
from ensemblage.papers.inner._inner_cluster_rows import ClusterMeasure
from ensemblage.papers.inner._inner_cluster_tables import ClusterTable


@paper_table("inner-table3")
class InnerTable3(ClusterTable):
    """Clusterings by their purity in the classes."""

    measure = ClusterMeasure("purity", "purity")
