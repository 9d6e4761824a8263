import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.cluster.hierarchy import linkage
from sklearn.metrics import adjusted_rand_score

from consensus.noisy import noisy_partitions
from ensemblage.consensus import CSPA, HBGF, HGPA, MCLA, EvidenceAccumulation, co_association
from ensemblage.consensus._partitions import (
    assign_to_parts,
    best_cut,
    check_partitions,
    condensed_distances,
    count_clusters,
    cut_by_order,
    indicators,
    longest_lifetime,
    mean_nmi,
    merge_pieces,
    nearest_part,
    part_profiles,
    sample_rows,
)
from reference.consensus import co_association as literal
from reference.consensus import merge_until

UNEQUAL = np.repeat([0, 1, 2], [1500, 400, 100])
# Strehl and Ghosh, Table 1; the consensus that they give is three, two, two
EXAMPLE = [[1, 1, 1, 2, 2, 3, 3], [2, 2, 2, 3, 3, 1, 1], [1, 1, 2, 2, 3, 3, 3],
           [1, 2, -1, 1, 2, -1, -1]]  # fmt: skip

some_partitions = arrays(int, (4, 7), elements=st.integers(-1, 3)).filter(
    lambda p: (p != -1).any(axis=1).all()
)


def test_clusters_are_encoded_from_zero_and_minus_one_is_kept():
    coded = check_partitions([[7, 7, -1, 3], [0, 1, 2, 10**12], [-5, -1, -5, 2]])
    assert coded.tolist() == [[1, 1, -1, 0], [0, 1, 2, 3], [0, -1, 0, 1]]


def test_indicators_have_one_entry_per_row_and_partition_that_sampled_it():
    matrix = indicators(check_partitions([[0, 0, 1], [-1, 0, 1]]))
    assert matrix.toarray().tolist() == [[1, 0, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1]]


@pytest.mark.parametrize(
    ("partitions", "message"),
    [
        ([[0, 1], [0, 1, 1]], "label arrays of equal length"),
        ([[0, 1, 1]], "at least 2 are needed"),
        ([], "at least 2 are needed"),
        ([[0, 1], [-1, -1]], "partition 1 has no rows"),
        ([[0.5, 1.0], [0, 1]], "expected integers"),
        ([[[0, 1]], [[0, 1]]], "label arrays of equal length"),
    ],
)
def test_invalid_partitions_raise(partitions, message):
    with pytest.raises(ValueError, match=message):
        check_partitions(partitions)


def test_text_labels_and_none_for_not_sampled():
    partitions = check_partitions([["a", "a", "b", None], np.array(["x", "-1", "y", "y"])])
    assert partitions.tolist() == [[0, 0, 1, -1], [0, -1, 1, 1]]
    mixed = check_partitions([[2, "a", 2, None], [True, False, True, False]])
    assert mixed.tolist() == [[0, 1, 0, -1], [1, 0, 1, 0]]
    model = MCLA(2, random_state=0).fit_partitions([list("aabb")] * 2)
    assert model.labels_.tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    with pytest.raises(ValueError, match="labels of type float64, expected integers"):
        check_partitions([[0.5, 1.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match="partition 1 has no rows"):
        check_partitions([["a", "b"], [None, None]])


def test_profiles_by_hand():
    partitions = np.array([[0, 0, 1, 1], [0, -1, 1, 0]], np.int32)
    shares, norms = part_profiles(partitions, np.array([0, 0, 1, 1]))
    np.testing.assert_allclose(shares, [[1, 0, 1, 0], [0, 1, 0.5, 0.5]])
    np.testing.assert_allclose(norms, [[1, 1], [1, 0.5]])
    # row 3: 2*0-1 + 2*1-1 = 0 for the first part, 2*1-1 + 2*.5-.5 = 1.5 for the second
    assert nearest_part(partitions, shares, norms).tolist() == [0, 0, 1, 1]


def literal_nearest(partitions, parts, row):
    """Squared distance of a row's indicators to each part's mean, over all partitions."""
    distances = []
    for part in range(parts.max() + 1):
        total = 0.0
        for labels in partitions:
            here = labels[(parts == part) & (labels >= 0)]
            if labels[row] >= 0:
                for cluster in range(labels.max() + 1):
                    share = np.mean(here == cluster) if len(here) else 0.0
                    total += ((labels[row] == cluster) - share) ** 2
        distances.append(total)
    return distances


@given(st.integers(0, 1000))
@settings(deadline=None, max_examples=30)
def test_the_nearest_part_is_the_nearest_mean_of_indicators(seed):
    rng = np.random.default_rng(seed)
    partitions = rng.integers(-1, 3, size=(4, 15)).astype(np.int32)
    partitions[:, :3] = [0, 1, 2]
    parts = np.concatenate([[0, 1, 2], rng.integers(0, 3, 12)])
    found = nearest_part(partitions, *part_profiles(partitions, parts))
    for row, part in enumerate(found):
        distances = literal_nearest(partitions, parts, row)
        assert distances[part] == pytest.approx(min(distances))


def test_pieces_of_one_cluster_are_merged_and_rows_reassigned():
    truth = np.repeat([0, 1], [30, 6])
    partitions = noisy_partitions(truth, 10, 0.1)
    pieces = np.concatenate([np.arange(30) % 3, [3, 3, 3, 3, 3, 0]])
    assert adjusted_rand_score(truth, merge_pieces(partitions, pieces, 2)) == 1


def test_the_cut_with_the_highest_mean_nmi_is_kept():
    partitions = np.array([[0, 0, 1, 1], [0, 0, 1, 1]], np.int32)
    cuts = {7: np.array([0, 1, 0, 1]), 8: np.array([1, 1, 0, 0])}
    assert best_cut(lambda _, seed: cuts[seed], partitions, 2, 7, 2) is cuts[8]
    assert mean_nmi(partitions, cuts[8]) == pytest.approx(1)
    assert mean_nmi(partitions, cuts[7]) == pytest.approx(0, abs=1e-12)


def test_a_partition_without_sampled_rows_is_ignored():
    partitions = np.array([[0, 0, 1, 1], [-1, -1, -1, -1], [0, 1, 1, 1]], np.int32)
    parts = np.array([0, 0, 1, 1])
    assert part_profiles(partitions, parts)[1].shape == (2, 3)
    assert merge_pieces(partitions, parts, 2).tolist() == [0, 0, 1, 1]
    assert 0 < mean_nmi(partitions, parts) < 1


def test_all_rows_are_assigned_by_a_sample_even_in_clusters_it_lacks():
    truth = np.random.default_rng(0).integers(0, 3, 500)
    partitions = noisy_partitions(truth, 8, 0.05).astype(np.int32)
    partitions[0, 0] = 3
    sampled = sample_rows(partitions, 100, 0)
    assert sampled.shape == (8, 100)
    labels = assign_to_parts(partitions, sampled, sampled[1])
    assert adjusted_rand_score(truth, labels) > 0.9
    assert assign_to_parts(partitions, partitions, truth) is truth


@pytest.mark.parametrize("method", [CSPA, HBGF, HGPA])
@pytest.mark.parametrize("share", [0.1, 0.3])
def test_clusters_of_unequal_size_are_found(method, share):
    partitions = noisy_partitions(UNEQUAL, 20, share)
    model = method(3, n_cuts=1, random_state=0).fit_partitions(partitions)
    assert adjusted_rand_score(UNEQUAL, model.labels_) > 0.98
    assert sorted(np.bincount(model.labels_)) == [100, 400, 1500]


@pytest.mark.parametrize("method", [CSPA, HBGF, HGPA])
def test_balance_limits_cluster_sizes(method):
    partitions = noisy_partitions(np.repeat([0, 1], [60, 30]), 10, 0.1)
    labels = method(2, balance=0.05, n_cuts=1, random_state=0).fit_partitions(partitions).labels_
    assert np.bincount(labels).max() <= 1.07 * 45
    with pytest.raises(ValueError, match="balance"):
        method(2, balance=0.0).fit_partitions(partitions)


@pytest.mark.parametrize("seed", range(20))
def test_the_example_of_strehl_and_ghosh(seed):
    labels = HBGF(3, random_state=seed).fit_partitions(EXAMPLE).labels_
    assert adjusted_rand_score([0, 0, 0, 1, 1, 2, 2], labels) == 1


def test_co_association_counts_only_partitions_that_sampled_both():
    shares = co_association([[0, 0, 1], [0, -1, 0], [0, 0, -1]]).toarray()
    np.testing.assert_allclose(shares, [[1, 1, 0.5], [1, 1, 0], [0.5, 0, 1]])


@given(some_partitions)
def test_co_association_equals_the_pairwise_count(partitions):
    expected = literal(partitions)
    np.testing.assert_allclose(co_association(partitions).toarray(), expected, atol=1e-12)
    distances = condensed_distances(check_partitions(partitions))
    pairs = np.triu_indices(7, 1)
    np.testing.assert_allclose(distances, 1 - expected[pairs], atol=1e-6)


def test_equal_heights_are_cut_by_the_order_of_merges():
    merges = linkage(np.full(6, 0.5), "average")  # four rows, all equally far apart
    for wanted in (1, 2, 3, 4):
        assert len(np.unique(cut_by_order(merges, wanted))) == wanted


def test_the_longest_lifetime_gives_the_number_of_clusters():
    # heights .1 .1 .8: two clusters from .1 to .8, one from .8 to 1
    merges = np.array([[0, 1, 0.1, 2], [2, 3, 0.1, 2], [4, 5, 0.8, 4]])
    assert longest_lifetime(merges) == 2
    assert longest_lifetime(np.array([[0, 1, 0.0, 2], [2, 3, 0.1, 3]])) == 1


def test_outliers_do_not_count_as_clusters():
    # rows 0-1 and 2-3 are pairs; row 4 joins one of them only at .7, and the pairs join at .9
    merges = np.array([[0, 1, 0.1, 2], [2, 3, 0.1, 2], [4, 5, 0.7, 3], [6, 7, 0.9, 5]])
    assert longest_lifetime(merges) == 3
    assert longest_lifetime(merges, 2) == 2


def test_a_sample_of_many_rows_gives_the_number_of_clusters():
    truth = np.repeat(np.arange(4), 1000)
    partitions = np.stack([np.random.default_rng(i).permutation(4)[truth] for i in range(5)])
    assert count_clusters(partitions.astype(np.int32), 0) == 4


@given(
    st.integers(0, 10_000), st.integers(1, 5), st.sampled_from(["single", "complete", "average"])
)
@settings(max_examples=30, deadline=None)
def test_any_number_of_clusters_is_possible(seed, wanted, how):
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
    expected = merge_until(1 - literal(partitions), 3, how)
    assert adjusted_rand_score(expected, model.labels_) == 1
