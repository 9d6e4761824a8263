import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemblage.inner import InnerEnsemble, TreeRecipe
from ensemblage.inner._tree_crowd import Crowd, ThresholdMeasure, draw_bootstraps, place_thresholds
from ensemblage.inner._tree_structure import CRITERIA, GrowthRule, TreeRows
from ensemblage.kernels import GINI, CutRule, bins_of, candidate_cuts
from kernels.trees import GAPS, drawn_rows, grown, targets
from reference.inner_tree import place

KINDS = ["gini", "entropy", "squared_error", "poisson"]


def n_classes(criterion):
    return 3 if criterion in {"gini", "entropy"} else 0


@pytest.mark.parametrize("criterion", KINDS)
@given(seed=st.integers(0, 10_000))
@settings(max_examples=8)
def test_thresholds_equal_the_slow_ones(criterion, seed):
    X, y, rng = drawn_rows(seed)
    y[0] = 1  # Poisson trees need something above zero
    weights = rng.gamma(2.0, size=len(y))  # so that no two cuts are equally good
    tree, listed, _ = grown(X, y, 5, criterion, weights)
    counts = draw_bootstraps(len(y), range(seed, seed + 4))
    rows = TreeRows(X, targets(y, weights, n_classes(criterion)))
    min_rows = 1 + seed % 3
    crowd = Crowd(counts, 0.25, CutRule(CRITERIA[criterion], min_rows))
    soft = place_thresholds(tree, rows, crowd)
    slow = place(listed, X.astype(float), y, weights, counts.T, 0.25, 3, criterion, min_rows)
    assert soft.thresholds[tree.left >= 0].tolist() == slow


@pytest.mark.parametrize("criterion", KINDS)
@given(seed=st.integers(0, 10_000))
@settings(max_examples=15)
def test_full_views_place_the_thresholds_of_the_tree(criterion, seed):
    X, y, rng = drawn_rows(seed, n_rows=120, missing=GAPS)
    y[0] = 1
    X += rng.normal(0, 0.3, size=X.shape).astype(np.float32)
    tree, _, _ = grown(X, y, 12, criterion)
    rows = TreeRows(X, targets(y, None, n_classes(criterion)))
    crowd = Crowd(np.ones((120, 3), dtype=np.uint8), 0.25, CutRule(CRITERIA[criterion], 1))
    soft = place_thresholds(tree, rows, crowd)
    assert (soft.thresholds == tree.thresholds).all()


def test_weights_are_copies():
    X, y, rng = drawn_rows(5)
    times = rng.integers(1, 4, size=len(y))
    every = np.repeat(np.arange(len(y)), times)
    tree, _, _ = grown(X[every], y[every], 6)
    views = rng.integers(0, 3, size=(len(y), 4)).astype(np.uint8)
    rule = CutRule(GINI, 1)
    weighted = TreeRows(X, targets(y, times, 3))
    copied = TreeRows(X[every], targets(y[every], n_classes=3))
    one = place_thresholds(tree, weighted, Crowd(views, 0.25, rule))
    other = place_thresholds(tree, copied, Crowd(views[every], 0.25, rule))
    assert one.thresholds.tolist() == other.thresholds.tolist()


def test_the_votes_of_an_inner_ensemble_are_the_roots_thresholds():
    X, y, _ = drawn_rows(1)
    tree, _, _ = grown(X, y, 2)
    rows = TreeRows(X, targets(y, n_classes=3))
    counts = draw_bootstraps(len(y), range(9))
    rule = CutRule(GINI, 1)
    own = float(tree.thresholds[0, 0])
    x = X[:, tree.feature[0]]
    cuts = candidate_cuts(x, np.ones(len(y)), own, 0.25)
    measure = ThresholdMeasure(bins_of(x, cuts.values, tree.missing_left[0]), rows.targets, rule)
    votes = InnerEnsemble(measure, lambda _: counts.T, "vote")(cuts)
    soft = place_thresholds(tree, rows, Crowd(counts, 0.25, rule))
    assert np.repeat(cuts.values, votes.astype(int)).tolist() == soft.thresholds[0].tolist()
    one = measure(cuts, counts[:, 0])
    assert one.tolist() == measure.score_views(cuts, counts.T)[0].tolist()


def test_bootstraps_have_as_many_draws_as_rows():
    counts = draw_bootstraps(50, [1, 2, 1])
    assert counts.sum(axis=0).tolist() == [50, 50, 50]
    assert counts[:, 0].tolist() == counts[:, 2].tolist() != counts[:, 1].tolist()


def test_a_split_on_missing_values_alone_stays():
    X = np.array([[1.0], [2.0], [3.0], [np.nan], [np.nan]], dtype=np.float32)
    y = np.array([0, 0, 0, 1, 1])
    tree, _, _ = grown(X, y, 2)
    assert tree.thresholds[0, 0] == np.inf
    rows = TreeRows(X, targets(y, n_classes=2))
    soft = place_thresholds(tree, rows, Crowd(draw_bootstraps(5, range(4)), 0.5, CutRule(GINI, 1)))
    assert (soft.thresholds[0] == np.inf).all()


@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
def test_rows_without_weight_are_not_there(criterion):
    X, y, rng = drawn_rows(3, n_rows=90)
    weights = rng.gamma(2.0, size=90)
    some = np.sort(rng.permutation(90)[:60])
    rows = TreeRows(X, targets(y, weights, n_classes(criterion)))
    tree, _, _ = grown(X[some], y[some], 8, criterion, weights[some])
    recipe = TreeRecipe(GrowthRule(criterion, 8, 1), 6, 0.25, crisp=False)
    fold, copied = rows.only(some), rows.at(some)
    softs = [recipe.soften(tree, each, 5) for each in (fold, copied)]
    assert softs[0].thresholds.tolist() == softs[1].thresholds.tolist()
    means = [recipe.means(softs[0], each) for each in (fold, copied)]
    assert means[0].values.tolist() == means[1].values.tolist()
    assert means[0].weights.tolist() == means[1].weights.tolist()
