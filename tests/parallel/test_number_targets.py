import numpy as np
import pytest

from ensemblage.parallel import as_numbers


def test_numbers_are_doubles():
    assert as_numbers([1, 2]).dtype == np.float64
    np.testing.assert_array_equal(as_numbers(np.array(["1.5", "2"])), [1.5, 2.0])


@pytest.mark.parametrize("y", [np.array(["a", "b"]), np.array(["a", 1], dtype=object)])
def test_words_are_refused_by_name(y):
    with pytest.raises(ValueError, match="y holds 'a', which is no number"):
        as_numbers(y)
