from dataclasses import replace

import numpy as np
import pytest

from ensemblage._core import Fold
from ensemblage.pool import Boosting, _boosting
from ensemblage.pool._boosting import FIVE, staged_answers
from ensemblage.pool._member_spec import Attempt, fit_fresh
from ensemblage.pool._targets import log_loss

ENGINES = ["lightgbm", "sklearn"]
STAGES = (5, 10, 40)


def boosting(engine, settings=FIVE[:2]):
    if engine == "lightgbm":
        pytest.importorskip("lightgbm")
    return Boosting("boosting", "anchor", settings, engine=engine, stages=STAGES)


@pytest.mark.parametrize("engine", ENGINES)
def test_each_setting_is_judged_at_each_stage(rows, engine):
    recipe = boosting(engine)
    fold = rows.folds[0]
    outputs = recipe.attempt(rows, fold, 0).outputs
    assert outputs.shape == (2 * 3, len(fold.test), 3)
    np.testing.assert_allclose(outputs.sum(axis=2), 1)
    plain = fit_fresh(recipe.build(4), rows, fold.train, 0)
    np.testing.assert_allclose(outputs[4], plain.predict_proba(rows.X[fold.test]))


@pytest.mark.parametrize("engine", ENGINES)
def test_the_best_pair_of_settings_and_rounds_is_fitted_again(rows, engine):
    recipe = boosting(engine)
    held = recipe.choose(rows, [recipe.attempt(rows, fold, 0) for fold in rows.folds])
    model = recipe.refit(rows, held, 0)
    rounds = model.n_rounds if engine == "lightgbm" else model.max_iter
    assert rounds == STAGES[held.chosen % 3]
    assert (model.predict(rows.X) == rows.y).mean() > 0.7


@pytest.mark.parametrize("engine", ENGINES)
def test_a_stage_beyond_the_end_repeats_the_last_word(rows, engine):
    model = fit_fresh(boosting(engine).build(1), rows, np.arange(150), 0)
    staged = staged_answers(model, rows.X, [5, 10, 99])
    np.testing.assert_array_equal(staged[1], staged[2])
    np.testing.assert_allclose(staged[1], model.predict_proba(rows.X))
    assert (staged[0] != staged[1]).any()


@pytest.mark.parametrize("engine", ENGINES)
def test_growth_stops_when_held_out_rows_no_longer_gain(rows, engine, monkeypatch):
    monkeypatch.setattr(_boosting, "PATIENCE", 3)
    long = Boosting("boosting", "anchor", FIVE[3:4], engine=engine, stages=(5, 150, 300))
    noise = rows._replace(X=np.random.default_rng(0).normal(size=(150, 4)))
    outputs = long.attempt(noise, rows.folds[0], 0).outputs
    np.testing.assert_array_equal(outputs[1], outputs[2])


def test_a_fit_again_takes_as_long_as_the_rounds_that_are_kept(rows):
    recipe = replace(boosting("sklearn", FIVE[3:4]), stages=(5, 10))
    attempts = [recipe.attempt(rows, fold, 0)._replace(rounds=(50,)) for fold in rows.folds]
    held = recipe.choose(rows, attempts)
    assert held.needed == {0: 0.1, 1: 0.2}[held.chosen]


@pytest.mark.parametrize("engine", ENGINES)
def test_rounds_after_the_best_are_judged_as_they_are(rows, engine, monkeypatch):
    monkeypatch.setattr(_boosting, "PATIENCE", 30)
    eager = FIVE[3]._replace(learning_rate=0.5)
    recipe = replace(boosting(engine, (eager,)), stages=(10, 20, 30, 300))
    noise = rows._replace(X=np.random.default_rng(0).normal(size=(150, 4)))
    fold = rows.folds[0]
    attempt = recipe.attempt(noise, fold, 0)
    assert 30 <= attempt.rounds[0] < 60
    plain = fit_fresh(recipe.build(2), noise, fold.train, 0)
    np.testing.assert_allclose(attempt.outputs[2], plain.predict_proba(noise.X[fold.test]))
    losses = [log_loss(each, rows.y[fold.test]) for each in attempt.outputs]
    assert losses[0] < losses[1] < losses[2]


def test_stages_that_most_folds_have_not_reached_are_not_chosen(rows):
    recipe = boosting("sklearn")  # two settings, at 5, 10 and 40 rounds
    known = 0.6 * np.eye(3)[rows.y] + 0.4 / 3
    losing = np.full((3, 150, 3), 1 / 3)
    growing = np.stack([losing[0], 0.3 * losing[0] + 0.7 * known, known])
    outputs = np.concatenate([losing, growing])
    attempts = [
        Attempt(outputs[:, fold.test], 0.0, None, (40, reached))
        for fold, reached in zip(rows.folds, [10, 10, 40], strict=True)
    ]
    assert recipe.choose(rows, attempts).chosen == 4
    attempts = [each._replace(rounds=(40, 40)) for each in attempts]
    assert recipe.choose(rows, attempts).chosen == 5
    attempts = [each._replace(rounds=(1, 1)) for each in attempts]
    assert recipe.choose(rows, attempts).chosen in {0, 3}


@pytest.mark.parametrize("engine", ENGINES)
def test_classes_that_a_fold_lacks(rows, engine):
    test = rows.folds[0].test
    two = Fold(np.flatnonzero(rows.y != 1), test)
    outputs = boosting(engine).attempt(rows, two, 0).outputs
    assert (outputs[:, :, 1] == 0).all()
    alone = Fold(np.flatnonzero(rows.y == 1), test)
    one = boosting(engine).attempt(rows, alone, 0).outputs
    assert (one[:, :, 1] == 1).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_weights_count_on_both_sides(rows, engine):
    weighted = rows._replace(weights=np.where(rows.y == 0, 9.0, 1.0))
    plain, heavy = (boosting(engine).attempt(each, rows.folds[0], 0) for each in (rows, weighted))
    assert heavy.outputs[2, :, 0].mean() > plain.outputs[2, :, 0].mean() + 0.05
