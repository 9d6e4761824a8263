import numpy as np
import pytest
from sklearn.base import clone

from ensemblage.messages import DamagedStateError
from ensemblage.parallel import deal_folds
from ensemblage.pool._pool_rows import PoolRows
from ensemblage.pool._pool_targets import PoolClasses
from ensemblage.pool._source_members import BySource, SharedPenalties, source_recipes
from ensemblage.strata import PartialPoolingClassifier
from pool.sourced import SITES, X, Y

CODES = np.unique(SITES, return_inverse=True)[1]
TOLD = np.column_stack([X, np.eye(3)[CODES]])
LABELS = (Y == "well").astype(int)
ROWS = PoolRows(
    TOLD, LABELS, PoolClasses(np.arange(2)), None, deal_folds(LABELS, 3, np.random.default_rng(0))
)
FIXED = PartialPoolingClassifier(shared_penalty=1.0, own_penalty=1.0)


def test_the_last_columns_tell_the_source():
    model = BySource(FIXED, 3).fit(TOLD, LABELS)
    plain = clone(FIXED).fit(X, LABELS, sources=CODES)
    expected = plain.predict_proba(X, sources=CODES)
    np.testing.assert_array_equal(model.predict_proba(TOLD), expected)
    np.testing.assert_array_equal(model.predict(TOLD), expected.argmax(axis=1))


def test_penalties_are_chosen_on_the_shared_folds_and_hold_rows_out():
    recipe = SharedPenalties(
        "partial-pooling", "sources", (BySource(PartialPoolingClassifier(), 3),)
    )
    assert recipe.parts(ROWS) == [None]
    attempt = recipe.attempt(ROWS, None, 0)
    outputs, model = attempt.outputs, attempt.model
    search = PartialPoolingClassifier(cv=ROWS.folds).fit(X, LABELS, sources=CODES)
    assert model.estimator_.own_penalty_ == search.own_penalty_
    train, test = ROWS.folds[1]
    again = PartialPoolingClassifier(
        shared_penalty=search.shared_penalty_, own_penalty=search.own_penalty_
    ).fit(X[train], LABELS[train], sources=CODES[train])
    expected = again.predict_proba(X[test], sources=CODES[test])
    np.testing.assert_array_equal(outputs[0, test], expected)
    assert model.estimator_.cv == model.estimator.cv == 5


def test_where_folds_leave_rows_out_each_fold_searches_for_itself():
    (recipe, *_) = source_recipes(3)
    once = ROWS._replace(folds=ROWS.folds[:1])
    assert recipe.parts(once) == once.folds
    outputs = recipe.attempt(once, once.folds[0], 0).outputs
    assert outputs.shape == (1, len(once.folds[0].test), 2)


def test_who_is_in_the_pool_of_known_sources():
    recipes = source_recipes(3)
    names = [each.name for each in recipes]
    assert names == ["partial-pooling", "boosting-by-source", "forest-by-source"]
    assert {each.response for each in recipes} == {"predict_proba"}


def test_columns_that_do_not_fit_are_found_out():
    model = BySource(FIXED, 3).fit(TOLD, LABELS)
    model.__check_state__()
    model.n_sources = 4
    with pytest.raises(DamagedStateError, match="its columns differ"):
        model.__check_state__()
