"""Tables written out, for tests of networks."""

import numpy as np

from ensemblage.bayes import ProbabilityTable


def table(parents, configurations, probabilities):
    """Make a table from plain lists."""
    listed = np.array(configurations).reshape(len(probabilities), len(parents))
    return ProbabilityTable(parents, listed, np.array(probabilities))
