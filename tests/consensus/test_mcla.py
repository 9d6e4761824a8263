import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from consensus.noisy import TRUTH, noisy_partitions
from ensemblage.consensus._mcla import choose_group, cluster_overlap
from ensemblage.consensus._partitions import check_partitions
from reference.consensus import meta_association


def test_overlap_is_the_jaccard_index_in_thousandths():
    overlap = cluster_overlap(check_partitions([[0, 0, 0, 1], [0, 0, 1, 1]])).toarray()
    assert overlap.tolist() == [
        [0, 0, 667, 250], [0, 0, 0, 500], [667, 0, 0, 0], [250, 500, 0, 0],
    ]  # fmt: skip


@given(st.integers(0, 1000))
@settings(deadline=None, max_examples=25)
def test_rows_choose_as_in_the_plain_count(seed):
    rng = np.random.default_rng(seed)
    partitions = check_partitions(noisy_partitions(TRUTH[::6], 4, 0.5, seed, missing=0.2))
    n_sets = int((partitions.max(axis=1) + 1).sum())
    group = np.concatenate([np.arange(2), rng.integers(0, 2, n_sets - 2)])
    assert choose_group(partitions, group).tolist() == meta_association(partitions, group)
