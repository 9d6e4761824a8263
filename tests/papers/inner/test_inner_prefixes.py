from functools import partial

import numpy as np
import pandas as pd
import pytest

from bayes.coded import draw, space
from ensemblage.bayes import k2_search, make_measure
from ensemblage.datasets import load_dataset
from ensemblage.inner import InnerEnsemble, draw_views
from ensemblage.papers.inner._inner_networks import as_frame, paper_model
from ensemblage.papers.inner._inner_prefixes import FoldNetworks, search_prefixes
from ensemblage.papers.inner._inner_table1 import accuracy, folds_of
from ensemblage.parallel import Fold

SIZES = (2, 3, 5, 8)


def words(n_rows=90, seed=0):
    """Words that hang together, some missing, and a number; three classes and one never seen."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    columns = {"number": y + rng.normal(size=n_rows)}
    before = y
    for j in range(5):
        before = np.where(rng.random(n_rows) < 0.5, before, rng.integers(0, 3, n_rows))
        known = np.array(list("abc"), dtype=object)[before]
        known[rng.random(n_rows) < 0.05] = None
        columns[f"word{j}"] = pd.Categorical(known, categories=list("abcd"))
    classes = pd.Categorical.from_codes(y, categories=["z", "x", "y", "never"])
    return pd.DataFrame(columns), pd.Series(classes, name="class")


@pytest.fixture(scope="module", params=["iris", "words"])
def rows(request):
    return words() if request.param == "words" else as_frame(load_dataset("iris"))


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("share", [0.2, 0.7, 1.0])
def test_inner_networks_of_all_sizes_equal_those_fitted_one_by_one(rows, share, replace):
    X, y = rows
    for fold in folds_of(y, 5, seed=3)[:2]:
        found = FoldNetworks(X, y, fold).inner(SIZES, share, replace, seed=7)
        setting = {"view_size": share, "replace": replace}
        alone = [paper_model("inner", 7, n_views=size, **setting) for size in SIZES]
        assert found == [accuracy(model, X, y, fold) for model in alone]


def test_bags_of_all_sizes_equal_those_fitted_one_by_one(rows):
    X, y = rows
    fold = folds_of(y, 5, seed=3)[0]
    found = FoldNetworks(X, y, fold).bags(SIZES, seed=7)
    alone = [paper_model("bagging", 7, n_views=size) for size in SIZES]
    assert found == [accuracy(model, X, y, fold) for model in alone]


def test_a_single_class_leaves_nothing_to_search():
    X, y = words()
    alone = np.flatnonzero(y == "x")
    fold = Fold(alone, np.arange(len(y)))
    networks = FoldNetworks(X, y, fold)
    share = 100.0 * len(alone) / len(y)
    assert networks.inner([2, 4], 0.5, replace=False, seed=0) == pytest.approx([share] * 2)
    assert networks.bags([1, 2], seed=0) == pytest.approx([share] * 2)


@pytest.mark.parametrize("replace", [False, True])
def test_sizes_that_part_find_the_structures_that_they_find_alone(replace):
    parted = 0
    for seed in range(6):
        rows = draw(seed)
        views = draw_views(rows.n_rows, range(20 * seed, 20 * seed + 8), 0.3, replace)
        measure = make_measure("probability", rows, 0.5)
        found = search_prefixes(measure, views, SIZES, space([1, 2, 3], "empty"))
        for size in SIZES:
            fresh = make_measure("probability", rows, 0.5)
            crowd = InnerEnsemble(fresh, lambda _, v=views[:size]: v)
            assert found[size] == k2_search(partial(crowd), space([1, 2, 3], "empty"))
        parted += len(set(found.values())) > 1
    assert parted > 1  # or nothing was tried
