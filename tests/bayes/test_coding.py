import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine

from ensemblage.bayes import BayesNetClassifier, EntryCapError
from ensemblage.bayes._coding import (
    CodedRows,
    Coder,
    Grid,
    Target,
    Training,
    code_columns,
    fill_missing,
    learn_coders,
)
from ensemblage.kernels import NO_EXTRA, Nodes
from ensemblage.tables import MISSING, Column


def test_an_unseen_category_has_the_smoothed_chance_of_a_zero_count():
    X = pd.DataFrame({"x": ["a"] * 6 + ["b"] * 2 + ["a"] * 2 + ["b"] * 6})
    y = np.repeat([0, 1], 8)
    network = BayesNetClassifier(calibration=None).fit(X, y)
    unseen = network.predict_proba(pd.DataFrame({"x": ["zebra"]}))
    np.testing.assert_allclose(unseen, [[0.5, 0.5]])  # 0.5 / (8 + 1) under both classes
    uneven = BayesNetClassifier(calibration=None).fit(X[:12], y[:12])
    weight = np.array([8.5 / 13 * 0.5 / 9, 4.5 / 13 * 0.5 / 5])
    found = uneven.predict_proba(pd.DataFrame({"x": ["zebra"]}))
    np.testing.assert_allclose(found[0], weight / weight.sum())


def test_a_column_of_gaps_and_a_constant_column_do_no_harm():
    X, y = load_iris(return_X_y=True)
    more = pd.DataFrame(X).rename(columns=str)
    more["gaps"] = np.nan
    more["nothing"] = pd.Series([None] * len(X), dtype=object)
    more["same"] = "always"
    network = BayesNetClassifier().fit(more, y)
    plain = BayesNetClassifier().fit(more[["0", "1", "2", "3"]], y)
    np.testing.assert_allclose(
        network.predict_proba(more), plain.predict_proba(more[["0", "1", "2", "3"]])
    )
    more["nothing"] = "something"
    assert np.isfinite(network.predict_proba(more)).all()


def test_each_number_can_be_a_category():
    X, y = load_wine(return_X_y=True)
    X = np.round(X).clip(0, 5)
    network = BayesNetClassifier(discretizer=None).fit(X, y)
    assert network.cut_points_ == {}
    assert network.categories_["x0"] == [5.0]
    assert network.score(X, y) > 0.9


def test_a_coder_counts_its_codes():
    numbers = Column("x", np.array([1.0, 2.0, np.nan, 3.0]))
    coder = Coder(np.array([1.5]))
    assert (coder.n_codes, coder.labels) == (2, ["(-inf, 1.5]", "(1.5, inf)"])
    assert coder.code(numbers).tolist() == [0, 1, MISSING, 1]
    assert coder.masses(numbers, np.array([1.0, 2.0, 4.0, 8.0])).tolist() == [1, 10]
    words = Column("w", values=["a", "z", None, "b"])
    assert Coder(categories=["b", "a"]).code(words).tolist() == [1, 2, MISSING, 0]
    empty = Coder(categories=[])
    assert (empty.n_codes, empty.labels) == (1, ["missing"])
    assert empty.code(words).tolist() == [1, 1, MISSING, 1]


def test_gaps_take_the_mode():
    training = Training(
        [Column("x", values=["a", None, "b", "b"])],
        Target("class", np.array([0, 1, 0, 1], dtype=np.int32), np.array([0, 1])),
        np.array([5.0, 1.0, 1.0, 1.0]),
    )
    coders = learn_coders(training, "mdlp")
    assert coders[0].mode == 0  # by weight, not by number
    codes = fill_missing(code_columns(training.columns, coders), coders)
    assert codes.tolist() == [[0, 0, 0, 0], [0, 0, 1, 1]]


def test_a_table_beyond_the_cap_is_named_before_it_is_made():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 500, (600, 2)).astype(str), columns=["left", "right"])
    message = (
        r"table of 'right' given 'class', 'left' would take \d+ entries, more than max_entries=1000"
    )
    with pytest.raises(EntryCapError, match=message):
        BayesNetClassifier(max_entries=1000).fit(X[:200], rng.integers(0, 2, 200))


def test_no_bound_on_parents_stays_small():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, (60, 40)).astype(str))
    X.columns = [f"c{j}" for j in range(40)]
    network = BayesNetClassifier(max_parents=None, criterion="k2").fit(X, rng.integers(0, 2, 60))
    assert max(len(p) for p in network.parents_.values()) > 3
    assert np.isfinite(network.predict_proba(X)).all()


def test_configurations_that_occur_are_numbered():
    codes = np.array([[0, 0, 1, 1], [0, 1, 1, 0], [2, 0, 0, 1]], dtype=np.int32)
    rows = CodedRows(Nodes(codes, np.array([2, 2, 3])), ["class", "a", "b"])
    assert rows.configurations([]).codes.tolist() == [0, 0, 0, 0]
    assert rows.configurations([1, 2]).codes.tolist() == [1, 2, 2, 0]
    grid = rows.grid([1, 2])
    assert grid.configurations.tolist() == [[0, 1], [0, 2], [1, 0]]
    assert [step.tolist() for step in grid.steps] == [[0, 1], [-1, 0, 1, 2, -1, -1]]
    assert rows.count_entries(1, [0], 2) == 4
    assert rows.count_entries(1, [0], 2, [NO_EXTRA, 2]) == 12
    assert not rows.one_class()


def test_a_full_grid_lists_all():
    grid = Grid.full([2, 3])
    assert grid.configurations.tolist() == [[a, b] for a in range(2) for b in range(3)]
    assert [len(step) for step in grid.steps] == [2, 6]
    assert Grid.full([]).configurations.shape == (1, 0)
