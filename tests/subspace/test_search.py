from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import (
    load_breast_cancer,
    load_iris,
    load_wine,
    make_classification,
    make_moons,
)
from sklearn.linear_model import LogisticRegression

from ensemblage.datasets import make_quarter_circle
from ensemblage.subspace._kernels import log_softmax, member_log_proba, mixture_loss, step_buffers
from ensemblage.subspace._objectives import (
    Member,
    Rows,
    Settings,
    as_rows,
    member_logits,
    member_outputs,
    resolve,
    stacked,
    standardise,
    step_length,
    weighted_accuracy,
)
from ensemblage.subspace._search import (
    STRENGTHS,
    Plan,
    anneal,
    best_plan,
    choose_strength,
    converge,
    development_fold,
    development_folds,
    first_member,
    fit_sequence,
    gated_proba,
    leaves_none,
    mean_scores,
    moved,
    next_row_weights,
    plan_scores,
    proposals,
    random_gate_start,
    refit_with_gate,
    state_of,
    try_flip,
)
from reference.joint_subspace import algorithm_1

SETTINGS = Settings("lbfgs", 0.1, "auto", "auto", 1.0, 20, 1e-4, 100)
QUICK = Settings("lbfgs", 0.1, "auto", "auto", 1.0, 10, 1e-3, 50)
PENALTY = 0.02
MAX_ITER = 300

DATASETS = {
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "cancer": lambda: tuple(a[:150] for a in load_breast_cancer(return_X_y=True)),
    "moons": lambda: make_moons(120, noise=0.3, random_state=0),
    "four classes": lambda: make_classification(
        120, 12, n_informative=6, n_classes=4, random_state=0
    ),
}


def two_rows():
    features = np.array([[1.0, -1.0], [0.0, 0.0]])
    rows = Rows(features, np.array([0, 1]), np.array([0.5, 0.5]), 2, 2.0)
    nothing = Member(np.zeros((2, 2)), np.zeros(2), np.array([True, True]), np.empty(0), 0)
    return rows, nothing


@pytest.mark.parametrize(
    ("support", "flipped", "empty"),
    [([1, 0], [0], True), ([1, 1], [0, 1], True), ([1, 0], [0, 1], False), ([1, 1], [], False)],
)
def test_empty_masks_are_detected(support, flipped, empty):
    assert leaves_none(np.array(support, bool), np.array(flipped, int)) is empty


def test_flip_probability_one_proposes_all_features():
    drawn = islice(proposals(np.random.default_rng(0), 3, 1.0, at_least_one=False), 100)
    assert all(flipped.tolist() == [0, 1, 2] for flipped in drawn)


def test_at_least_one_is_flipped_except_in_the_paper():
    for least in (0, 1):
        drawn = islice(proposals(np.random.default_rng(0), 3, 0.0, at_least_one=bool(least)), 100)
        assert {flipped.size for flipped in drawn} == {least}


def test_a_step_by_hand():
    rows, nothing = two_rows()
    state = state_of(nothing, rows)
    assert state.score == 0.5  # of equal logits the first class wins
    buffers = step_buffers(2, rows.features)
    flipped = np.array([1])
    try_flip(rows, state, flipped, 1.0, 0.0, buffers)
    # each class's gradient is the mean of (truth - 1/2) x: one half for the first feature
    stayed, went = (moved(state, buffers, flipped, accept) for accept in (False, True))
    np.testing.assert_allclose(stayed.member.coef, [[0.5, 0.0], [-0.5, 0.0]])
    np.testing.assert_allclose(stayed.logits, [[0.5, -0.5], [-0.5, 0.5]])
    assert stayed.score == went.score == 1.0
    assert stayed.member.support.tolist() == [True, True]
    assert went.member.support.tolist() == [True, False]


def test_weights_by_hand():
    np.testing.assert_array_equal(next_row_weights(np.array([0.3, 0.0]), 0), [1, 1])
    np.testing.assert_allclose(next_row_weights(np.array([1.5, 0.2]), 2), [0.25, 0.9])


@given(arrays(float, 7, elements=st.floats(0, 5)))
def test_weights_are_above_zero_and_at_most_one(sums):
    weights = next_row_weights(sums, 5)
    assert weights.min() >= 1e-6
    assert weights.max() <= 1


def both(name, seed, n_members=3, p_lambda=0.2, tol=1e-4, max_iter=500):
    X, y = DATASETS[name]()
    rows = as_rows(X, y, y.max() + 1, standardise(X))
    eta = step_length(rows)
    seeds = [1000 * seed + k for k in range(n_members)]
    settings = Settings("paper", p_lambda, 0.0, eta, np.inf, 50, tol, max_iter)
    ours = list(fit_sequence(rows, seeds, settings))
    literal = algorithm_1(
        rows.features.T, y, rows.n_outputs, seeds, p_lambda, eta, tol, max_iter=max_iter
    )
    for member, (theta, bias, mask) in zip(ours, literal, strict=True):
        np.testing.assert_array_equal(member.support, mask)
        np.testing.assert_allclose(member.coef, theta, atol=1e-10)
        np.testing.assert_allclose(member.intercept, bias, atol=1e-10)
    return ours


@pytest.mark.parametrize("name", DATASETS)
def test_equals_algorithm_1_literally(name):
    members = [member for seed in range(20) for member in both(name, seed)]
    assert not all(member.support.all() for member in members)  # or the masks were never tried


@pytest.mark.parametrize("name", ["iris", "moons"])
def test_a_negative_threshold_equals_algorithm_1_literally(name):
    members = both(name, seed=0, tol=-0.05, max_iter=30)
    gains = np.concatenate([np.diff(member.score_path) for member in members])
    assert -0.05 <= gains.min() < 0  # or the threshold was never used
    assert max(member.n_iter for member in members) <= 30


def fit(rows, seed=0, **changed):
    settings = Settings("lbfgs", 0.1, PENALTY, "auto", 1e3 / rows.total, 50, 1e-6, MAX_ITER)
    return anneal(rows, np.random.default_rng(seed), resolve(settings._replace(**changed), rows))


def wine():
    X, y = load_wine(return_X_y=True)
    return as_rows(X, y, 3, standardise(X))


def circle(n_rows=100):
    X, y = make_quarter_circle(n_rows, n_dummies=6, random_state=0)
    return as_rows(X, y, 2, standardise(X))


def test_converged_member_is_a_logistic_regression():
    rows = wine()
    start = first_member(rows, np.random.default_rng(0))
    member = converge(rows, start, 1 / rows.total, 1e-9)
    peer = LogisticRegression(C=1.0, tol=1e-9, max_iter=1000).fit(rows.features.T, rows.targets)
    np.testing.assert_allclose(member.coef, peer.coef_, atol=1e-4)


def test_masked_coefficients_are_frozen():
    rows = wine()
    start = first_member(rows, np.random.default_rng(0))
    half = np.arange(13) < 6
    member = converge(rows, start._replace(support=half), 0.01)
    np.testing.assert_array_equal(member.coef[:, ~half], start.coef[:, ~half])
    assert (member.coef[:, half] != start.coef[:, half]).all()


def test_dummies_are_dropped_and_never_everything():
    for seed in range(5):
        member = fit(circle(), seed)
        assert member.support[:2].all()
        assert member.support.sum() < 8


def test_a_large_penalty_leaves_one_feature():
    member = fit(circle(), size_penalty=10.0)
    assert member.support.sum() == 1


def test_returns_the_best_mask_found():
    rows = circle()
    member = fit(rows)
    accuracy = weighted_accuracy(member_logits(rows.features, member), rows.targets, rows.weights)
    assert accuracy - PENALTY * member.support.sum() > member.score_path[0] - PENALTY * 8


def test_no_flips_keep_all_features():
    member = fit(circle(), flip_probability=0.0)
    assert member.support.all()
    assert len(member.score_path) == 1


def test_patience_ends_the_search():
    member = fit(circle(), patience=3)
    assert member.n_iter < MAX_ITER
    assert len(member.score_path) == member.n_iter + 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_is_kept(dtype):
    X, y = make_quarter_circle(50, n_dummies=2, random_state=0)
    X = X.astype(dtype)
    rows = as_rows(X, y, 2, standardise(X))
    member = fit(rows)
    assert member.coef.dtype == member.intercept.dtype == dtype


def test_chosen_penalty_is_strong_on_noise_and_weak_on_clean_data():
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(150, 20)), rng.integers(2, size=150)
    means, clean = standardise(X), (X[:, 0] > 0).astype(int)
    weak = choose_strength(as_rows(X, clean, 2, means), np.random.default_rng(0))
    strong = choose_strength(as_rows(X, noise, 2, means), np.random.default_rng(0))
    assert {weak, strong} <= set(STRENGTHS)
    assert weak > strong


def fitted(n_members=3, n_dummies=2):
    X, y = make_quarter_circle(60, n_dummies=n_dummies, random_state=0)
    rows = as_rows(X, y, 2, standardise(X))
    return rows, list(fit_sequence(rows, range(n_members), SETTINGS))


def test_uniform_gate_averages_the_members():
    rows, members = fitted()
    mixture = random_gate_start(*stacked(members), 0)
    even = mixture._replace(gate_coef=np.zeros_like(mixture.gate_coef))
    expected = member_outputs(rows.features, members).mean(axis=0)
    np.testing.assert_allclose(gated_proba(rows.features, even), expected)


def test_a_gated_mixture_is_the_sum_over_members_in_logs():
    rows, members = fitted()
    mixture = random_gate_start(*stacked(members), 0)
    gate = log_softmax(mixture.gate_coef @ rows.features + mixture.gate_intercept[:, None], axis=0)
    log_proba = member_log_proba(rows.features, mixture.coef, mixture.intercept)
    expected = np.exp(gate[:, None] + log_proba).sum(axis=0).T
    np.testing.assert_allclose(gated_proba(rows.features, mixture), expected, rtol=1e-12)


def test_refit_lowers_the_loss_and_keeps_the_masks():
    rows, members = fitted()
    start, supports = (
        random_gate_start(*stacked(members), 0),
        np.array([m.support for m in members]),
    )
    refitted = refit_with_gate(rows, start, supports, 1e-3)
    before, after = (
        mixture_loss(rows.features, rows.targets, rows.weights, mixture, 1e-3)[0]
        for mixture in (start, refitted)
    )
    assert after < before
    assert (refitted.coef[~np.broadcast_to(supports[:, None], refitted.coef.shape)] == 0).all()


def test_gate_gives_a_nonlinear_boundary():
    X, y = make_quarter_circle(200, random_state=0)
    rows = as_rows(X, y, 2, standardise(X))
    members = list(fit_sequence(rows, range(5), SETTINGS))
    everything = np.ones((5, 2), bool)
    refitted = refit_with_gate(rows, random_gate_start(*stacked(members), 0), everything, 1e-5)
    right = gated_proba(rows.features, refitted).argmax(axis=1) == rows.targets
    assert right.mean() > 0.97


def test_starts_differ_between_members_and_not_between_calls():
    _, members = fitted()
    first, again = random_gate_start(*stacked(members), 5), random_gate_start(*stacked(members), 5)
    np.testing.assert_array_equal(first.gate_coef, again.gate_coef)
    assert np.unique(first.gate_coef).size == first.gate_coef.size


@given(arrays(int, st.integers(1, 60), elements=st.integers(0, 4)), st.integers(0, 99))
def test_every_class_keeps_a_row_for_training(labels, seed):
    train, held = development_fold(labels, np.random.default_rng(seed))
    assert sorted([*train, *held]) == list(range(len(labels)))
    assert set(labels[train]) == set(labels)
    for label in set(labels):
        count = (labels == label).sum()
        assert (labels[held] == label).sum() == min(np.ceil(0.1 * count), count - 1)


def test_few_rows_have_more_splits():
    rng = np.random.default_rng(0)
    assert len(development_folds(np.zeros(100, int), rng)) == 5
    assert len(development_folds(np.zeros(1000, int), rng)) == 2
    assert len(development_folds(np.zeros(5000, int), rng)) == 1


def test_plans_of_one_split():
    rows = wine()
    fold = development_fold(rows.targets, np.random.default_rng(0))
    scores = plan_scores(rows, fold, [1, 2, 3], QUICK, False, True, (1.0,))
    assert set(scores) == {Plan(3, None), Plan(3, 1.0)}


def test_search_for_a_size_stops_when_nothing_improves():
    rows = wine()
    fold = development_fold(rows.targets, np.random.default_rng(0))
    scores = plan_scores(rows, fold, list(range(50)), QUICK, True, True, ())
    assert Plan(1, None) in scores
    assert len(scores) < 50


def test_ties_go_to_no_gate_and_fewer_members():
    means = {Plan(3, 1.0): 0.9, Plan(5, None): 0.9, Plan(3, None): 0.9, Plan(1, None): 0.8}
    assert best_plan(means) == Plan(3, None)


def test_means_are_over_plans_of_all_splits():
    splits = [{Plan(1, None): 0.5, Plan(2, None): 0.9}, {Plan(1, None): 0.7}]
    assert mean_scores(splits) == {Plan(1, None): pytest.approx(0.6)}


def test_plans_have_names():
    assert Plan(3, None).name() == "product, 3 members"
    assert Plan(3, 0.3).name() == "gate with C=0.3, 3 members"
