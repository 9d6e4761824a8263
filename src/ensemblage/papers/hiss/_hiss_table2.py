"""Table 2 of the HISS paper: against a support vector machine, AdaBoost and bagging."""

from ensemblage.papers._paper_table import paper_table
from ensemblage.papers.hiss._hiss_errors import HissTable


@paper_table("hiss-table2")
class HissTable2(HissTable):
    """The paper's columns, and two controls that it does not have."""

    own_columns = ("rbf-svm", "majority")
