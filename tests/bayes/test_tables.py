from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning

from ensemblage._core import DamagedStateError
from ensemblage.bayes import (
    BayesNetClassifier,
    Coder,
    EntryCapError,
    Sample,
    Structure,
    _tables,
    code_sample,
    fit_network,
    fit_prior,
    read_training,
)
from ensemblage.bayes import _classifier as _base
from ensemblage.bayes._coding import CodedRows
from ensemblage.bayes._score_kernels import Nodes
from ensemblage.bayes._tables import fit_expected, fit_table, fit_temperature
from ensemblage.inner import InnerBayesNetClassifier

CHAIN = Structure(((), (0,), (0, 1), (2,)))
MODELS = {
    "plain": BayesNetClassifier(),
    "ensemble": InnerBayesNetClassifier(10, random_state=0),
    "plain tables": InnerBayesNetClassifier(5, tables="plain", random_state=0),
}


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


def test_a_node_without_the_class_as_parent_does_not_change_its_probability(sample):
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
    network._check_fitted()
    first, last = network.tables
    for damage in (
        {"parents": (9,)},
        {"parents": (0,)},
        {"sizes": np.array([], dtype=np.int64)},
        {"sizes": last.sizes + 1},
        {"sizes": last.sizes.astype(float)},
        {"offsets": last.offsets + 1},
        {"offsets": last.offsets[:0]},
        {"steps": np.full_like(last.steps, -7)},
        {"steps": last.steps[:-1]},
        {"steps": last.steps + 1},
        {"log_table": last.log_table[:, :, :1]},
        {"log_table": last.log_table[:1]},
        {"log_table": np.full_like(last.log_table, np.nan)},
    ):
        damaged = replace(last, **damage)
        with pytest.raises(DamagedStateError):
            replace(network, tables=[first, damaged])._check_fitted()
    for tables in ([first], [last, first], [first, replace(last, node=7)]):
        with pytest.raises(DamagedStateError):
            replace(network, tables=tables)._check_fitted()
    for mode in (-1, 99):
        coders = [replace(network.coders[0], mode=mode), network.coders[1]]
        with pytest.raises(DamagedStateError, match="mode is not one of its codes"):
            replace(network, coders=coders)._check_fitted()


def test_a_negative_code_reads_nothing_else(sample):
    table = fit_table(sample, 2, (0, 1), 0.5)
    codes = sample.rows.nodes.codes.copy()
    unseen, forged = codes.copy(), codes.copy()
    unseen[2], forged[2] = 99, -(2**28)
    expected, out = np.zeros((4, 2)), np.zeros((4, 2))
    table.add_log_likelihood(unseen, expected)
    table.add_log_likelihood(forged, out)
    np.testing.assert_array_equal(out, expected)


def test_an_unseen_parent_category_gives_a_uniform_distribution():
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 2, 200), rng.integers(0, 2, 200)
    X = pd.DataFrame({"a": first, "b": second}).map("v{}".format)
    network = BayesNetClassifier().fit(X, first ^ second)
    assert network.parents_["b"] == ["class", "a"]
    found = network.predict_proba(pd.DataFrame({"a": ["new"], "b": ["v1"]}))
    np.testing.assert_allclose(found, [[0.5, 0.5]], atol=0.1)


def fit_chain(seed=0, n_columns=5, **settings):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 300)
    columns = [rng.integers(0, 3, 300)]
    for _ in range(n_columns - 1):
        columns.append(
            np.where(rng.random(300) < 0.6, (columns[-1] + y) % 3, rng.integers(0, 3, 300))
        )
    X = pd.DataFrame(np.array(columns).T.astype(str), columns=[*"abcde"[:n_columns]])
    return BayesNetClassifier(missing="marginal", calibration=None, **settings).fit(X, y), X


def enumerate_slowly(network, row):
    """Sum the joint probability over all values of the missing cells."""
    missing = [name for name in row.index if pd.isna(row[name])]
    total = np.zeros(2)
    tables = {name: network.graph().table(name) for name in network.parents_}
    states = network.categories_
    for values in product(*(range(len(states[name])) for name in missing)):
        filled = dict(zip(missing, values, strict=True))
        for name in row.index:
            if name not in filled:
                filled[name] = states[name].index(row[name])
        for label in range(2):
            filled["class"] = label
            joint = 1.0
            for name, table in tables.items():
                joint *= table[tuple(filled[p] for p in (*network.parents_[name], name))]
            total[label] += joint
    return total / total.sum()


@pytest.mark.parametrize("seed", range(4))
def test_summing_over_missing_values_equals_enumeration(seed):
    network, X = fit_chain(seed)
    rng = np.random.default_rng(seed)
    rows = X[:25].astype(object).mask(rng.random((25, 5)) < 0.5, None)
    expected = [enumerate_slowly(network, row) for _, row in rows.iterrows()]
    np.testing.assert_allclose(network.predict_proba(rows), expected, rtol=1e-10)


def test_a_row_without_values_has_the_prior():
    network, X = fit_chain()
    rows = pd.DataFrame([[None] * 5], columns=X.columns)
    np.testing.assert_allclose(network.predict_proba(rows)[0], np.exp(network.class_log_prior_))


def test_without_missing_values_both_ways_agree():
    network, X = fit_chain()
    with_mode = network.predict_proba(X)
    extra = pd.concat([X, X[:1].assign(a=None)])
    np.testing.assert_allclose(network.predict_proba(extra)[:-1], with_mode, rtol=1e-12)


def test_intermediate_tables_respect_the_cap():
    network, X = fit_chain(max_parents=4)
    network.max_entries = 5
    with pytest.raises(EntryCapError, match="missing values needs a table of"):
        network.predict_proba(X[:3].assign(b=None, c=None, d=None))
    network.max_entries = 40
    few = network.predict_proba(X[:30].assign(b=None))
    network.max_entries = 10**6
    np.testing.assert_allclose(few, network.predict_proba(X[:30].assign(b=None)))


def with_missing(seed, n_rows=30, share=0.25):
    """Three columns of two or three values, some of them missing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    a = (y + rng.integers(0, 2, n_rows)) % 3
    columns = {"a": a, "b": (a + y) % 2, "c": rng.integers(0, 2, n_rows)}
    X = pd.DataFrame(columns).astype(object).astype(str)
    missing = rng.random(X.shape) < share
    missing[: len(X) // 3] = False
    return X.mask(missing), pd.Series(y, name="class")


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
    X, y = with_missing(seed)
    weights = np.random.default_rng(seed).integers(1, 3, len(y)).astype(float)
    training, sample = read(X, y, weights)
    codes = _tables.code_columns(training.columns, sample.coders)
    codes[0] = training.labels
    sizes = sample.rows.nodes.n_categories.tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_tables, "MAX_ITERATIONS", 3)
        patch.setattr(_tables, "EM_TOLERANCE", 0.0)
        with pytest.warns(ConvergenceWarning, match="did not converge in 3 iterations"):
            found = fit_expected(training, sample, 0.5, CHAIN)
    expected, heights = rounds_slowly(codes, weights, CHAIN, sizes, 0.5, 3)
    for own, other in zip(full(found, CHAIN), expected, strict=True):
        np.testing.assert_allclose(own, other, atol=1e-10)
    assert np.diff(heights).min() > -1e-9


def test_missing_values_of_a_column_without_children_leave_its_table_by_hand():
    X = pd.DataFrame({"x": ["a"] * 3 + ["b"] + [None] * 4})
    y = pd.Series([0] * 8 + [1] * 2)
    X = pd.concat([X, pd.DataFrame({"x": ["a", "b"]})], ignore_index=True)
    training, sample = read(X, y)
    found = fit_expected(training, sample, 0.5, Structure(((), (0,))))
    table = np.exp(found.tables[0].log_table[0, :2])
    # (3 + 0.5) / (4 + 1) of the known ones, where the mode would say (7 + 0.5) / (8 + 1)
    np.testing.assert_allclose(table[:, 0], [0.7, 0.3], atol=2e-4)


def test_without_missing_values_em_is_the_plain_estimate_bit_for_bit():
    X, y = with_missing(0, share=0.0)
    training, sample = read(X, y)
    first, second = fit_expected(training, sample, 0.5, CHAIN), fit_network(sample, 0.5, CHAIN)
    for one, other in zip(first.tables, second.tables, strict=True):
        np.testing.assert_array_equal(one.log_table, other.log_table)


def test_rows_are_split_under_a_cap_and_one_row_may_be_too_much():
    X, y = with_missing(3)
    training, sample = read(X, y)
    whole = fit_expected(training, sample, 0.5, CHAIN)
    sample.rows.max_entries = 24
    parted = fit_expected(training, sample, 0.5, CHAIN)
    for one, other in zip(whole.tables, parted.tables, strict=True):
        np.testing.assert_allclose(one.log_table, other.log_table, atol=1e-12)
    with pytest.raises(EntryCapError, match="missing values needs a table of 100 entries"):
        _tables._check_size(100, 1, 10)


@pytest.mark.parametrize("make", [BayesNetClassifier, InnerBayesNetClassifier])
def test_classifiers_learn_and_predict_with_missing_values(make):
    X, y = with_missing(1, n_rows=120, share=0.4)
    views = {"n_views": 4, "random_state": 0} if make is InnerBayesNetClassifier else {}
    network = make(missing="em", **views).fit(X, y)
    plain = make(**views).fit(X, y)
    assert network.parents_ == plain.parents_
    assert np.isfinite(network.predict_log_proba(X)).all()
    assert not np.allclose(network.predict_proba(X), plain.predict_proba(X))
    assert network.score(X, y) > 0.6


def slowly(log_joint, labels, weights):
    """The formula, tried at many temperatures."""
    best, found = np.inf, 1.0
    for log_t in np.linspace(-4, 4, 8001):
        loss = 0.5 * log_t**2
        for scores, label, weight in zip(log_joint, labels, weights, strict=True):
            p = np.exp(scores / np.exp(log_t) - np.max(scores / np.exp(log_t)))
            loss -= weight * np.log(p[label] / p.sum())
        if loss < best:
            best, found = loss, np.exp(log_t)
    return found


def test_a_temperature_by_hand():
    # three rows of four are right: the odds should be three to one, and the prior hardly counts
    log_joint = np.tile([np.log(81.0), 0.0], (4000, 1))
    labels = np.repeat([0, 0, 0, 1], 1000)
    found = fit_temperature(log_joint, labels, np.ones(4000))
    assert found == pytest.approx(4.0, rel=0.01)  # 81 ** (1 / 4) = 3


def test_temperatures_equal_the_slow_ones():
    rng = np.random.default_rng(0)
    log_joint, labels = 3 * rng.normal(size=(12, 3)), rng.integers(0, 3, 12)
    weights = rng.uniform(0, 2, 12)
    expected = slowly(log_joint, labels, weights)
    assert fit_temperature(log_joint, labels, weights) == pytest.approx(expected, rel=2e-3)


@given(st.integers(0, 10**6), st.floats(0.2, 5))
def test_a_temperature_follows_the_scale_of_the_log_joint(seed, scale):
    rng = np.random.default_rng(seed)
    log_joint = rng.normal(size=(3000, 2))
    labels = (rng.random(3000) < softmax(log_joint, axis=1)[:, 1]).astype(int)
    found = fit_temperature(scale * log_joint, labels, np.ones(3000))
    assert found / scale == pytest.approx(1, abs=0.25)


def test_without_rows_the_temperature_is_one():
    found = fit_temperature(np.empty((0, 2)), np.empty(0, int), np.empty(0))
    assert found == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_decisions_stay_and_explanations_agree(model):
    X, y = load_wine(return_X_y=True)
    model.fit(X, y)
    assert model.temperature_ != 1
    sure = model.predict_log_proba(X) * model.temperature_
    assert np.array_equal(model.predict(X), model.classes_[sure.argmax(axis=1)])
    contributions = model.explain(X).sum(axis=1)
    np.testing.assert_allclose(softmax(contributions, axis=1), model.predict_proba(X), atol=1e-12)
    uncalibrated = type(model)(**{**model.get_params(), "calibration": None}).fit(X, y)
    assert uncalibrated.temperature_ == 1
    np.testing.assert_allclose(log_softmax(sure, axis=1), uncalibrated.predict_log_proba(X))


def test_the_temperature_comes_from_out_of_bag_rows():
    """Pure chance: probabilities of rows that were not seen should be near one half."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (150, 12)).astype(str), rng.integers(0, 2, 150)
    calibrated = InnerBayesNetClassifier(20, view_size=0.3, random_state=0).fit(X, y)
    sure = InnerBayesNetClassifier(20, view_size=0.3, random_state=0, calibration=None).fit(X, y)
    fresh = rng.integers(0, 4, (500, 12)).astype(str)
    doubts = [np.abs(model.predict_proba(fresh) - 0.5).mean() for model in (calibrated, sure)]
    assert doubts[0] < 0.8 * doubts[1]


def test_classes_of_one_row_can_be_calibrated():
    X, y = load_iris(return_X_y=True)
    few = np.r_[0:20, 50:70, 100:101]
    for model in MODELS.values():
        assert np.isfinite(model.fit(X[few], y[few]).predict_log_proba(X)).all()


def test_large_data_are_calibrated_on_fewer_folds(monkeypatch):
    X, y = load_iris(return_X_y=True)
    n_calibrated = {}
    for enough in (10**6, 60, 10):
        monkeypatch.setattr(_base, "CALIBRATION_ROWS", enough)
        network = BayesNetClassifier()
        training = read_training(network, X, y, None)
        found = network._out_of_fold_log_joint(training, Structure.start(4, "naive"))
        n_calibrated[enough] = np.isfinite(found).all(axis=1).sum()
    assert n_calibrated == {10**6: 150, 60: 60, 10: 30}
