import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consensus.noisy import TRUTH, noisy_partitions
from ensemblage.consensus import CSPA, HBGF, HGPA, MCLA
from ensemblage.consensus._graphs import CUT_ROWS, _partitioner, choose_group, cluster_overlap
from ensemblage.consensus._partitions import check_partitions
from ensemblage.evaluation import nmi_score
from reference.consensus import meta_association


@pytest.mark.parametrize("method", [CSPA, HBGF, MCLA])
def test_a_missing_package_is_named_with_the_extra(method, monkeypatch):
    monkeypatch.setitem(sys.modules, "pymetis", None)
    expected = rf"{method.__name__} needs pymetis, .*ensemblage\[consensus\]"
    with pytest.raises(ImportError, match=expected):
        method(3).fit_partitions(noisy_partitions(TRUTH))


def test_very_many_rows_are_cut_by_a_sample():
    truth = np.random.default_rng(0).integers(0, 4, CUT_ROWS + 5000)
    model = HBGF(4, random_state=0).fit_partitions(noisy_partitions(truth, 6, 0.1))
    assert nmi_score(truth, model.labels_) > 0.9


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


def test_a_missing_package_is_named_with_the_extra_of_hgpa(monkeypatch):
    _partitioner.cache_clear()
    monkeypatch.setitem(sys.modules, "mtkahypar", None)
    expected = r"HGPA needs mtkahypar, .*ensemblage\[consensus\]"
    with pytest.raises(ImportError, match=expected):
        HGPA(3).fit_partitions(noisy_partitions(TRUTH))
