import numpy as np
from sklearn.ensemble import RandomForestClassifier

from ensemblage.pool._forest import Forest
from ensemblage.pool._out_of_bag import OutOfBag, OwnFolds
from ensemblage.strata import HISS, StrataEnsembleClassifier

FOREST = OutOfBag("forest", "anchor", (Forest(30),))
STRATA = OwnFolds("strata", "rows", (StrataEnsembleClassifier(HISS(3, 0.5)),))


def test_a_forest_is_judged_out_of_bag_and_fitted_once(rows):
    assert FOREST.parts(rows) == [None]
    attempt = FOREST.attempt(rows, None, 0)
    seed = attempt.model.random_state
    same = RandomForestClassifier(30, oob_score=True, random_state=seed).fit(rows.X, rows.y)
    np.testing.assert_array_equal(attempt.outputs[0], same.oob_decision_function_)
    held = FOREST.choose(rows, [attempt])
    assert FOREST.refit(rows, held, 0) is attempt.model


def test_a_row_that_every_tree_knows_has_the_classes_frequencies(rows):
    one_tree = OutOfBag("tree", "anchor", (Forest(1),))
    outputs = one_tree.attempt(rows, None, 0).outputs[0]
    prior = np.bincount(rows.y) / len(rows.y)
    assert (outputs == prior).all(axis=1).any()
    np.testing.assert_allclose(outputs.sum(axis=1), 1)


def test_groups_and_samples_are_judged_by_folds(rows):
    assert FOREST.parts(rows._replace(grouped=True)) == rows.folds
    assert FOREST.limited(50).parts(rows) == rows.folds
    assert FOREST.parts(rows._replace(folds=rows.folds[:1])) == rows.folds[:1]
    fold = rows.folds[0]
    assert FOREST.attempt(rows, fold, 0).outputs.shape == (1, len(fold.test), 3)


def test_strata_are_fitted_once_with_the_shared_folds(rows):
    assert STRATA.parts(rows) == [None]
    attempt = STRATA.attempt(rows, None, 0)
    assert attempt.outputs.shape == (1, 150, 3)
    np.testing.assert_allclose(attempt.outputs.sum(axis=2), 1)
    assert attempt.model.cv == 3
    assert STRATA.refit(rows, STRATA.choose(rows, [attempt]), 0) is attempt.model
    held_out = (attempt.outputs[0].argmax(axis=1) == rows.y).mean()
    assert 0.6 < held_out <= attempt.model.score(rows.X, rows.y)


def test_strata_of_a_sample_are_judged_by_folds(rows):
    limited = STRATA.limited(60)
    fold = limited.parts(rows)[0]
    assert limited.attempt(rows, fold, 0).outputs.shape == (1, len(fold.test), 3)
