import numpy as np
import pytest

from ensemblage.consensus import EvidenceAccumulation

PARTITIONS = [[0, 0, 0, 1, 1], [5, 5, 2, 2, 2], [0, 0, 1, 2, 2]]


def test_rows_merge_in_the_order_of_how_often_they_meet():
    model = EvidenceAccumulation(3, linkage="single").fit_partitions(PARTITIONS)
    assert model.labels_.tolist() == [0, 0, 1, 2, 2]
    # rows 0 and 1, and 3 and 4, always meet; row 2 meets either pair once in three
    np.testing.assert_allclose(model.linkage_matrix_[:, 2], [0, 0, 2 / 3, 2 / 3], atol=1e-7)


@pytest.mark.parametrize(("linkage", "height"), [("single", 2 / 3), ("complete", 1.0)])
def test_the_linkage_is_the_one_asked_for(linkage, height):
    merges = EvidenceAccumulation(2, linkage=linkage).fit_partitions(PARTITIONS).linkage_matrix_
    assert merges[-1, 2] == pytest.approx(height)
