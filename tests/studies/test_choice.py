"""What the scores of compared methods show, and which of them to take."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from msgspec.structs import replace
from scipy.stats import t as student
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from ensemblage.studies import Design, compare, gap_between
from ensemblage.studies._choice import choose, corrected_error, summarised, verdict
from studies.made_scores import made_scores

DESIGN = Design("accuracy", 1 / 3, 3000)

tables = st.tuples(st.integers(2, 5), st.integers(2, 8)).flatmap(
    lambda shape: hnp.arrays(np.float64, shape, elements=st.integers(0, 20).map(lambda v: v / 20))
)


def candidates(*rows, efforts=None, seconds=None):
    efforts, seconds = efforts or [1] * len(rows), seconds or [1.0] * len(rows)
    made = made_scores(
        **{name: tuple(map(float, row)) for name, row in zip("abcdefgh", rows, strict=False)}
    )
    return [
        replace(
            each, label=each.name.upper(), effort=effort, seconds=(time,) * each.n_folds,
            log_loss=each.accuracy,
        )
        for each, effort, time in zip(made, efforts, seconds, strict=True)
    ]  # fmt: skip


@given(tables)
def test_a_method_is_taken_that_the_test_does_not_tell_from_the_best(scores):
    found = choose(candidates(*scores), Design("accuracy", 1 / scores.shape[1], 300))
    assert found.method in {found.leader, *found.not_told_apart}
    assert found.clear == (found.not_told_apart == ())
    means = scores.mean(axis=1)
    assert means["abcdefgh".index(found.leader)] == pytest.approx(means.max())
    assert found.sentence.count(". ") == 0


def test_a_clear_lead_is_claimed():
    found = choose(candidates([0.9, 0.91, 0.92], [0.8, 0.81, 0.81]), DESIGN)
    assert (found.method, found.leader, found.clear) == ("a", "a", True)
    assert found.sentence == (
        "Take A (accuracy 0.910): it is clearly better than every other method here."
    )
    assert found.detail == (
        "A is ahead of B by 0.103 on average; two standard errors of that are 0.011."
    )


def test_of_two_about_as_good_the_simpler_is_taken():
    rows = [0.90, 0.93, 0.91], [0.92, 0.90, 0.93]
    found = choose(candidates(*rows, efforts=[1, 3]), DESIGN)
    assert (found.method, found.leader) == ("a", "b")
    assert found.sentence == (
        "Take A (accuracy 0.913): nothing here is clearly better, and it is the simplest."
    )
    led = choose(candidates(*rows, efforts=[3, 1]), DESIGN)
    assert led.method == "b"
    assert led.sentence == (
        "Take B (accuracy 0.917): it did best of 2 that are about as good, and it is the simplest "
        "of them."
    )


def test_a_method_thirty_times_slower_is_not_taken_for_a_little():
    rows = [0.90, 0.93, 0.91], [0.92, 0.93, 0.91]
    found = choose(candidates(*rows, seconds=[1.0, 30.0]), DESIGN)
    assert (found.method, found.leader) == ("a", "b")
    assert found.sentence == (
        "Take A (accuracy 0.913): nothing here is clearly better, and it is much faster than B."
    )
    assert choose(candidates(*rows, seconds=[1.0, 3.0]), DESIGN).method == "b"


def test_a_simpler_method_far_behind_is_not_taken_though_no_test_can_tell():
    # eight methods on three folds: only a huge difference is told apart
    rows = [[0.80, 0.82, 0.84], [0.90, 0.90, 0.91], *[[0.7, 0.72, 0.75]] * 6]
    found = choose(candidates(*rows, efforts=[1, *[3] * 7]), DESIGN)
    assert (found.method, found.not_told_apart) == ("b", ("a", *"cdefgh"))
    assert found.sentence == (
        "Take B (accuracy 0.903): it did best, though not clearly better than 7 others."
    )


def test_a_method_is_not_taken_for_its_noise():
    # b is behind the best a little and always, c by much and now and then; b is as simple
    rows = [0.85, 0.86, 0.84], [0.84, 0.85, 0.83], [0.82, 0.74, 0.83]
    found = choose(candidates(*rows, efforts=[3, 1, 1]), DESIGN)
    assert (found.method, found.leader) == ("b", "a")
    assert found.not_told_apart == ("b", "c")
    assert found.sentence == (
        "Take B (accuracy 0.840): nothing here is clearly better, and nothing as good is simpler."
    )


def test_nothing_better_than_the_majority_is_said_so():
    found = choose(candidates([0.6, 0.6, 0.6], [0.6, 0.7, 0.55], efforts=[0, 1]), DESIGN)
    assert found.sentence == (
        "Take none of them yet: nothing here is clearly better than A (accuracy 0.600); more rows "
        "or other columns may help."
    )


def test_by_a_loss_less_is_better():
    found = choose(candidates([0.9, 0.8, 0.9], [0.3, 0.2, 0.3]), Design("log_loss", 1 / 3, 3000))
    assert (found.leader, found.measure, found.score) == ("b", "log_loss", pytest.approx(0.8 / 3))


@pytest.mark.parametrize("number", [0, 1])
def test_one_method_is_no_choice(number):
    assert choose(candidates([0.5, 0.6])[:number], DESIGN) is None


def claims(n_methods, n_splits, n_draws=200):
    """Count winners claimed among methods of equal truth, on folds that correlate by 1 / k."""
    rng = np.random.default_rng(0)
    design, count = Design("accuracy", 1 / n_splits, 1000), 0
    for _ in range(n_draws):
        common, own = rng.normal(size=(n_methods, 1)), rng.normal(size=(n_methods, n_splits))
        noise = np.sqrt(1 / n_splits) * common + np.sqrt(1 - 1 / n_splits) * own
        count += choose(candidates(*(0.8 + 0.02 * noise)), design).clear
    return count / n_draws


@pytest.mark.parametrize("n_splits", [3, 5, 10])
@pytest.mark.parametrize("n_methods", [2, 3, 8])
def test_of_200_simulated_nulls_at_most_one_in_twenty_has_a_winner(n_methods, n_splits):
    assert claims(n_methods, n_splits) <= 0.05


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "methods",
    [
        {
            "one": RandomForestClassifier(5, max_depth=3),
            "two": RandomForestClassifier(5, max_depth=3),
        },
        {"one": KNeighborsClassifier(5), "two": KNeighborsClassifier(6), "three": GaussianNB()},
    ],
)
def test_of_200_nulls_with_data_at_most_one_in_twenty_has_a_winner(methods):
    count = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(90, 4)), rng.integers(0, 2, 90)
        if "three" not in methods:  # two forests that differ in their seeds alone, with a signal
            y = (X[:, 0] + X[:, 1] + rng.normal(size=90) > 0).astype(int)
        count += compare(X, y, methods, n_splits=3, seed=seed, measure="accuracy").choice.clear
    assert count <= 10


def test_the_corrected_test_by_hand():
    zeros, gaps = np.zeros(3), np.array([0.1, 0.2, 0.3])
    # s² = 0.01, J = 3, k = 3: sqrt(1/3 + 1/2) / 10
    error = np.sqrt(5 / 6) / 10
    assert corrected_error(gaps, 1 / 3) == pytest.approx(error)
    found = gap_between(gaps, zeros, DESIGN)
    assert found == pytest.approx((0.2, error, 2 * student.sf(0.2 / error, 2)))
    assert gap_between(zeros, zeros, DESIGN) == (0.0, 0.0, 1.0)


def test_folds_that_agree_by_chance_prove_nothing():
    # one row of ten on each of three folds: the spread is zero, but three rows are no proof
    found = gap_between([0.6, 0.6, 0.6], [0.5, 0.5, 0.5], Design("accuracy", 1 / 3, 30))
    assert found.error == pytest.approx(np.sqrt((0.1 - 0.01) / 30))
    assert found.pvalue > 0.1
    # a loss has no such bound
    assert gap_between([0.6] * 3, [0.5] * 3, Design("log_loss", 1 / 3, 30)).pvalue < 1e-9


def test_a_share_of_half_the_rows_is_two_folds():
    assert corrected_error([1.0, 2.0, 3.0, 4.0], 1 / 2) == pytest.approx(np.sqrt(5 / 4 * 5 / 3))


def test_a_fold_that_failed_has_no_value():
    assert corrected_error([1.0, None], 1 / 3) is None
    assert corrected_error([1.0, None, 3.0], 1 / 2) == pytest.approx(np.sqrt((1 / 2 + 1) * 2))


def told(methods):
    return verdict(methods, choose(methods, DESIGN), "accuracy")


def test_a_summary_by_hand():
    a, b = summarised(made_scores(b=(0.1, None, 0.3), a=(0.4, 0.5, 0.6)), DESIGN)
    assert (a.method, a.score, a.accuracy, a.mean_rank) == ("a", *[pytest.approx(0.5)] * 2, 1.0)
    # s² = 0.01, 3 folds that test a third: (1/3 + 1/2) s²
    assert a.score_se == pytest.approx(np.sqrt(0.01 * 5 / 6))
    assert (b.accuracy, b.failed_folds, b.log_loss) == (pytest.approx(0.2), 1, None)
    # one value has no spread
    assert summarised(made_scores(c=(0.5, None, None)), DESIGN)[0].score_se is None


def test_a_summary_is_in_the_order_of_the_measure_and_ends_with_who_has_none():
    rows = made_scores(a=(0.9, 0.9, 0.9), b=(0.8, 0.8, 0.8), c=(0.7, 0.7, 0.7))
    losses = {"b": (0.2, 0.2, 0.2), "c": (0.1, 0.1, 0.1)}
    rows = [replace(each, log_loss=losses.get(each.name, each.log_loss)) for each in rows]
    design = Design("log_loss", 1 / 3, 30)
    assert [row.method for row in summarised(rows, design)] == ["c", "b", "a"]
    assert [row.method for row in summarised(rows, DESIGN)] == ["a", "b", "c"]
    assert choose(rows, design).not_told_apart == ()


def test_a_method_that_failed_on_a_fold_is_not_taken():
    methods = made_scores(a=(0.9, 0.9, None), b=(0.8, 0.8, 0.8), c=(0.5, 0.5, 0.5))
    assert choose(methods, DESIGN).method == "b"
    assert told(methods[:1]) == (
        "No method has a value of accuracy on every fold: there is none to take."
    )
    assert told(methods[:2]).startswith("Only b has a score on every fold")


def test_what_is_not_there_is_not_compared():
    assert told(made_scores(a=(), b=())).startswith("No fold was computed by every method")
    assert (
        told(made_scores(a=(0.5,), b=(0.6,)))
        == "One fold alone does not show which method to take."
    )
    failed = made_scores(a=(None, None))
    assert told(failed) == "Every method failed."
    assert told([replace(failed[0], failures={})]).startswith("No method has a value")
