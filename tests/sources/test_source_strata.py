import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from ensemblage.sources import SourceStrata
from ensemblage.sources._source_strata import merge_small


def rows_from(sources, seed=0):
    rng = np.random.default_rng(seed)
    names = np.unique(sources)
    return 8 * np.searchsorted(names, sources)[:, None] + rng.normal(size=(len(sources), 2))


SOURCES = np.repeat(["north", "south", "west"], [40, 30, 25])


def test_each_source_is_a_stratum_that_the_gate_predicts():
    X = rows_from(SOURCES)
    strata = SourceStrata(random_state=0).fit(X, sources=SOURCES)
    assert strata.stratum_names_ == ["north", "south", "west"]
    np.testing.assert_array_equal(strata.memberships_.sum(axis=0), [40, 30, 25])
    guesses = strata.transform(rows_from(SOURCES, seed=1)).argmax(axis=1)
    assert (np.array(strata.stratum_names_)[guesses] == SOURCES).mean() > 0.95


def test_small_sources_share_a_stratum():
    codes, merged = merge_small(np.repeat(["a", "b", "c", "d"], [50, 5, 30, 18]), 20)
    assert merged == [["a"], ["c"], ["b", "d"]]
    np.testing.assert_array_equal(np.bincount(codes), [50, 30, 23])


def test_too_few_rows_together_add_the_next_larger_source():
    codes, merged = merge_small(np.repeat(["a", "b", "c"], [50, 5, 30]), 20)
    assert merged == [["a"], ["b", "c"]]
    np.testing.assert_array_equal(np.bincount(codes), [50, 35])
    _, all_small = merge_small(np.repeat(["a", "b"], 5), 20)
    assert all_small == [["a", "b"]]


def test_training_affinities_are_out_of_fold():
    # sources with the same distribution: only a gate fitted on a row could predict its source
    rng = np.random.default_rng(0)
    X, sources = rng.normal(size=(60, 40)), np.repeat([0, 1], 30)
    strata = SourceStrata(random_state=0).fit(X, sources=sources)
    own = np.arange(60), sources
    assert np.exp(strata.out_of_fold_log_affinity_)[own].mean() < 0.6
    assert strata.transform(X)[own].mean() > 0.75


def test_warning_without_sources():
    with pytest.warns(UserWarning, match="without sources: all rows count as one source"):
        strata = SourceStrata().fit(rows_from(SOURCES))
    assert strata.memberships_.shape == (95, 1)
    np.testing.assert_array_equal(strata.log_affinity(rows_from(SOURCES)), 0)


def test_any_gate_and_weights():
    X = rows_from(SOURCES)
    weights = np.ones(95)
    strata = SourceStrata(gate=GaussianNB()).fit(X, sources=SOURCES, sample_weight=weights)
    assert np.isfinite(strata.log_affinity(X + 1000)).all()


def test_sources_of_another_length():
    with pytest.raises(ValueError, match="sources has 94 entries, but there are 95 rows"):
        SourceStrata().fit(rows_from(SOURCES), sources=SOURCES[:-1])
