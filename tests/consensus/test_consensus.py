import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from consensus.noisy import TRUTH, noisy_partitions
from ensemblage.consensus import CSPA, HBGF, HGPA, MCLA, EvidenceAccumulation
from ensemblage.consensus._consensus import (
    GRAPH_ROWS,
    _partitioner,
    assign_to_meta_clusters,
    cluster_overlap,
)
from ensemblage.consensus._partitions import check_partitions
from reference.consensus import meta_association

METHODS = [CSPA, HBGF, HGPA, MCLA, EvidenceAccumulation]
PARTITIONS = [[0, 0, 0, 1, 1], [5, 5, 2, 2, 2], [0, 0, 1, 2, 2]]
every_method = pytest.mark.parametrize("method", METHODS)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [CSPA(2, n_partitions=5), HBGF(2, n_partitions=5), HGPA(2, n_partitions=5),
     MCLA(n_partitions=5), EvidenceAccumulation(2, n_partitions=5)]
)  # fmt: skip
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@every_method
def test_true_clusters_are_recovered_from_noisy_partitions(method):
    # in a hypergraph, one misassigned row cuts a cluster as much as half of its rows do
    share = 0.05 if method is HGPA else 0.3
    for missing in (0.0, 0.3):
        partitions = noisy_partitions(TRUTH, share=share, missing=missing)
        model = method(3, random_state=0).fit_partitions(partitions)
        assert adjusted_rand_score(TRUTH, model.labels_) > 0.9


@every_method
def test_the_number_of_clusters_is_chosen_by_lifetime(method):
    model = method(random_state=0).fit_partitions(noisy_partitions(TRUTH, share=0.1))
    assert model.n_clusters_ == 3


def test_the_number_of_clusters_is_chosen_by_stability():
    X, truth = make_blobs(120, centers=4, cluster_std=0.4, random_state=2)
    model = HBGF(random_state=0).fit(X)
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(truth, model.labels_) == 1


@every_method
def test_rows_sampled_by_no_partition_have_label_minus_one(method):
    partitions = noisy_partitions(TRUTH, share=0.0)
    partitions[:, [0, 30]] = -1
    labels = method(3, random_state=0).fit_partitions(partitions).labels_
    assert np.flatnonzero(labels == -1).tolist() == [0, 30]


# scikit-learn before 1.8 takes so many clusters for a numeric target
@pytest.mark.filterwarnings("ignore:The number of unique classes is greater")
@every_method
@pytest.mark.parametrize("wanted", [1, 2, 60])
def test_extreme_numbers_of_clusters(method, wanted):
    model = method(wanted, random_state=0).fit_partitions(noisy_partitions(TRUTH))
    assert 1 <= model.n_clusters_ <= wanted
    assert model.labels_.min() == 0


@every_method
def test_the_same_seed_gives_the_same_labels_for_any_n_jobs(method):
    X, _ = make_blobs(90, centers=3, random_state=0)
    one, two = (method(3, n_jobs=n_jobs, n_partitions=4, random_state=1).fit(X).labels_
                for n_jobs in (1, 2))  # fmt: skip
    np.testing.assert_array_equal(one, two)


@every_method
def test_fitted_clusterers_predict_and_others_are_fitted(method):
    X, truth = make_blobs(90, centers=3, cluster_std=0.5, random_state=0)
    fitted = KMeans(3, n_init=1, random_state=0).fit(X)
    members = [fitted, KMeans(3, n_init=1), KMeans(4, n_init=1), DBSCAN(eps=1.0).fit(X)]
    model = method(3, clusterers=members, random_state=0).fit(X)
    assert model.partitions_.shape == (4, 90)
    np.testing.assert_array_equal(model.partitions_[0], fitted.labels_)
    assert adjusted_rand_score(truth, model.labels_) > 0.8


def test_labels_of_other_rows_are_refused():
    X, _ = make_blobs(40, random_state=0)
    members = [DBSCAN(eps=2.0).fit(X)] * 2
    with pytest.raises(ValueError, match="labels of 40 rows, X has 30"):
        MCLA(2, clusterers=members).fit(X[:30])


@every_method
def test_more_clusters_than_rows_are_refused(method):
    with pytest.raises(ValueError, match="n_clusters=61 is more than the n_samples=60"):
        method(61).fit_partitions(noisy_partitions(TRUTH))


@pytest.mark.parametrize("method", [CSPA, EvidenceAccumulation])
def test_too_many_pairs_raise_before_allocation(method):
    partitions = np.zeros((2, 1_000_000), np.int8)
    with pytest.raises(MemoryError, match=r"1000000 rows.*Use MCLA or HBGF"):
        method(2).fit_partitions(partitions)
    with pytest.raises(MemoryError, match="Use MCLA or HBGF"):
        method(2).fit(np.zeros((1_000_000, 1), np.float32))
    with pytest.raises(MemoryError, match="memory_limit=1e\\+04"):
        method(3, memory_limit=1e4).fit_partitions(noisy_partitions(TRUTH))


def test_rows_merge_in_the_order_of_co_association():
    model = EvidenceAccumulation(3, linkage="single").fit_partitions(PARTITIONS)
    assert model.labels_.tolist() == [0, 0, 1, 2, 2]
    # rows 0 and 1, and 3 and 4, are always together; row 2 is with either pair once in three
    np.testing.assert_allclose(model.linkage_matrix_[:, 2], [0, 0, 2 / 3, 2 / 3], atol=1e-7)


@pytest.mark.parametrize(("linkage", "height"), [("single", 2 / 3), ("complete", 1.0)])
def test_linkage_parameter_is_used(linkage, height):
    merges = EvidenceAccumulation(2, linkage=linkage).fit_partitions(PARTITIONS).linkage_matrix_
    assert merges[-1, 2] == pytest.approx(height)


@pytest.mark.parametrize("method", [CSPA, HBGF, MCLA])
def test_an_uninstalled_package_is_named_with_the_extra(method, monkeypatch):
    monkeypatch.setitem(sys.modules, "pymetis", None)
    expected = rf"{method.__name__} needs pymetis, .*ensemblage\[consensus\]"
    with pytest.raises(ImportError, match=expected):
        method(3).fit_partitions(noisy_partitions(TRUTH))


def test_very_many_rows_are_partitioned_by_a_sample():
    truth = np.random.default_rng(0).integers(0, 4, GRAPH_ROWS + 5000)
    model = HBGF(4, random_state=0).fit_partitions(noisy_partitions(truth, 6, 0.1))
    assert adjusted_rand_score(truth, model.labels_) > 0.9


def test_overlap_is_the_jaccard_index_in_thousandths():
    overlap = cluster_overlap(check_partitions([[0, 0, 0, 1], [0, 0, 1, 1]])).toarray()
    assert overlap.tolist() == [
        [0, 0, 667, 250], [0, 0, 0, 500], [667, 0, 0, 0], [250, 500, 0, 0],
    ]  # fmt: skip


@given(st.integers(0, 1000))
@settings(deadline=None, max_examples=25)
def test_meta_clusters_equal_the_pairwise_count(seed):
    rng = np.random.default_rng(seed)
    partitions = check_partitions(noisy_partitions(TRUTH[::6], 4, 0.5, seed, missing=0.2))
    n_clusters = int((partitions.max(axis=1) + 1).sum())
    group = np.concatenate([np.arange(2), rng.integers(0, 2, n_clusters - 2)])
    assert assign_to_meta_clusters(partitions, group).tolist() == meta_association(
        partitions, group
    )


def test_an_uninstalled_hypergraph_package_is_named_with_the_extra(monkeypatch):
    _partitioner.cache_clear()
    monkeypatch.setitem(sys.modules, "mtkahypar", None)
    expected = r"HGPA needs mtkahypar, .*ensemblage\[consensus\]"
    with pytest.raises(ImportError, match=expected):
        HGPA(3).fit_partitions(noisy_partitions(TRUTH))
