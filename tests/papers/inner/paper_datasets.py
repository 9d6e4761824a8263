"""The fifteen datasets of the paper's clusterings."""

from ensemblage.papers._declaration import read_printed
from reference.papers_data import read


def all_datasets(shared):
    return {name: read(shared, name) for name in read_printed("inner-table2").rows}
