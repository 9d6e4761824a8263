"""What is claimed of Inner K-means and of the consensus methods, on the paper's fifteen sets."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris

from ensemblage.consensus import CSPA, HBGF, HGPA, MCLA, EvidenceAccumulation
from ensemblage.datasets import load_dataset
from ensemblage.evaluation import nmi_score
from ensemblage.inner import InnerKMeans
from ensemblage.papers._paper_table import read_printed
from ensemblage.papers.inner._inner_cluster_rows import PLAIN
from ensemblage.papers.inner._inner_clusters import (
    CONSENSUS_NAMES,
    Ensembles,
    Views,
    add_noise,
    consensus_blocks,
    consensus_scores,
    draw_start,
    numeric_features,
    plain_labels,
    standardise,
    view_partitions,
)
from papers.inner.sets import all_sets
from reference.papers_data import read

X, Y = load_iris(return_X_y=True)


def test_noise_changes_the_significant_half_of_the_features_only():
    start = draw_start(X, Y, 100, seed=0)
    noisy = add_noise(start, 0.4)
    changed = (noisy.X != start.X).mean(axis=0)
    assert (changed > 0).sum() == 2
    assert changed.max() < 0.6
    assert (changed[2:] > 0).all()  # the petals tell the species apart
    assert add_noise(start, 0.0).X.tolist() == start.X.tolist()


def test_slow_starts_are_spread_over_cells():
    assert consensus_blocks(25) == [(0, 10), (10, 10), (20, 5)]
    assert consensus_blocks(2) == [(0, 2)]


def test_ensembles_of_all_sizes_at_once_score_as_each_by_itself():
    starts = [draw_start(X, Y, 100, seed) for seed in range(2)]
    groups, measures = list(CONSENSUS_NAMES), {"nmi": nmi_score}
    together = consensus_scores(groups, starts, Ensembles((3, 7), 0.5), measures)
    apart = {}
    for size in (3, 7):
        apart |= consensus_scores(groups, starts, Ensembles((size,), 0.5), measures)
    assert together == apart
    assert len(together) == 2 * sum(map(len, CONSENSUS_NAMES.values()))


def test_categories_become_their_position(shared):
    data = numeric_features(load_dataset("vowel", shared / "data"))
    np.testing.assert_array_equal(data, read(shared, "vowel")[0])


@pytest.mark.slow
def test_kmeans_columns_are_the_papers(shared):
    good = 0
    for name, (data, y) in all_sets(shared).items():
        starts = [draw_start(data, y, 500, seed) for seed in range(30)]
        labels = [plain_labels(start) for start in starts]
        nmi = np.mean([nmi_score(s.y, each) for s, each in zip(starts, labels, strict=True)])
        purity = np.mean([(np.array([np.bincount(s.y[each == k]).max(initial=0)
                                     for k in np.unique(each)]).sum()) / len(s.y)
                          for s, each in zip(starts, labels, strict=True)])  # fmt: skip
        good += (
            abs(nmi - read_printed("inner-table2").value(name, PLAIN)) <= 0.03
            and abs(purity - read_printed("inner-table3").value(name, PLAIN)) <= 0.03
        )
    assert good >= 13


@pytest.mark.slow
def test_annealing_before_k_means_is_better_and_steadier_than_one_start(shared):
    means, spreads = [], []
    for data, y in all_sets(shared).values():
        start = standardise(draw_start(data, y, 500, seed=0))
        n_clusters = len(start.centers)
        scores = np.array([[
            nmi_score(start.y, model.set_params(random_state=seed).fit_predict(start.X))
            for model in (KMeans(n_clusters, n_init=1), InnerKMeans(n_clusters, assign="nearest"))
        ] for seed in range(12)])  # fmt: skip
        means.append(scores.mean(axis=0))
        spreads.append(scores.std(axis=0))
    plain, ours = np.mean(means, axis=0)
    assert ours >= plain + 0.005
    assert np.mean(spreads, axis=0)[1] <= 0.7 * np.mean(spreads, axis=0)[0]


CONSENSUS = {
    "average": (EvidenceAccumulation, 0.381, 0.429),
    "complete": (lambda k: EvidenceAccumulation(k, linkage="complete"), 0.337, 0.375),
    "single": (lambda k: EvidenceAccumulation(k, linkage="single"), 0.229, 0.212),
    "mcla": (lambda k: MCLA(k, random_state=0), 0.367, 0.412),
    "hbgf": (lambda k: HBGF(k, balance=0.03, n_cuts=1, random_state=0), 0.357, 0.393),
    "cspa": (lambda k: CSPA(k, balance=0.03, n_cuts=1, random_state=0), 0.348, 0.388),
    "hgpa": (lambda k: HGPA(k, balance=0.05, n_cuts=1, random_state=0), 0.336, 0.355),
}


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_consensus_is_as_good_as_it_was_found_to_be(shared):
    scores = {(name, scaled): [] for name in CONSENSUS for scaled in (0, 1)}
    for data, y in all_sets(shared).values():
        for scaled in (0, 1):
            line = {name: [] for name in CONSENSUS}
            for seed in range(6):
                start = draw_start(data, y, 500, seed)
                start = standardise(start) if scaled else start
                partitions = view_partitions(start, Views(20, 0.5))
                for name, (make, *_) in CONSENSUS.items():
                    labels = make(len(start.centers)).fit_partitions(partitions).labels_
                    line[name].append(nmi_score(start.y, labels))
            for name, each in line.items():
                scores[name, scaled].append(np.mean(each))
    for (name, scaled), each in scores.items():
        expected = CONSENSUS[name][1 + scaled]
        assert np.mean(each) >= expected - 0.02, (name, scaled, np.mean(each))
        assert np.mean(each) <= expected + 0.02, (name, scaled, np.mean(each))
