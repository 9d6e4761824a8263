import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.tree import DecisionTreeClassifier

from ensemblage.inner._tree_structure import GrowthRule, TreeRows, grow_structure, pruned
from ensemblage.kernels import predict_softly
from kernels.trees import targets


@pytest.fixture(scope="module")
def rows():
    X, y = load_breast_cancer(return_X_y=True)
    return TreeRows(X.astype(np.float32), targets(y, n_classes=2))


@pytest.mark.parametrize("alpha", [0.0, 0.004, 0.01, 0.1, 1.0])
def test_pruning_is_scikit_learns(rows, alpha):
    structure = grow_structure(rows, GrowthRule("gini", None, 1), seed=3)
    ours = pruned(structure, alpha)
    theirs = DecisionTreeClassifier(random_state=3, ccp_alpha=alpha).fit(rows.X, rows.y).tree_
    assert (ours.left >= 0).sum() == (theirs.children_left >= 0).sum()
    # which row ends where: values that tell the leaves apart
    numbers = np.arange(float(len(ours.left)))[:, None]
    leaves = predict_softly(ours, rows.X, numbers).ravel()
    pairs = set(zip(leaves, theirs.apply(rows.X), strict=True))
    assert len(pairs) == theirs.n_leaves


def test_limits_hold(rows):
    structure = grow_structure(rows, GrowthRule("entropy", 5, 20), seed=0)
    assert (structure.tree.left < 0).sum() == 5
    assert (structure.tree.thresholds[structure.tree.left < 0] == 0).all()


def test_numbers_are_grown_too():
    X, y = load_diabetes(return_X_y=True)
    rows = TreeRows(X.astype(np.float32), targets(y))
    structure = grow_structure(rows, GrowthRule("squared_error", 4, 1), seed=0)
    assert (structure.tree.left >= 0).sum() == 3
    assert structure.strengths[0] == structure.strengths.max() > 0


def test_some_of_the_rows(rows):
    some = rows.at(np.array([2, 5]))
    assert some.X.tolist() == rows.X[[2, 5]].tolist()
    assert some.y.tolist() == rows.y[[2, 5]].tolist()


def test_rows_of_a_fold_are_those_that_keep_their_weight(rows):
    places = np.arange(0, 569, 3)
    fold = rows.only(places)
    assert fold.X is rows.X
    assert fold.counted.tolist() == places.tolist()
    rule = GrowthRule("gini", 12, 2)
    ours, copied = (grow_structure(each, rule, 4) for each in (fold, rows.at(places)))
    for field, other in zip(ours.tree, copied.tree, strict=True):
        assert field.tolist() == other.tolist()
    assert ours.strengths.tolist() == copied.strengths.tolist()
