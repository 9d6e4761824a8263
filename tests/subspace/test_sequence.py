import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ensemblage.subspace._sequence import member_weights


def test_weights_by_hand():
    np.testing.assert_array_equal(member_weights(np.array([0.3, 0.0]), 0), [1, 1])
    np.testing.assert_allclose(member_weights(np.array([1.5, 0.2]), 2), [0.25, 0.9])


@given(arrays(float, 7, elements=st.floats(0, 5)))
def test_weights_are_above_zero_and_at_most_one(sums):
    weights = member_weights(sums, 5)
    assert weights.min() >= 1e-6
    assert weights.max() <= 1
