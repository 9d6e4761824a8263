import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ensemblage.consensus import co_association
from ensemblage.consensus._co_association import condensed_distances
from ensemblage.consensus._partitions import check_partitions
from reference.consensus import co_association as literal

some_partitions = arrays(int, (4, 7), elements=st.integers(-1, 3)).filter(
    lambda p: (p != -1).any(axis=1).all()
)


def test_co_association_counts_only_partitions_that_saw_both():
    shares = co_association([[0, 0, 1], [0, -1, 0], [0, 0, -1]]).toarray()
    np.testing.assert_allclose(shares, [[1, 1, 0.5], [1, 1, 0], [0.5, 0, 1]])


@given(some_partitions)
def test_co_association_equals_the_pairwise_count(partitions):
    expected = literal(partitions)
    np.testing.assert_allclose(co_association(partitions).toarray(), expected, atol=1e-12)
    distances = condensed_distances(check_partitions(partitions))
    pairs = np.triu_indices(7, 1)
    np.testing.assert_allclose(distances, 1 - expected[pairs], atol=1e-6)
