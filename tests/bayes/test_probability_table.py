import numpy as np
import pytest

from bayes.networks import table
from ensemblage.bayes import EntryCapError
from ensemblage.bayes._probability_table import check_entries


def test_each_row_has_the_distribution_of_its_configuration():
    wet = table(["rain", "sun"], [[0, 1], [1, 0]], [[0.9, 0.1], [0.2, 0.8]])
    found = wet.given(np.array([[1, 0], [1, 1], [0, 1]]))
    np.testing.assert_array_equal(found, [[0.2, 0.8], [1.0, 1.0], [0.9, 0.1]])
    alone = table([], [[]], [[0.3, 0.7]])
    np.testing.assert_array_equal(alone.given(np.zeros((2, 0), dtype=int)), [[0.3, 0.7]] * 2)


def test_the_cap_is_named_with_what_to_do():
    check_entries(10, 10, "wet", ["rain"])
    with pytest.raises(EntryCapError, match="'wet' given no parents would take 11 entries"):
        check_entries(11, 10, "wet", [])
