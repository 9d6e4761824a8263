"""Options that name what a registry knows."""

from ensemblage.cli._cluster_command import CLUSTER_NAMES
from ensemblage.cli._options import METHOD_NAMES
from ensemblage.methods import CLUSTER_METHODS, METHODS


def test_names_written_out_are_those_of_the_registries():
    assert ", ".join(METHODS) == METHOD_NAMES
    assert ", ".join(CLUSTER_METHODS) == CLUSTER_NAMES
