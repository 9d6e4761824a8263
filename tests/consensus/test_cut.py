import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage
from sklearn.metrics import adjusted_rand_score

from ensemblage.consensus import EvidenceAccumulation
from ensemblage.consensus._cut import count_clusters, cut_by_order, largest_lifetime
from reference.consensus import co_association, merge_until


def test_equal_heights_are_cut_by_the_order_of_merges():
    merges = linkage(np.full(6, 0.5), "average")  # four rows, all equally far apart
    for wanted in (1, 2, 3, 4):
        assert len(np.unique(cut_by_order(merges, wanted))) == wanted


def test_the_longest_range_of_heights_gives_the_number():
    # heights .1 .1 .8: two clusters live from .1 to .8, one from .8 to 1
    merges = np.array([[0, 1, 0.1, 2], [2, 3, 0.1, 2], [4, 5, 0.8, 4]])
    assert largest_lifetime(merges) == 2
    assert largest_lifetime(np.array([[0, 1, 0.0, 2], [2, 3, 0.1, 3]])) == 1


def test_stray_rows_do_not_count_as_clusters():
    # rows 0-1 and 2-3 are pairs; row 4 joins one of them only at .7, and the pairs join at .9
    merges = np.array([[0, 1, 0.1, 2], [2, 3, 0.1, 2], [4, 5, 0.7, 3], [6, 7, 0.9, 5]])
    assert largest_lifetime(merges) == 3
    assert largest_lifetime(merges, 2) == 2


def test_a_sample_of_many_rows_tells_the_number():
    truth = np.repeat(np.arange(4), 1000)
    partitions = np.stack([np.random.default_rng(i).permutation(4)[truth] for i in range(5)])
    assert count_clusters(partitions.astype(np.int32), 0) == 4


@given(
    st.integers(0, 10_000), st.integers(1, 5), st.sampled_from(["single", "complete", "average"])
)
@settings(max_examples=30, deadline=None)
def test_any_number_of_clusters_can_be_had(seed, wanted, how):
    partitions = np.random.default_rng(seed).integers(0, 3, size=(4, 12))
    model = EvidenceAccumulation(wanted, linkage=how).fit_partitions(partitions)
    assert model.n_clusters_ == wanted


@pytest.mark.parametrize("how", ["single", "complete", "average"])
@pytest.mark.parametrize("seed", range(4))
def test_equals_merging_by_hand_where_no_distances_tie(how, seed):
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1, 2], 5)
    partitions = np.where(rng.random((60, 15)) < 0.25, rng.integers(0, 3, (60, 15)), truth)
    model = EvidenceAccumulation(3, linkage=how).fit_partitions(partitions)
    expected = merge_until(1 - co_association(partitions), 3, how)
    assert adjusted_rand_score(expected, model.labels_) == 1
