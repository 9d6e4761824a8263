"""Table 3 of the HISS paper: against clusters of a Gaussian mixture."""

from ensemblage.papers._paper_table import paper_table
from ensemblage.papers.hiss._hiss_errors import HissTable


@paper_table("hiss-table3")
class HissTable3(HissTable):
    """The paper's columns alone."""
