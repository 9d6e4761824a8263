import numpy as np
import pytest

from ensemblage.datasets import Dataset
from ensemblage.papers.flagship._flagship_members import (
    DEFAULT,
    PLAIN,
    THIRTY,
    draw_settings,
    everybody,
    timed,
)
from ensemblage.papers.flagship._flagship_methods import MEMBERS, _pooled
from ensemblage.papers.flagship._flagship_rows import outer_fold
from ensemblage.pool import POOLS, EnsemblageClassifier

SEED = 3


@pytest.fixture(scope="module")
def mixed():
    """Three classes told by a number with gaps and a word."""
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 40)
    numbers = np.round(rng.normal(size=120) + np.repeat([0.0, 2.0, 2.0], 40), 3)
    words = np.where(rng.random(120) < 0.8, np.repeat(["x", "x", "z"], 40), "x")
    X = np.column_stack([numbers.astype(object), words.astype(object)])
    X[::10, 0] = None
    return outer_fold(Dataset("mixed", X, y, ("n", "w"), ("number", "word")), 0, SEED)


@pytest.fixture(scope="module")
def spoken(mixed):
    return everybody(mixed, SEED, 2)


def test_everybody_speaks_of_all_rows(mixed, spoken):
    assert list(spoken) == [*POOLS["full"], PLAIN, DEFAULT, THIRTY]
    for each in spoken.values():
        assert each.held.shape == (len(mixed.learned.y), 3)
        assert each.new.shape == (len(mixed.asked.y), 3)
        assert np.isfinite(each.held).all()
        assert min(each[2:]) >= 0


def test_the_study_measures_what_users_get(mixed, spoken):
    rows = mixed.learned
    model = EnsemblageClassifier("full", random_state=SEED).fit(rows.table, rows.y)
    ours = _pooled([spoken[name] for name in MEMBERS["full"]], rows)
    np.testing.assert_allclose(
        ours.probabilities, model.predict_proba(mixed.asked.table), atol=1e-6
    )


def test_tuning_further_never_raises_the_held_out_loss(mixed, spoken):
    five, thirty = (spoken[name].candidate for name in ("boosting", THIRTY))
    losses = [each.recipe.loss(each.held.outputs, mixed.learned) for each in (five, thirty)]
    assert losses[1] <= losses[0]
    assert sum(spoken[THIRTY][2:4]) > sum(spoken["boosting"][2:3])


def test_settings_are_drawn_from_their_ranges():
    drawn = draw_settings(40, 0)
    assert drawn == draw_settings(40, 0)
    assert len(set(drawn)) == 40
    assert all(0.08 <= each.learning_rate <= 0.3 for each in drawn)
    assert {each.max_leaves for each in drawn} == {4, 8, 15, 31, 63}


def test_time_is_that_of_the_processor():
    done, seconds = timed(sum, [1, 2])
    assert done == 3
    assert 0 <= seconds < 1
