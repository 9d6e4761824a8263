import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import t as student

from ensemblage.methods._choice import Candidate, chances, choose
from ensemblage.methods._overlap import corrected_error

tables = st.tuples(st.integers(2, 5), st.integers(2, 8)).flatmap(
    lambda shape: hnp.arrays(np.float64, shape, elements=st.integers(0, 20).map(lambda v: v / 20))
)


def candidates(*rows, efforts=None):
    efforts = efforts or [1] * len(rows)
    names = "abcdefgh"
    return [
        Candidate(name, name.upper(), effort, tuple(map(float, row)))
        for name, effort, row in zip(names, efforts, rows, strict=False)
    ]


def test_the_chance_of_two_is_the_tail_of_the_test():
    rng = np.random.default_rng(0)
    accuracy = 0.8 + rng.normal(0, 0.02, (2, 10))
    gaps = accuracy[0] - accuracy[1]
    for margin in (0.0, 0.01):
        place = (gaps.mean() + margin) / corrected_error(gaps, 1 / 5)
        ours = chances(accuracy, 1 / 5, 0, (margin,))[0]
        assert ours == pytest.approx(student.cdf(place, 9), abs=0.01)


def test_chances_of_several_add_up():
    accuracy = 0.8 + np.random.default_rng(1).normal(0, 0.02, (4, 10))
    assert sum(chances(accuracy, 1 / 5, i, (0.0,))[0] for i in range(4)) == pytest.approx(
        1, abs=0.02
    )


@given(tables)
def test_chances_are_chances_and_grow_with_the_margin(accuracy):
    best, within = chances(accuracy, 1 / accuracy.shape[1], 0, (0.0, 0.01))
    assert 0 <= best <= within <= 1
    chosen = choose(candidates(*accuracy), 1 / accuracy.shape[1])
    assert chosen.sentence.startswith(f"Choose {chosen.label} (mean accuracy ")
    assert chosen.sentence.count(". ") == 0
    assert chosen.accuracy >= accuracy.mean(axis=1).max() - 0.01 - 1e-9


def test_a_clear_lead_is_sure():
    found = choose(candidates([0.9, 0.91, 0.92], [0.8, 0.81, 0.81]), 1 / 3)
    assert found.method == found.leader == "a"
    assert found.chance_best > 0.95
    assert found.not_told_apart == ()
    assert found.sentence == (
        "Choose A (mean accuracy 0.9100), the most accurate of 2 methods; this is quite sure: the "
        "chance that no other method is better by more than 0.01 is above 99 %, that none is "
        "better at all above 99 %; a paired test tells it apart from every other."
    )


def test_of_two_about_as_good_the_simpler_is_chosen():
    rows = [0.90, 0.93, 0.91], [0.92, 0.90, 0.93]
    found = choose(candidates(*rows, efforts=[1, 3]), 1 / 3)
    assert (found.method, found.leader) == ("a", "b")
    assert "as it is simpler than B, whose lead of 0.0033 is within the standard error" in (
        found.sentence
    )
    assert choose(candidates(*rows, efforts=[3, 1]), 1 / 3).method == "b"


def test_a_simpler_method_far_behind_is_not_chosen_however_few_the_folds():
    # the standard error is wide, but 0.1 is more than a user would give away
    found = choose(candidates([0.7, 0.9], [0.9, 0.9], efforts=[0, 3]), 1 / 2)
    assert found.method == "b"
    assert found.not_told_apart == ("a",)


def test_equal_methods_are_named_so():
    found = choose(candidates([0.9, 0.8], [0.9, 0.8], [0.9, 0.8], efforts=[2, 1, 3]), 1 / 2)
    assert found.method == "b"
    assert "the most accurate of 3 methods, with 2 more as accurate" in found.sentence
    assert found.chance_best == 1.0


def test_many_that_are_close_are_counted():
    rng = np.random.default_rng(0)
    found = choose(candidates(*(0.8 + rng.normal(0, 0.02, (6, 4)))), 1 / 4)
    assert "does not tell it apart from 5 of the 5 others" in found.sentence


@pytest.mark.parametrize("number", [0, 1])
def test_one_method_is_no_choice(number):
    assert choose(candidates([0.5, 0.6])[:number], 1 / 2) is None


@pytest.mark.slow
@pytest.mark.parametrize("n_splits", [3, 5])
@pytest.mark.parametrize("spread", [0.005, 0.01, 0.02, 0.05])
def test_the_stated_chance_is_not_above_the_true_one(n_splits, spread):
    """Of six methods that differ by ``spread``, scored on folds that correlate by 1 / k."""
    rng = np.random.default_rng(0)
    stated, true = [], []
    for _ in range(600):
        means = 0.8 + spread * rng.normal(size=6)
        common, own = rng.normal(size=(6, 1)), rng.normal(size=(6, n_splits))
        noise = np.sqrt(1 / n_splits) * common + np.sqrt(1 - 1 / n_splits) * own
        found = choose(candidates(*(means[:, None] + 0.02 * noise)), 1 / n_splits)
        stated.append(found.chance_within_margin)
        true.append(means["abcdef".index(found.method)] >= means.max() - found.margin)
    # three standard errors of 600 draws
    assert np.mean(stated) <= np.mean(true) + 3 * np.std(true) / np.sqrt(600)
