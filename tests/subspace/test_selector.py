import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline

from ensemblage.datasets import make_hidden_features, make_quarter_circle
from ensemblage.persistence import load, save
from ensemblage.subspace import JointSubspaceClassifier, JointSubspaceSelector, co_selection
from ensemblage.subspace._selector import rank_features

QUICK = {
    "n_estimators": 5, "patience": 20, "max_iter": 100, "basis": "linear", "random_state": 0,
}  # fmt: skip
AUTO = {**QUICK, "basis": "auto"}


@pytest.fixture(scope="module")
def circle():
    return make_quarter_circle(100, n_dummies=6, random_state=1)


def test_finds_the_two_true_features(circle):
    selector = JointSubspaceSelector(2, **QUICK).fit(*circle)
    np.testing.assert_array_equal(selector.get_support(indices=True), [0, 1])
    assert selector.transform(circle[0]).shape == (200, 2)


@pytest.mark.parametrize(("wanted", "count"), [(3, 3), (0.5, 4), (0.01, 1)])
def test_number_of_selected_features(circle, wanted, count):
    assert JointSubspaceSelector(wanted, **QUICK).fit(*circle).support_.sum() == count


def test_default_selects_features_that_most_members_use(circle):
    selector = JointSubspaceSelector(**QUICK).fit(*circle)
    assert selector.support_.sum() == max(1, (selector.frequencies_ > 0.5).sum())


def test_feature_names_out(circle):
    frame = pd.DataFrame(circle[0], columns=list("abcdefgh"))
    selector = JointSubspaceSelector(2, **QUICK).set_output(transform="pandas")
    assert list(selector.fit_transform(frame, circle[1]).columns) == ["a", "b"]
    assert list(selector.get_feature_names_out()) == ["a", "b"]


def test_true_pair_is_the_top_pair(circle):
    selector = JointSubspaceSelector(**QUICK).fit(*circle)
    marks = co_selection(selector.supports_, binary=True, top_pairs=1, top_features=2)
    assert marks[:2, :2].all()
    assert marks.sum() == 4


def test_in_a_pipeline(circle):
    model = make_pipeline(
        JointSubspaceSelector(2, **QUICK), JointSubspaceClassifier(2, random_state=0)
    )  # fmt: skip
    assert model.fit(*circle).score(*circle) > 0.9


def test_more_features_than_available_raise():
    with pytest.raises(ValueError, match="n_features_to_select=99, but X has 13 features"):
        JointSubspaceSelector(99, **QUICK).fit(*load_wine(return_X_y=True))


def ranks(scores, reserve, seed=0, groups=None):
    return rank_features(np.array(scores), np.array(reserve), groups, np.random.default_rng(seed))


def test_ties_are_not_broken_by_column_order():
    scores, reserve = np.zeros(50), np.zeros(50)
    first = [int(np.argmin(ranks(scores, reserve, seed))) for seed in range(40)]
    assert len(set(first)) > 20
    reserve[33] = 1.0
    assert ranks(scores, reserve)[33] == 1
    scores[7] = 0.1
    assert ranks(scores, reserve)[7] == 1


def test_the_best_of_each_group_precedes_copies():
    scores, reserve = [5.0, 5.0, 3.0, 3.0, 1.0], [1.0, 2.0, 9.0, 8.0, 0.0]
    assert ranks(scores, reserve).tolist() == [2, 1, 3, 4, 5]
    groups = np.array([0, 0, 1, 1, 2])
    assert ranks(scores, reserve, groups=groups).tolist() == [4, 1, 2, 5, 3]


def signals_with_copies(seed, n_rows=200, n_features=30):
    """Three signals, two of them as three noisy copies; rows, classes, columns by signal."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    y = (X[:, :3].sum(axis=1) > 0) ^ (rng.random(n_rows) < 0.1)
    for first, copies in ((0, [0, 3, 4]), (1, [1, 5, 6])):
        X[:, copies] = X[:, [first]] + 0.05 * rng.normal(size=(n_rows, 3))
    order = rng.permutation(n_features)
    place = np.argsort(order)
    return X[:, order], y.astype(int), [place[[0, 3, 4]], place[[1, 5, 6]], place[[2]]]


def curved_signals(seed, n_rows=200, n_features=30):
    """A product of two features plus the square of a third; rows, classes, columns by signal."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    y = (X[:, 0] * X[:, 1] + X[:, 2] ** 2 > 1) ^ (rng.random(n_rows) < 0.1)
    order = rng.permutation(n_features)
    return X[:, order], y.astype(int), [[column] for column in np.argsort(order)[:3]]


def hidden_signals(kind):
    """Data of ``make_hidden_features`` by seed, with the relevant columns."""

    def made(seed):
        X, y, relevant = make_hidden_features(kind, 200, random_state=seed)
        signals = np.flatnonzero(relevant)
        return X, y, [signals] if kind == "copies" else signals[:, None]

    return made


def signals_found(selector, data):
    """Number of signals with a selected column, after asking for as many features as signals."""
    X, y, signals = data
    support = selector.set_params(n_features_to_select=len(signals)).fit(X, y).support_
    return sum(bool(support[columns].any()) for columns in signals)


def test_as_many_signals_as_features_wanted():
    X, y, signals = data = signals_with_copies(0)
    selector = JointSubspaceSelector(**QUICK)
    assert signals_found(selector, data) == 3
    assert selector.support_.sum() == 3
    assert len(set(selector.groups_[selector.support_])) == 3
    whole = np.isin(selector.groups_, selector.groups_[selector.support_])
    np.testing.assert_array_equal(np.flatnonzero(whole), np.sort(np.concatenate(signals)))
    most = JointSubspaceSelector(30, **QUICK).fit(X, y)
    assert most.support_.all()
    np.testing.assert_array_equal(most.ranking_ <= 3, selector.support_)


def test_copies_may_all_be_selected():
    X, y, relevant = make_hidden_features("copies", 200, random_state=0)
    selector = JointSubspaceSelector(3, group_members="all", **QUICK).fit(X, y)
    np.testing.assert_array_equal(selector.support_, relevant)
    assert len(set(selector.groups_[relevant])) == 1
    assert len(set(selector.groups_)) == 28
    assert len(set(selector.scores_[relevant])) == 1
    assert (selector.supports_[:, relevant].sum(axis=1) % 3 == 0).all()
    one = JointSubspaceSelector(1, **QUICK).fit(X, y)
    assert relevant[one.support_].all()
    alone = JointSubspaceSelector(3, group_correlation=None, **QUICK).fit(X, y)
    np.testing.assert_array_equal(alone.groups_, np.arange(30))


def test_by_default_a_group_counts_once():
    X, y, _ = signals_with_copies(1)
    selector = JointSubspaceSelector(**QUICK).fit(X, y)
    frequent = selector.groups_[selector.frequencies_ > 0.5]
    assert selector.support_.sum() == len(set(frequent)) < len(frequent)


@pytest.fixture(scope="module")
def product():
    return make_hidden_features("xor", 150, n_features=10, random_state=0)


def test_the_basis_is_chosen_by_cross_validation(product):
    X, y, relevant = product
    selector = JointSubspaceSelector(2, **AUTO).fit(X, y)
    np.testing.assert_array_equal(selector.support_, relevant)
    assert selector.basis_.kind == "quadratic"
    assert selector.C_ == 0.1
    losses = selector.basis_losses_
    assert min(losses, key=losses.get) == "quadratic"
    explicit = JointSubspaceSelector(2, **{**QUICK, "basis": "quadratic"}, C=0.1).fit(X, y)
    np.testing.assert_array_equal(selector.coefs_, explicit.coefs_)
    np.testing.assert_array_equal(selector.ranking_, explicit.ranking_)
    assert not hasattr(selector.set_params(basis="linear").fit(X, y), "basis_losses_")


def test_the_chosen_basis_does_not_depend_on_the_number_of_jobs(product):
    X, y, _ = product
    options = {**AUTO, "n_estimators": 2, "max_iter": 20}
    one, two = (JointSubspaceSelector(2, n_jobs=jobs, **options).fit(X, y) for jobs in (1, 2))
    assert one.basis_losses_ == two.basis_losses_
    np.testing.assert_array_equal(one.scores_, two.scores_)


def test_weights_and_copies_choose_the_same_basis(product):
    X, y, _ = product
    counts = np.random.default_rng(0).integers(0, 3, len(y))
    weighed = JointSubspaceSelector(2, **AUTO).fit(X, y, sample_weight=counts)
    copied = JointSubspaceSelector(2, **AUTO).fit(np.repeat(X, counts, 0), np.repeat(y, counts))
    assert weighed.basis_.kind == copied.basis_.kind
    for kind, loss in weighed.basis_losses_.items():
        assert copied.basis_losses_[kind] == pytest.approx(loss, abs=1e-6)


@pytest.mark.parametrize("shape", [(9, 4), (40, 400)])
def test_few_rows_or_many_columns_are_linear(shape):
    X = np.random.default_rng(0).normal(size=shape)
    selector = JointSubspaceSelector(2, **AUTO).fit(X, np.arange(shape[0]) % 2)
    assert selector.basis_.kind == "linear"
    assert not hasattr(selector, "basis_losses_")


@pytest.mark.parametrize("options", [{"C": "auto"}, {"solver": "paper"}])
def test_a_basis_is_chosen_with_other_options(product, options):
    X, y, _ = product
    few = {**AUTO, "n_estimators": 2, "max_iter": 20}
    selector = JointSubspaceSelector(2, **options, **few).fit(X, y)
    assert set(selector.basis_losses_) == {"linear", "quadratic", "spline"}
    assert selector.support_.sum() == 2


def test_a_basis_is_chosen_for_a_numeric_target():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 8))
    y = X[:, 2] * X[:, 5] + 0.1 * rng.normal(size=150)
    selector = JointSubspaceSelector(2, loss="squared_error", **AUTO).fit(X, y)
    np.testing.assert_array_equal(selector.get_support(indices=True), [2, 5])
    assert selector.basis_.kind == "quadratic"


def test_a_quadratic_basis_selects_both_factors_of_a_product():
    options = {**QUICK, "basis": "quadratic"}
    X, y, relevant = make_hidden_features("xor", 200, n_features=12, random_state=0)
    selector = JointSubspaceSelector(2, **options).fit(X, y)
    np.testing.assert_array_equal(selector.support_, relevant)
    assert selector.coefs_.shape == (5, 2, 12 + 12 * 13 // 2)
    assert selector.supports_.shape == (5, 12)


def test_a_spline_basis_finds_a_band():
    X, y, relevant = make_hidden_features("band", 300, n_features=12, random_state=0)
    selector = JointSubspaceSelector(3, **{**QUICK, "basis": "spline", "C": 0.1}).fit(X, y)
    np.testing.assert_array_equal(selector.support_, relevant)


def test_the_paper_solver_with_a_basis():
    X, y, relevant = make_hidden_features("xor", 300, n_features=9, random_state=0)
    options = {**QUICK, "basis": "quadratic", "solver": "paper", "tol": 1e-6}
    assert JointSubspaceSelector(2, **options).fit(X, y).support_[relevant].all()


def selection_regression(n_rows=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 15))
    return X, 100 + 20 * X[:, 3] - 10 * X[:, 7] + 10 * rng.normal(size=n_rows)


def test_selects_for_a_numeric_target():
    X, y = selection_regression()
    selector = JointSubspaceSelector(2, loss="squared_error", **QUICK).fit(X, y)
    np.testing.assert_array_equal(selector.get_support(indices=True), [3, 7])
    assert not hasattr(selector, "classes_")
    assert selector.coefs_.shape == (5, 15)


def test_rescaling_the_target_does_not_change_the_selection():
    X, y = selection_regression()
    one, other = (
        JointSubspaceSelector(2, loss="squared_error", **QUICK).fit(X, scale * y + shift)
        for scale, shift in ((1, 0), (1e6, -3e7))
    )
    np.testing.assert_array_equal(one.supports_, other.supports_)
    np.testing.assert_array_equal(one.ranking_, other.ranking_)


def test_attributes_of_an_earlier_loss_are_removed(circle):
    selector = JointSubspaceSelector(2, **QUICK).fit(*circle)
    selector.set_params(loss="squared_error").fit(*circle)
    assert not hasattr(selector, "classes_")
    selector.set_params(loss="log_loss").fit(*circle)
    assert not hasattr(selector, "target_mean_")


@pytest.mark.parametrize(("options", "message"), [
    ({"basis": "cubic"}, "basis"),
    ({"group_correlation": 0.0}, "group_correlation"),
    ({"group_members": "some"}, "group_members"),
    ({"loss": "hinge"}, "loss"),
])  # fmt: skip
def test_invalid_options_raise(circle, options, message):
    with pytest.raises(ValueError, match=message):
        JointSubspaceSelector(**options).fit(*circle)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("data", "options", "least"), [
    (signals_with_copies, {}, 2.9),
    (hidden_signals("linear"), {}, 2.9),
    (hidden_signals("copies"), {}, 0.95),
    pytest.param(curved_signals, {}, 2.7, marks=pytest.mark.xfail(reason="2.65 +- 0.10")),
    (hidden_signals("band"), {}, 2.7),
    (hidden_signals("xor"), {}, 1.8),
    (hidden_signals("xor"), {"basis": "quadratic", "C": "auto"}, 1.8),
    (hidden_signals("band"), {"basis": "spline", "C": "auto"}, 2.0),
])  # fmt: skip
def test_features_that_are_hard_to_find(data, options, least):
    found = [
        signals_found(JointSubspaceSelector(random_state=seed, **options), data(seed))
        for seed in range(2000, 2040)
    ]
    assert np.mean(found) >= least


def test_classifier_and_selector_fit_the_same_members():
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    options = {"n_estimators": 2, "flip_probability": 0.1, "max_iter": 20, "random_state": 0}
    one = JointSubspaceClassifier(**options).fit(X, y)
    other = JointSubspaceSelector(basis="linear", **options).fit(X, y)
    np.testing.assert_array_equal(one.coefs_, other.coefs_)
    np.testing.assert_array_equal(one.supports_, other.supports_)


def test_saved_selector_selects_the_same(tmp_path):
    X, y = make_quarter_circle(30, n_dummies=1, random_state=0)
    selector = JointSubspaceSelector(2, n_estimators=2, max_iter=5, random_state=0).fit(X, y)
    save(selector, tmp_path / "m.skops", columns=list("abc"), kinds=["numeric"] * 3)
    again = load(tmp_path / "m.skops").model
    np.testing.assert_array_equal(again.transform(X), selector.transform(X))
