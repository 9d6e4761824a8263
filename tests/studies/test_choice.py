"""Tests of compared methods, and the recommendation."""

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

from ensemblage.studies import Design, compare, corrected_t_test
from ensemblage.studies._choice import choose, corrected_standard_error, summarised, verdict
from studies.made_scores import made_scores

DESIGN = Design("accuracy", 1 / 3, 3000)

tables = st.tuples(st.integers(2, 5), st.integers(2, 8)).flatmap(
    lambda shape: hnp.arrays(np.float64, shape, elements=st.integers(0, 20).map(lambda v: v / 20))
)


def candidates(*rows, complexities=None, seconds=None):
    complexities, seconds = complexities or [1] * len(rows), seconds or [1.0] * len(rows)
    made = made_scores(
        **{name: tuple(map(float, row)) for name, row in zip("abcdefgh", rows, strict=False)}
    )
    return [
        replace(
            each, label=each.name.upper(), complexity=complexity, seconds=(time,) * each.n_folds,
            log_loss=each.accuracy,
        )
        for each, complexity, time in zip(made, complexities, seconds, strict=True)
    ]  # fmt: skip


@given(tables)
def test_the_recommended_method_is_not_significantly_different_from_the_best(scores):
    found = choose(candidates(*scores), Design("accuracy", 1 / scores.shape[1], 300))
    assert found.method in {found.best, *found.not_significantly_different}
    assert found.significant == (found.not_significantly_different == ())
    means = scores.mean(axis=1)
    assert means["abcdefgh".index(found.best)] == pytest.approx(means.max())
    assert found.sentence.count(". ") == 0


def test_a_significantly_better_method():
    found = choose(candidates([0.9, 0.91, 0.92], [0.8, 0.81, 0.81]), DESIGN)
    assert (found.method, found.best, found.significant) == ("a", "a", True)
    assert found.sentence == (
        "Recommended: A (accuracy 0.910), significantly better than every other method."
    )
    assert found.detail == (
        "A is better than B by 0.103 on average (standard error 0.006; corrected resampled t-test "
        "with Holm's correction, p = 0.0029)."
    )


def test_the_simpler_of_two_methods_that_are_not_different():
    rows = [0.90, 0.93, 0.91], [0.92, 0.90, 0.93]
    found = choose(candidates(*rows, complexities=[1, 3]), DESIGN)
    assert (found.method, found.best) == ("a", "b")
    assert found.sentence == (
        "Recommended: A (accuracy 0.913), the simplest of 2 methods not significantly different "
        "and within two standard errors."
    )
    led = choose(candidates(*rows, complexities=[3, 1]), DESIGN)
    assert led.method == "b"
    assert led.sentence == (
        "Recommended: B (accuracy 0.917), the best and the simplest of 2 methods not significantly "
        "different and within two standard errors."
    )


def test_a_much_slower_method_is_not_recommended_for_a_small_difference():
    rows = [0.90, 0.93, 0.91], [0.92, 0.93, 0.91]
    found = choose(candidates(*rows, seconds=[1.0, 30.0]), DESIGN)
    assert (found.method, found.best) == ("a", "b")
    assert found.sentence == (
        "Recommended: A (accuracy 0.913), one of 2 methods not significantly different and within "
        "two standard errors; none of them is simpler, and it is much faster than B."
    )
    assert choose(candidates(*rows, seconds=[1.0, 3.0]), DESIGN).method == "b"


def test_a_simpler_method_beyond_two_standard_errors_is_not_recommended():
    # eight methods on three folds: only a huge difference is significant
    rows = [[0.80, 0.82, 0.84], [0.90, 0.90, 0.91], *[[0.7, 0.72, 0.75]] * 6]
    found = choose(candidates(*rows, complexities=[1, *[3] * 7]), DESIGN)
    assert (found.method, found.not_significantly_different) == ("b", ("a", *"cdefgh"))
    assert found.sentence == (
        "Recommended: B (accuracy 0.903), the best mean, though not significantly better than 7 "
        "other methods."
    )


def test_a_method_is_not_recommended_for_its_large_standard_error():
    # b is slightly worse on every fold, c much worse on one; both are equally simple
    rows = [0.85, 0.86, 0.84], [0.84, 0.85, 0.83], [0.82, 0.74, 0.83]
    found = choose(candidates(*rows, complexities=[3, 1, 1]), DESIGN)
    assert (found.method, found.best) == ("b", "a")
    assert found.not_significantly_different == ("b", "c")
    assert found.sentence == (
        "Recommended: B (accuracy 0.840), one of 3 methods not significantly different and within "
        "two standard errors; none of them is simpler."
    )


def test_nothing_is_recommended_if_no_method_beats_the_majority_class():
    found = choose(candidates([0.6, 0.6, 0.6], [0.6, 0.7, 0.55], complexities=[0, 1]), DESIGN)
    assert found.sentence == (
        "No method is recommended: none is significantly better than A (accuracy 0.600); more rows "
        "or other columns may help."
    )


def test_lower_losses_are_better():
    found = choose(candidates([0.9, 0.8, 0.9], [0.3, 0.2, 0.3]), Design("log_loss", 1 / 3, 3000))
    assert (found.best, found.measure, found.score) == ("b", "log_loss", pytest.approx(0.8 / 3))


@pytest.mark.parametrize("number", [0, 1])
def test_one_method_has_no_recommendation(number):
    assert choose(candidates([0.5, 0.6])[:number], DESIGN) is None


def claims(n_methods, n_splits, n_draws=200):
    """Count winners claimed among methods of equal truth, on folds that correlate by 1 / k."""
    rng = np.random.default_rng(0)
    design, count = Design("accuracy", 1 / n_splits, 1000), 0
    for _ in range(n_draws):
        common, own = rng.normal(size=(n_methods, 1)), rng.normal(size=(n_methods, n_splits))
        noise = np.sqrt(1 / n_splits) * common + np.sqrt(1 - 1 / n_splits) * own
        count += choose(candidates(*(0.8 + 0.02 * noise)), design).significant
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
        count += compare(
            X, y, methods, n_splits=3, seed=seed, measure="accuracy"
        ).choice.significant
    assert count <= 10


def test_the_corrected_test_by_hand():
    zeros, differences = np.zeros(3), np.array([0.1, 0.2, 0.3])
    # s² = 0.01, J = 3, k = 3: sqrt(1/3 + 1/2) / 10
    error = np.sqrt(5 / 6) / 10
    assert corrected_standard_error(differences, 1 / 3) == pytest.approx(error)
    found = corrected_t_test(differences, zeros, DESIGN)
    assert found == pytest.approx((0.2, error, 2 * student.sf(0.2 / error, 2)))
    assert corrected_t_test(zeros, zeros, DESIGN) == (0.0, 0.0, 1.0)


def test_folds_that_agree_by_chance_prove_nothing():
    # one row of ten on each of three folds: the variance is zero, but three rows are no proof
    found = corrected_t_test([0.6, 0.6, 0.6], [0.5, 0.5, 0.5], Design("accuracy", 1 / 3, 30))
    assert found.standard_error == pytest.approx(np.sqrt((0.1 - 0.01) / 30))
    assert found.pvalue > 0.1
    # a loss has no such bound
    assert corrected_t_test([0.6] * 3, [0.5] * 3, Design("log_loss", 1 / 3, 30)).pvalue < 1e-9


def test_a_share_of_half_the_rows_is_two_folds():
    assert corrected_standard_error([1.0, 2.0, 3.0, 4.0], 1 / 2) == pytest.approx(
        np.sqrt(5 / 4 * 5 / 3)
    )


def test_a_fold_that_failed_has_no_value():
    assert corrected_standard_error([1.0, None], 1 / 3) is None
    assert corrected_standard_error([1.0, None, 3.0], 1 / 2) == pytest.approx(
        np.sqrt((1 / 2 + 1) * 2)
    )


def verdict_of(methods):
    return verdict(methods, choose(methods, DESIGN), "accuracy")


def test_a_summary_by_hand():
    a, b = summarised(made_scores(b=(0.1, None, 0.3), a=(0.4, 0.5, 0.6)), DESIGN)
    assert (a.method, a.score, a.accuracy, a.mean_rank) == ("a", *[pytest.approx(0.5)] * 2, 1.0)
    # s² = 0.01, 3 folds that test a third: (1/3 + 1/2) s²
    assert a.score_se == pytest.approx(np.sqrt(0.01 * 5 / 6))
    assert (b.accuracy, b.failed_folds, b.log_loss) == (pytest.approx(0.2), 1, None)
    # one value has no standard error
    assert summarised(made_scores(c=(0.5, None, None)), DESIGN)[0].score_se is None


def test_a_summary_is_sorted_by_the_measure_with_missing_scores_last():
    rows = made_scores(a=(0.9, 0.9, 0.9), b=(0.8, 0.8, 0.8), c=(0.7, 0.7, 0.7))
    losses = {"b": (0.2, 0.2, 0.2), "c": (0.1, 0.1, 0.1)}
    rows = [replace(each, log_loss=losses.get(each.name, each.log_loss)) for each in rows]
    design = Design("log_loss", 1 / 3, 30)
    assert [row.method for row in summarised(rows, design)] == ["c", "b", "a"]
    assert [row.method for row in summarised(rows, DESIGN)] == ["a", "b", "c"]
    assert choose(rows, design).not_significantly_different == ()


def test_a_method_that_failed_on_a_fold_is_not_recommended():
    methods = made_scores(a=(0.9, 0.9, None), b=(0.8, 0.8, 0.8), c=(0.5, 0.5, 0.5))
    assert choose(methods, DESIGN).method == "b"
    assert verdict_of(methods[:1]) == (
        "No method is recommended: none has a value of accuracy on every fold."
    )
    assert verdict_of(methods[:2]).endswith("only b has a score on every fold.")


def test_missing_results_are_not_compared():
    assert verdict_of(made_scores(a=(), b=())).startswith("No fold has results of every method")
    assert (
        verdict_of(made_scores(a=(0.5,), b=(0.6,)))
        == "No method is recommended: tests need two or more folds."
    )
    failed = made_scores(a=(None, None))
    assert verdict_of(failed) == "Every method failed."
    assert verdict_of([replace(failed[0], failures={})]).startswith(
        "No method is recommended: none has a"
    )
