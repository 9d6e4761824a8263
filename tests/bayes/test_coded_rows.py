import numpy as np
import pandas as pd
import pytest

from ensemblage.bayes import BayesNetClassifier, EntryCapError
from ensemblage.bayes._coded_rows import CodedRows, Grid
from ensemblage.kernels import Nodes


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
    assert rows.count_entries(1, [0], 2, 2) == 12
    assert not rows.one_class()


def test_a_full_grid_lists_all():
    grid = Grid.full([2, 3])
    assert grid.configurations.tolist() == [[a, b] for a in range(2) for b in range(3)]
    assert [len(step) for step in grid.steps] == [2, 6]
    assert Grid.full([]).configurations.shape == (1, 0)
