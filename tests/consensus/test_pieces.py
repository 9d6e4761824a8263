import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from consensus.noisy import noisy_partitions
from ensemblage.consensus import CSPA, HBGF, HGPA
from ensemblage.consensus._pieces import (
    best_cut,
    merge_pieces,
    nearest_part,
    part_profiles,
    sample_rows,
    shared_information,
    spread_parts,
)

UNEQUAL = np.repeat([0, 1, 2], [1500, 400, 100])
# Strehl and Ghosh, Table 1; the consensus that they give is three, two, two
EXAMPLE = [[1, 1, 1, 2, 2, 3, 3], [2, 2, 2, 3, 3, 1, 1], [1, 1, 2, 2, 3, 3, 3],
           [1, 2, -1, 1, 2, -1, -1]]  # fmt: skip


def test_profiles_by_hand():
    partitions = np.array([[0, 0, 1, 1], [0, -1, 1, 0]], np.int32)
    profiles = part_profiles(partitions, np.array([0, 0, 1, 1]))
    np.testing.assert_allclose(profiles.shares, [[1, 0, 1, 0], [0, 1, 0.5, 0.5]])
    np.testing.assert_allclose(profiles.norms, [[1, 1], [1, 0.5]])
    # row 3: 2*0-1 + 2*1-1 = 0 for the first part, 2*1-1 + 2*.5-.5 = 1.5 for the second
    assert nearest_part(partitions, profiles).tolist() == [0, 0, 1, 1]


def literal_nearest(partitions, parts, row):
    """Squared distance of a row's indicators to each part's mean ones, over all partitions."""
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
    found = nearest_part(partitions, part_profiles(partitions, parts))
    for row, part in enumerate(found):
        distances = literal_nearest(partitions, parts, row)
        assert distances[part] == pytest.approx(min(distances))


def test_pieces_of_one_cluster_are_merged_and_strays_go_home():
    truth = np.repeat([0, 1], [30, 6])
    partitions = noisy_partitions(truth, 10, 0.1)
    pieces = np.concatenate([np.arange(30) % 3, [3, 3, 3, 3, 3, 0]])
    assert adjusted_rand_score(truth, merge_pieces(partitions, pieces, 2)) == 1


def test_the_cut_that_shares_most_with_the_partitions_is_kept():
    partitions = np.array([[0, 0, 1, 1], [0, 0, 1, 1]], np.int32)
    cuts = {7: np.array([0, 1, 0, 1]), 8: np.array([1, 1, 0, 0])}
    assert best_cut(lambda _, seed: cuts[seed], partitions, 2, 7, 2) is cuts[8]
    assert shared_information(partitions, cuts[8]) == pytest.approx(1)
    assert shared_information(partitions, cuts[7]) == pytest.approx(0, abs=1e-12)


def test_a_partition_that_saw_none_of_these_rows_does_no_harm():
    partitions = np.array([[0, 0, 1, 1], [-1, -1, -1, -1], [0, 1, 1, 1]], np.int32)
    parts = np.array([0, 0, 1, 1])
    assert part_profiles(partitions, parts).norms.shape == (2, 3)
    assert merge_pieces(partitions, parts, 2).tolist() == [0, 0, 1, 1]
    assert 0 < shared_information(partitions, parts) < 1


def test_all_rows_follow_a_sample_even_into_clusters_it_does_not_show():
    truth = np.random.default_rng(0).integers(0, 3, 500)
    partitions = noisy_partitions(truth, 8, 0.05).astype(np.int32)
    partitions[0, 0] = 3
    sampled = sample_rows(partitions, 100, 0)
    assert sampled.shape == (8, 100)
    labels = spread_parts(partitions, sampled, sampled[1])
    assert adjusted_rand_score(truth, labels) > 0.9
    assert spread_parts(partitions, partitions, truth) is truth


@pytest.mark.parametrize("method", [CSPA, HBGF, HGPA])
@pytest.mark.parametrize("share", [0.1, 0.3])
def test_clusters_of_unequal_size_are_found(method, share):
    partitions = noisy_partitions(UNEQUAL, 20, share)
    model = method(3, n_cuts=1, random_state=0).fit_partitions(partitions)
    assert adjusted_rand_score(UNEQUAL, model.labels_) > 0.98
    assert sorted(np.bincount(model.labels_)) == [100, 400, 1500]


@pytest.mark.parametrize("method", [CSPA, HBGF, HGPA])
def test_a_balance_that_is_asked_for_is_kept(method):
    partitions = noisy_partitions(np.repeat([0, 1], [60, 30]), 10, 0.1)
    labels = method(2, balance=0.05, n_cuts=1, random_state=0).fit_partitions(partitions).labels_
    assert np.bincount(labels).max() <= 1.07 * 45
    with pytest.raises(ValueError, match="balance"):
        method(2, balance=0.0).fit_partitions(partitions)


@pytest.mark.parametrize("seed", range(20))
def test_the_example_of_strehl_and_ghosh(seed):
    labels = HBGF(3, random_state=seed).fit_partitions(EXAMPLE).labels_
    assert adjusted_rand_score([0, 0, 0, 1, 1, 2, 2], labels) == 1
