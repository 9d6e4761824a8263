from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from ensemblage.bayes import BayesNetClassifier, EntryCapError, _expected_tables
from ensemblage.bayes._coding import code_sample
from ensemblage.bayes._expected_tables import fit_expected
from ensemblage.bayes._network_tables import fit_network
from ensemblage.bayes._reading import read_training
from ensemblage.bayes._search_space import Structure
from ensemblage.inner import InnerBayesNetClassifier

CHAIN = Structure(((), (0,), (0, 1), (2,)))


def holed(seed, n_rows=30, share=0.25):
    """Three columns of two or three values, some of them missing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    a = (y + rng.integers(0, 2, n_rows)) % 3
    columns = {"a": a, "b": (a + y) % 2, "c": rng.integers(0, 2, n_rows)}
    X = pd.DataFrame(columns).astype(object).astype(str)
    gaps = rng.random(X.shape) < share
    gaps[: len(X) // 3] = False
    return X.mask(gaps), pd.Series(y, name="class")


def read(X, y, weights=None):
    training = read_training(BayesNetClassifier(), X, y, weights)
    return training, code_sample(training, "mdlp", 10**6)


def full(network, structure):
    """Each node's whole table, (*parents' sizes, own size), the class's own first."""
    described = network.describe(["class", "a", "b", "c"])
    tables = []
    for node, table in enumerate(described.values()):
        sizes = [network.n_categories[p] for p in structure.parents[node]]
        whole = np.full((*sizes, network.n_categories[node]), np.nan)
        whole[tuple(table.configurations.astype(int).T)] = table.probabilities
        tables.append(whole)
    return tables


def rounds_slowly(codes, weights, structure, sizes, smoothing, n_rounds):
    """EM by the definition: every completion of every row, weighed by its probability."""
    tables = [
        np.full((*(sizes[p] for p in structure.parents[n]), sizes[n]), 1 / sizes[n])
        for n in range(len(sizes))
    ]
    prior = np.bincount(codes[0], weights, minlength=sizes[0]) + smoothing
    tables[0] = prior / prior.sum()
    heights = []
    for _ in range(n_rounds):
        counts, height = [np.zeros_like(table) for table in tables], 0.0
        for row, weight in zip(codes.T, weights, strict=True):
            choices = [[v] if v >= 0 else range(sizes[n]) for n, v in enumerate(row)]
            found = []
            for values in product(*choices):
                keys = [(*(values[p] for p in structure.parents[n]), values[n]) for n in range(4)]
                found.append((np.prod([tables[n][keys[n]] for n in range(4)]), keys))
            total = sum(chance for chance, _ in found)
            height += weight * np.log(total)
            for chance, keys in found:
                for n in range(4):
                    counts[n][keys[n]] += weight * chance / total
        height += smoothing * sum(np.log(table).sum() for table in tables[1:])
        heights.append(height)
        for n in range(1, 4):
            smoothed = counts[n] + smoothing
            tables[n] = smoothed / smoothed.sum(axis=-1, keepdims=True)
    return tables, heights


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6))
def test_rounds_equal_the_definition_and_never_lower_the_likelihood(seed):
    X, y = holed(seed)
    weights = np.random.default_rng(seed).integers(1, 3, len(y)).astype(float)
    training, sample = read(X, y, weights)
    codes = _expected_tables.code_columns(training.columns, sample.coders)
    codes[0] = training.target.labels
    sizes = sample.rows.nodes.n_categories.tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_expected_tables, "MAX_ROUNDS", 3)
        patch.setattr(_expected_tables, "TOLERANCE", 0.0)
        with pytest.warns(ConvergenceWarning, match="did not converge in 3 rounds"):
            found = fit_expected(training, sample, 0.5, CHAIN)
    expected, heights = rounds_slowly(codes, weights, CHAIN, sizes, 0.5, 3)
    for own, other in zip(full(found, CHAIN), expected, strict=True):
        np.testing.assert_allclose(own, other, atol=1e-10)
    assert np.diff(heights).min() > -1e-9


def test_gaps_of_a_column_without_children_change_nothing_of_its_table_by_hand():
    X = pd.DataFrame({"x": ["a"] * 3 + ["b"] + [None] * 4})
    y = pd.Series([0] * 8 + [1] * 2)
    X = pd.concat([X, pd.DataFrame({"x": ["a", "b"]})], ignore_index=True)
    training, sample = read(X, y)
    found = fit_expected(training, sample, 0.5, Structure(((), (0,))))
    table = np.exp(found.tables[0].look_up.log_table[0, :2])
    # (3 + 0.5) / (4 + 1) of the known ones, where the mode would say (7 + 0.5) / (8 + 1)
    np.testing.assert_allclose(table[:, 0], [0.7, 0.3], atol=2e-4)


def test_without_gaps_it_is_the_plain_estimate_bit_for_bit():
    X, y = holed(0, share=0.0)
    training, sample = read(X, y)
    first, second = fit_expected(training, sample, 0.5, CHAIN), fit_network(sample, 0.5, CHAIN)
    for one, other in zip(first.tables, second.tables, strict=True):
        np.testing.assert_array_equal(one.look_up.log_table, other.look_up.log_table)


def test_rows_are_parted_under_a_cap_and_one_row_may_be_too_much():
    X, y = holed(3)
    training, sample = read(X, y)
    whole = fit_expected(training, sample, 0.5, CHAIN)
    sample.rows.max_entries = 24
    parted = fit_expected(training, sample, 0.5, CHAIN)
    for one, other in zip(whole.tables, parted.tables, strict=True):
        np.testing.assert_allclose(one.look_up.log_table, other.look_up.log_table, atol=1e-12)
    with pytest.raises(EntryCapError, match="missing='em' takes a table"):
        _expected_tables._check_size(100, 1, 10)


@pytest.mark.parametrize("make", [BayesNetClassifier, InnerBayesNetClassifier])
def test_classifiers_learn_and_predict_with_gaps(make):
    X, y = holed(1, n_rows=120, share=0.4)
    crowd = {"n_views": 4, "random_state": 0} if make is InnerBayesNetClassifier else {}
    network = make(missing="em", **crowd).fit(X, y)
    plain = make(**crowd).fit(X, y)
    assert network.parents_ == plain.parents_
    assert np.isfinite(network.predict_log_proba(X)).all()
    assert not np.allclose(network.predict_proba(X), plain.predict_proba(X))
    assert network.score(X, y) > 0.6
