from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ensemblage.bayes import BayesNetClassifier
from ensemblage.bayes._coding import CodedRows, Coder, Sample
from ensemblage.bayes._network_tables import fit_network, fit_prior, fit_table
from ensemblage.bayes._search_space import Structure
from ensemblage.kernels import Nodes
from ensemblage.messages import DamagedStateError


@pytest.fixture
def sample():
    """Classes 0 0 1 1; a is 0 0 1 0, b is 0 1 1 1 and has a third category."""
    codes = np.array([[0, 0, 1, 1], [0, 0, 1, 0], [0, 1, 1, 1]], dtype=np.int32)
    rows = CodedRows(Nodes(codes, np.array([2, 2, 3])), ["class", "a", "b"])
    return Sample([], rows, np.array([1.0, 1.0, 2.0, 1.0]))


def test_a_table_by_hand(sample):
    table = fit_table(sample, 2, (1, 0), 0.5)
    assert table.has_class
    assert table.family == (2, 1)
    parents, configurations, probabilities = table.describe(2, ["class", "a", "b"])
    assert parents == ["a", "class"]
    assert configurations.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    expected = [[1.5, 1.5, 0.5], [0.5, 1.5, 0.5], [0.5, 0.5, 0.5], [0.5, 2.5, 0.5]]
    totals = np.array([[3.5], [2.5], [1.5], [3.5]])
    np.testing.assert_allclose(probabilities, expected / totals)


def test_the_prior_by_hand(sample):
    np.testing.assert_allclose(np.exp(fit_prior(sample, 0.5)), [2.5 / 6, 3.5 / 6])


def test_a_node_without_the_class_says_nothing_about_it(sample):
    table = fit_table(sample, 2, (1,), 0.5)
    out = np.zeros((4, 2))
    table.add_log_likelihood(sample.rows.nodes.codes, out)
    assert not out.any()


def test_looking_up_is_walking(sample):
    codes = sample.rows.nodes.codes.copy()
    codes[1, 0], codes[2, 1] = 2, 3  # categories never seen, as a parent and as the node's own
    table = fit_table(sample, 2, (0, 1), 0.5)
    walked = np.zeros((4, 2))
    table.add_log_likelihood(codes, walked)
    found = table.log_probabilities([codes[2].astype(np.int64), codes[1].astype(np.int64)])
    np.testing.assert_array_equal(found[1:], walked[1:])
    np.testing.assert_allclose(found[0], -np.log(3))  # uniform: up to a constant, nothing
    assert not walked[0].any()


def test_contributions_add_up_to_the_joint(sample):
    network = fit_network(sample, 0.5, Structure(((), (0,), (0, 1))))
    codes = sample.rows.nodes.codes
    np.testing.assert_allclose(network.contributions(codes).sum(axis=1), network.log_joint(codes))
    assert network.n_categories == [2, 2, 3]
    assert list(network.describe(["class", "a", "b"])) == ["class", "a", "b"]


def test_damaged_tables_are_refused(sample):
    coders = [Coder(categories=["a", "b"]), Coder(categories=["a", "b", "c"])]
    fitted = fit_network(sample, 0.5, Structure(((), (0,), (0, 1))))
    network = replace(fitted, coders=coders)
    network.__check_state__()
    first, last = network.tables
    found = last.look_up
    for damage in (
        {"parents": np.array([9])},
        {"parents": np.array([0])},
        {"sizes": np.array([], dtype=np.int64)},
        {"sizes": found.sizes + 1},
        {"offsets": found.offsets + 1},
        {"steps": np.full_like(found.steps, -7)},
        {"steps": found.steps[:-1]},
        {"steps": found.steps + 1},
        {"log_table": found.log_table[:, :, :1]},
        {"log_table": found.log_table[:1]},
        {"log_table": np.full_like(found.log_table, np.nan)},
    ):
        damaged = replace(last, look_up=found._replace(**damage))
        with pytest.raises(DamagedStateError):
            replace(network, tables=[first, damaged]).__check_state__()
    for tables in ([first], [last, first], [first, replace(last, node=7)]):
        with pytest.raises(DamagedStateError):
            replace(network, tables=tables).__check_state__()
    for mode in (-1, 99):
        coders = [replace(network.coders[0], mode=mode), network.coders[1]]
        with pytest.raises(DamagedStateError, match="mode is none of its codes"):
            replace(network, coders=coders).__check_state__()


def test_a_negative_code_reads_nothing_else(sample):
    table = fit_table(sample, 2, (0, 1), 0.5)
    codes = sample.rows.nodes.codes.copy()
    unseen, forged = codes.copy(), codes.copy()
    unseen[2], forged[2] = 99, -(2**28)
    expected, out = np.zeros((4, 2)), np.zeros((4, 2))
    table.add_log_likelihood(unseen, expected)
    table.add_log_likelihood(forged, out)
    np.testing.assert_array_equal(out, expected)


def test_an_unseen_parent_says_nothing():
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 2, 200), rng.integers(0, 2, 200)
    X = pd.DataFrame({"a": first, "b": second}).map("v{}".format)
    network = BayesNetClassifier().fit(X, first ^ second)
    assert network.parents_["b"] == ["class", "a"]
    found = network.predict_proba(pd.DataFrame({"a": ["new"], "b": ["v1"]}))
    np.testing.assert_allclose(found, [[0.5, 0.5]], atol=0.1)
