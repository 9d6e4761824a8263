"""What the scores of compared methods show, and which of them to choose."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from msgspec.structs import replace
from scipy.stats import t as student

from ensemblage.methods import MethodScores
from ensemblage.methods._choice import (
    Candidate,
    chances,
    choose,
    chosen,
    corrected_error,
    corrected_pvalue,
    inflation,
    summarised,
    verdict,
)

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


def test_the_corrected_test_by_hand():
    gaps = np.array([1.0, 2.0, 3.0])
    # s² = 1, J = 3, k = 3: sqrt(1/3 + 1/2)
    assert corrected_error(gaps, 1 / 3) == pytest.approx(np.sqrt(5 / 6))
    assert corrected_pvalue(gaps, 1 / 3) == pytest.approx(2 * student.sf(2 / np.sqrt(5 / 6), 2))
    assert corrected_pvalue(np.zeros(3), 1 / 3) == 1.0
    assert corrected_pvalue(np.ones(3), 1 / 3) == 0.0


def test_a_share_of_half_the_rows_is_two_folds():
    assert inflation(4, 1 / 2) == 1 / 4 + 1


def test_a_fold_that_failed_has_no_value():
    assert corrected_error([1.0, None], 1 / 3) is None
    assert corrected_error([1.0, None, 3.0], 1 / 2) == pytest.approx(np.sqrt((1 / 2 + 1) * 2))


SHARE = 1 / 3


def scores(**accuracies):
    known = np.array([[-1 if x is None else x for x in row] for row in accuracies.values()])
    ranks = np.argsort(np.argsort(-known, axis=0), axis=0) + 1.0
    return tuple(
        MethodScores(
            name=name, label=name, ours=False, accuracy=row, balanced_accuracy=row,
            log_loss=(None,) * len(row), seconds=(1.0,) * len(row), ranks=tuple(own.tolist()),
            failures={i: "out of luck" for i, x in enumerate(row) if x is None}, warnings={},
        )
        for (name, row), own in zip(accuracies.items(), ranks, strict=True)
    )  # fmt: skip


def told(methods):
    return verdict(methods, chosen(methods, SHARE))


def test_a_summary_by_hand():
    a, b = summarised(scores(b=(0.1, None, 0.3), a=(0.4, 0.5, 0.6)), SHARE)
    assert (a.method, a.accuracy, a.mean_rank) == ("a", pytest.approx(0.5), 1.0)
    # s² = 0.01, 3 folds that test a third: (1/3 + 1/2) s²
    assert a.accuracy_se == pytest.approx(np.sqrt(0.01 * 5 / 6))
    assert (b.accuracy, b.failed_folds, b.log_loss) == (pytest.approx(0.2), 1, None)
    # one value has no spread
    assert summarised(scores(c=(0.5, None, None)), SHARE)[0].accuracy_se is None


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        ((0.9, 0.9, 0.9), (0.8, 0.8, 0.8), "Choose a (mean accuracy 0.9000), the most accurate"),
        ((0.9, 0.9, 0.7), (0.8, 0.8, 0.8), "does not tell it apart from b"),
        ((0.9, 0.9, 0.1), (0.8, 0.8, 0.8), "Choose b (mean accuracy 0.8000)"),
    ],
)
def test_the_verdict_claims_no_more_than_the_folds_show(a, b, words):
    methods = scores(a=a, b=b)
    assert words in told(methods)
    assert chosen(methods, SHARE).sentence == told(methods)


def test_a_method_that_failed_on_a_fold_is_not_chosen():
    methods = scores(a=(0.9, 0.9, None), b=(0.8, 0.8, 0.8), c=(0.5, 0.5, 0.5))
    assert chosen(methods, SHARE).method == "b"
    assert told(methods[:1]) == "No method has a score on every fold, so there is none to choose."
    assert told(methods[:2]).startswith("Only b has a score on every fold")


def test_what_is_not_there_is_not_compared():
    assert told(scores(a=(), b=())).startswith("No fold was computed by every method")
    assert (
        told(scores(a=(0.5,), b=(0.6,))) == "One fold alone does not show which method to choose."
    )
    failed = scores(a=(None, None))
    assert told(failed) == "Every method failed."
    assert told([replace(failed[0], failures={})]).startswith("No method has a score")
