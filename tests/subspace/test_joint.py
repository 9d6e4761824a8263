import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler

from ensemblage.datasets import make_quarter_circle
from ensemblage.fusion import AffinityGate, LocalCompetence, Mean, SoftmaxGate, product_rule
from ensemblage.persistence import load, save
from ensemblage.subspace import (
    JointSubspaceClassifier,
    JointSubspaceRegressor,
)
from ensemblage.subspace._joint import encode_classes
from ensemblage.subspace._objectives import CLASS_LOSSES, SQUARED, Settings, as_rows, standardise
from ensemblage.subspace._search import fit_sequence
from reference.joint_subspace import algorithm_1_for_numbers

QUICK = {"patience": 10, "max_iter": 40, "random_state": 0}
REGRESSOR_QUICK = {"patience": 20, "max_iter": 60, "random_state": 0}


def test_classes_are_sorted_and_encoded():
    classes, labels = encode_classes(["b", "a", "c", "a"])
    assert classes.tolist() == ["a", "b", "c"]
    assert labels.tolist() == [1, 0, 2, 0]


def test_one_class_raises():
    with pytest.raises(ValueError, match="y has only one class, 'a'"):
        encode_classes(["a", "a"])


@pytest.mark.parametrize(("solver", "probability"), [("paper", 0.01), ("lbfgs", 0.05)])
def test_automatic_flip_probability_by_solver(wine, solver, probability):
    given = {"solver": solver, "tol": 0.0, **QUICK}
    auto = JointSubspaceClassifier(5, **given).fit(*wine)
    set_by_hand = JointSubspaceClassifier(5, flip_probability=probability, **given).fit(*wine)
    np.testing.assert_array_equal(auto.supports_, set_by_hand.supports_)
    assert not auto.supports_.all()


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


@pytest.mark.parametrize("fusion", ["product", "mean", "vote", "stacking", "local", Mean()])
def test_every_fusion_predicts(wine, fusion):
    ensemble = JointSubspaceClassifier(3, fusion=fusion, **QUICK).fit(*wine)
    proba = ensemble.predict_proba(wine[0])
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert ensemble.score(*wine) > 0.9


def test_plain_product_is_eq_10(wine):
    ensemble = JointSubspaceClassifier(3, **QUICK).fit(*wine)
    outputs = ensemble.member_outputs(wine[0])
    np.testing.assert_allclose(ensemble.predict_proba(wine[0]), product_rule(outputs))


def test_weight_on_a_single_member(wine):
    ensemble = JointSubspaceClassifier(3, member_weights=[0, 1, 0], **QUICK).fit(*wine)
    proba = ensemble.predict_proba(wine[0])
    np.testing.assert_allclose(proba, ensemble.member_outputs(wine[0])[1])


def test_shapes(wine):
    ensemble = JointSubspaceClassifier(4, **QUICK).fit(*wine)
    assert ensemble.coefs_.shape == (4, 3, 13)
    assert ensemble.intercepts_.shape == (4, 3)
    assert ensemble.supports_.shape == (4, 13)
    assert ensemble.co_selection_.shape == (13, 13)
    assert len(ensemble.score_path_) == 4
    assert ensemble.n_iter_ == max(len(path) - 1 for path in ensemble.score_path_)


def test_flip_probability_zero_uses_all_features(wine):
    for solver in ("lbfgs", "paper"):
        options = {"solver": solver, "flip_probability": 0.0}
        assert JointSubspaceClassifier(3, **options, **QUICK).fit(*wine).supports_.all()


def test_row_weights_are_eq_8(wine):
    X, y = wine
    ensemble = JointSubspaceClassifier(3, **QUICK).fit(X, y)
    outputs, weights = ensemble.member_outputs(X), ensemble.row_weights(X, y)
    true = outputs[:, np.arange(len(y)), y]
    np.testing.assert_array_equal(weights[0], 1)
    np.testing.assert_allclose(weights[2], np.clip(1 - true[:2].mean(axis=0), 1e-6, 1))


@pytest.mark.parametrize("options", [{}, {"solver": "paper"}, {"refine": "gate"}])
def test_row_weights_equal_copies(options):
    X, y = make_quarter_circle(40, n_dummies=2, random_state=0)
    counts = np.random.default_rng(0).integers(1, 4, len(y))
    ensemble = JointSubspaceClassifier(3, **options, **QUICK)
    weighed = clone(ensemble).fit(X, y, sample_weight=counts)
    copied = clone(ensemble).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_array_equal(weighed.supports_, copied.supports_)
    np.testing.assert_allclose(weighed.predict_proba(X), copied.predict_proba(X), atol=1e-5)


LOSSES = ["log_loss", "hinge", "squared", "focal"]


def counted_rows(seed=0):
    X, y = make_quarter_circle(40, n_dummies=2, random_state=seed)
    return X, y, np.random.default_rng(seed).integers(0, 4, len(y))


@pytest.mark.parametrize("options", [
    {}, {"solver": "paper"}, {"refine": "gate"}, {"fusion": "stacking"}, {"C": "auto"},
    {"basis": "spline"}, *({"loss": loss} for loss in LOSSES[1:]),
])  # fmt: skip
def test_rows_of_zero_weight_are_absent(options):
    X, y, counts = counted_rows()
    ensemble, kept = JointSubspaceClassifier(2, **options, **QUICK), counts > 0
    for weights in (counts, counts / counts.sum()):
        weighed = clone(ensemble).fit(X, y, sample_weight=weights)
        absent = clone(ensemble).fit(X[kept], y[kept], sample_weight=weights[kept])
        np.testing.assert_array_equal(weighed.coefs_, absent.coefs_)
        np.testing.assert_array_equal(weighed.predict_proba(X), absent.predict_proba(X))


def test_a_class_of_zero_weight_stays_known():
    X, y, _ = counted_rows()
    ensemble = JointSubspaceClassifier(2, **QUICK).fit(X, y, sample_weight=y == 0)
    assert ensemble.classes_.tolist() == [0, 1]
    assert (ensemble.predict(X) == 0).all()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", ["lbfgs", "paper"])
def test_row_weights_equal_copies_for_every_loss(loss, solver):
    X, y, counts = counted_rows()
    ensemble = JointSubspaceClassifier(3, loss=loss, solver=solver, **QUICK)
    weighed = clone(ensemble).fit(X, y, sample_weight=counts)
    copied = clone(ensemble).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_array_equal(weighed.supports_, copied.supports_)
    np.testing.assert_allclose(weighed.predict_proba(X), copied.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_given_weights_multiply_those_of_eq_8(loss):
    # at the optimum of each member the gradient under the product of both weights is zero
    X, y, counts = counted_rows()
    ensemble = JointSubspaceClassifier(
        3, loss=loss, flip_probability=0.0, tol=1e-9, random_state=0
    ).fit(X, y, sample_weight=counts)
    weights = ensemble.row_weights(X, y) * counts / counts.sum()
    features = ((X - ensemble.mean_) / ensemble.scale_).T
    for k, weight in enumerate(weights):
        parameters = np.column_stack([ensemble.coefs_[k], ensemble.intercepts_[k]])
        decay = weight.sum() / counts.sum()
        _, gradient = CLASS_LOSSES[loss].loss(features, y, weight, parameters, decay)
        np.testing.assert_allclose(gradient, 0, atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_separates_the_wines(wine, loss):
    options = {"loss": loss, **QUICK}
    ensemble = JointSubspaceClassifier(3, **options).fit(*wine)
    assert ensemble.score(*wine) > 0.95
    assert JointSubspaceClassifier(3, solver="paper", **options).fit(*wine).score(*wine) > 0.9
    single = clone(ensemble).fit(wine[0].astype(np.float32), wine[1])
    assert single.coefs_.dtype == np.float32


def test_members_of_bagging_are_fitted_to_repeated_rows(wine):
    X, y = wine
    bags = BaggingClassifier(JointSubspaceClassifier(2, **QUICK), 3, random_state=0).fit(X, y)
    assert bags.score(X, y) > 0.95
    for member, drawn in zip(bags.estimators_, bags.estimators_samples_, strict=True):
        repeated = clone(member).fit(X[np.sort(drawn)], y[np.sort(drawn)])
        np.testing.assert_array_equal(member.supports_, repeated.supports_)
        np.testing.assert_allclose(
            member.predict_proba(X), repeated.predict_proba(X), atol=1e-5
        )  # fmt: skip


@pytest.mark.parametrize("loss", LOSSES)
def test_members_of_boosting_follow_its_weights(wine, loss):
    X, y = wine[0], np.array(["a", "b", "c"])[wine[1]]
    member = JointSubspaceClassifier(2, loss=loss, **QUICK)
    boosted = AdaBoostClassifier(member, n_estimators=3, random_state=0).fit(X, y)
    assert boosted.score(X, y) > 0.95
    # boosting starts from weights of 1 / n, which are those of no weights
    seed = boosted.estimators_[0].random_state
    alone = clone(member).set_params(random_state=seed).fit(X, y)
    np.testing.assert_array_equal(boosted.estimators_[0].coefs_, alone.coefs_)


def test_automatic_size_may_be_one_and_stops_early(wine):
    ensemble = JointSubspaceClassifier("auto", **QUICK).fit(*wine)
    assert 1 <= ensemble.n_estimators_ < 50
    assert len(ensemble.coefs_) == ensemble.n_estimators_
    assert "product, 1 members" in ensemble.development_scores_
    assert len(ensemble.development_scores_) < 50


def test_automatic_fusion_chooses_the_gate_where_it_is_better():
    X, y = make_quarter_circle(150, random_state=0)
    ensemble = JointSubspaceClassifier(5, fusion="auto", **QUICK).fit(X, y)
    assert isinstance(ensemble.fusion_, SoftmaxGate)
    assert ensemble.fusion_.coef_.shape == (5, 2)
    assert any(name.startswith("gate") for name in ensemble.development_scores_)


def test_gate_with_automatic_strength_and_size():
    X, y = make_quarter_circle(60, random_state=0)
    ensemble = JointSubspaceClassifier("auto", refine="gate", C="auto", **QUICK).fit(X, y)
    assert isinstance(ensemble.fusion_, SoftmaxGate)
    assert ensemble.n_estimators_ in {2, 5, 10}


def test_same_bits_for_any_number_of_jobs(wine):
    one, two = (
        JointSubspaceClassifier(2, fusion="stacking", n_jobs=jobs, **QUICK).fit(*wine)
        for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.predict_proba(wine[0]), two.predict_proba(wine[0]))


def test_single_precision_stays_single(wine):
    X = wine[0].astype(np.float32)
    ensemble = JointSubspaceClassifier(2, **QUICK).fit(X, wine[1])
    assert ensemble.coefs_.dtype == np.float32
    assert ensemble.score(X, wine[1]) > 0.9


@pytest.mark.parametrize(
    "options", [{"n_estimators": 2, "fusion": "auto"}, {"n_estimators": "auto"}]
)
def test_a_class_with_a_single_row_stays_in_training(wine, options):
    X, y = np.vstack([wine[0], wine[0][:1] + 1e3]), np.append(wine[1], 9)
    ensemble = JointSubspaceClassifier(**options, **QUICK).fit(X, y)
    assert list(ensemble.classes_) == [0, 1, 2, 9]
    assert np.isfinite(ensemble.predict_proba(X)).all()


def test_constant_columns(wine):
    X = np.column_stack([wine[0], np.full(len(wine[0]), 7.0)])
    for solver in ("lbfgs", "paper"):
        ensemble = JointSubspaceClassifier(2, solver=solver, **QUICK).fit(X, wine[1])
        assert np.isfinite(ensemble.coefs_).all()
        assert ensemble.score(X, wine[1]) > 0.6
    alone = JointSubspaceClassifier(2, **QUICK).fit(np.ones((6, 1)), [0, 1] * 3)
    np.testing.assert_allclose(alone.predict_proba([[1.0]]), 0.5, atol=1e-6)


def test_every_proposal_empty_keeps_the_feature():
    # with one feature and flip probability 1, each proposal would mask everything
    X, y = np.arange(10.0)[:, None], np.repeat([0, 1], 5)
    for solver in ("lbfgs", "paper"):
        ensemble = JointSubspaceClassifier(2, solver=solver, flip_probability=1.0, **QUICK).fit(
            X, y
        )
        assert ensemble.supports_.all()
        assert ensemble.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_estimators": 0}, "n_estimators"),
        ({"flip_probability": 1.5}, "flip_probability"),
        ({"flip_probability": -0.1}, "flip_probability"),
        ({"size_penalty": -1.0}, "size_penalty"),
        ({"fusion": "sum"}, "fusion"),
        ({"solver": "newton"}, "solver"),
        ({"tol": -0.01}, r"tol=-0.01 with solver='lbfgs' and classes; expected 0 or more"),
        ({"solver": "paper", "tol": np.nan}, "tol"),
        ({"loss": "exponential"}, "loss"),
        ({"n_estimators": 3, "member_weights": [1, 2]}, r"expected \(3,\), one per member"),
        ({"fusion": "vote", "member_weights": [1] * 10}, "applies to fusion='product'"),
    ],
)
def test_invalid_parameters_raise(wine, options, message):
    with pytest.raises(ValueError, match=message):
        JointSubspaceClassifier(**options).fit(*wine)


def test_a_negative_threshold_stops_at_max_iter(wine):
    options = {"solver": "paper", "tol": -1.0, "max_iter": 7}
    ensemble = JointSubspaceClassifier(2, **options).fit(*wine)
    assert [len(path) for path in ensemble.score_path_] == [8, 8]
    with pytest.raises(ValueError, match="and a numeric target; expected 0 or more"):
        JointSubspaceRegressor(**options).fit(*wine)


def test_a_fusion_that_needs_strata_raises(wine):
    with pytest.raises(ValueError, match="needs the rows' affinity to strata"):
        JointSubspaceClassifier(fusion=AffinityGate()).fit(*wine)


def test_invalid_data_raise(wine):
    X, y = wine
    with pytest.raises(ValueError, match="only one class, 1"):
        JointSubspaceClassifier().fit(X, np.ones(len(y), int))
    with pytest.raises(ValueError, match="NaN"):
        JointSubspaceClassifier(encode=None).fit(np.where(X > 14, np.nan, X), y)
    with pytest.raises(ValueError, match="at least one non-zero"):
        JointSubspaceClassifier().fit(X, y, sample_weight=np.zeros(len(y)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_more_members_than_useful(dtype):
    # after the first member every row is correct, and all weights are nearly zero
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    X = np.column_stack([10.0 * y + rng.normal(size=40), rng.normal(size=(40, 3))]).astype(dtype)
    ensemble = JointSubspaceClassifier(25, C=1000.0, **QUICK).fit(X, y)
    assert ensemble.score(X, y) == 1
    assert ensemble.supports_[:, 0].all()
    for fitted in (ensemble.coefs_, ensemble.intercepts_, ensemble.predict_proba(X)):
        assert np.isfinite(fitted).all()


def test_local_competence_with_its_own_neighbours(wine):
    ensemble = JointSubspaceClassifier(2, fusion=LocalCompetence(5), **QUICK).fit(*wine)
    assert ensemble.fusion_.neighbors_.n_neighbors == 5


def test_callbacks_are_called_for_every_member(capsys, callbacks):
    X, y = load_iris(return_X_y=True)
    ensemble = JointSubspaceClassifier(2, **QUICK).set_callbacks(callbacks.ProgressBar())
    assert ensemble.fit(X, y).n_estimators_ == 2
    assert "JointSubspaceClassifier" in capsys.readouterr().out


def test_converged_ensemble_generalises(wine):
    assert cross_val_score(JointSubspaceClassifier(5, **QUICK), *wine, cv=3).mean() > 0.93


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


def sparse_regression(n_rows=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 12))
    return X, 50 + 10 * X[:, 2] - 6 * X[:, 5] + 5 * rng.normal(size=n_rows)


def test_paper_solver_is_algorithm_1_with_squared_loss(diabetes):
    X, y = diabetes[0][:80], diabetes[1][:80]
    y = (y - y.mean()) / y.std()
    rows = as_rows(X, y, 1, standardise(X))._replace(objective=SQUARED)
    settings = Settings("paper", 0.1, "auto", 0.3, np.inf, 50, 1e-3, 1000)
    ours = list(fit_sequence(rows, [3, 4, 5], settings))
    literal = algorithm_1_for_numbers(rows.features.T, y, [3, 4, 5], 0.1, 0.3, 1e-3)
    assert min(member.n_iter for member in ours) > 3
    for member, (theta, bias, mask) in zip(ours, literal, strict=True):
        np.testing.assert_array_equal(member.support, mask)
        np.testing.assert_allclose(member.coef[0], theta, atol=1e-10)
        np.testing.assert_allclose(member.intercept, bias, atol=1e-10)


def test_one_member_without_masks_is_a_ridge_regression(diabetes):
    X, y = diabetes
    ours = JointSubspaceRegressor(1, flip_probability=0.0, C=0.5, tol=1e-9).fit(X, y)
    Z = StandardScaler().fit_transform(X)
    peer = Ridge(alpha=2.0).fit(Z, y)
    np.testing.assert_allclose(ours.predict(X), peer.predict(Z), atol=1e-8)


def test_keeps_relevant_features():
    X, y = sparse_regression()
    ensemble = JointSubspaceRegressor(5, flip_probability=0.1, random_state=0).fit(X, y)
    assert ensemble.supports_[0, [2, 5]].all()
    assert ensemble.supports_[0].sum() < 8
    assert ensemble.score(X, y) > 0.8


def test_shapes_of_the_regressor(diabetes):
    ensemble = JointSubspaceRegressor(4, **REGRESSOR_QUICK).fit(*diabetes)
    assert ensemble.coefs_.shape == ensemble.supports_.shape == (4, 10)
    assert ensemble.intercepts_.shape == ensemble.variances_.shape == (4,)
    assert ensemble.member_outputs(diabetes[0]).shape == (4, 442, 2)
    assert len(ensemble.score_path_) == 4


def test_regressor_with_weight_on_a_single_member(diabetes):
    X, y = diabetes
    ensemble = JointSubspaceRegressor(3, member_weights=[0, 1, 0], **REGRESSOR_QUICK).fit(X, y)
    mean, deviation = ensemble.predict(X, return_std=True)
    np.testing.assert_allclose(mean, ensemble.member_outputs(X)[1, :, 0])
    np.testing.assert_allclose(deviation, np.sqrt(ensemble.variances_[1]))


def test_standard_deviation_is_that_of_new_rows():
    X, y = sparse_regression(400)
    X_new, y_new = sparse_regression(2000, seed=1)
    ensemble = JointSubspaceRegressor(5, **REGRESSOR_QUICK).fit(X, y)
    mean, deviation = ensemble.predict(X_new, return_std=True)
    inside = np.abs(y_new - mean) < 1.96 * deviation
    assert 0.9 < inside.mean() < 0.99


def test_a_rescaled_target(diabetes):
    X, y = diabetes
    one = JointSubspaceRegressor(3, **REGRESSOR_QUICK).fit(X, y)
    other = JointSubspaceRegressor(3, **REGRESSOR_QUICK).fit(X, 1e4 * y - 7e5)
    np.testing.assert_array_equal(one.supports_, other.supports_)
    np.testing.assert_allclose(1e4 * one.predict(X) - 7e5, other.predict(X), rtol=1e-5)
    np.testing.assert_allclose(1e8 * one.variances_, other.variances_, rtol=1e-5)


def test_row_weights_equal_copies_for_the_regressor():
    X, y = sparse_regression(60)
    counts = np.random.default_rng(0).integers(1, 4, len(y))
    ensemble = JointSubspaceRegressor(3, **REGRESSOR_QUICK)
    weighed = clone(ensemble).fit(X, y, sample_weight=counts)
    copied = clone(ensemble).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_array_equal(weighed.supports_, copied.supports_)
    np.testing.assert_allclose(weighed.coefs_, copied.coefs_, atol=1e-8)
    np.testing.assert_allclose(weighed.variances_, copied.variances_, atol=1e-8)


def test_rows_of_zero_weight_are_absent_for_the_regressor():
    X, y = sparse_regression(60)
    counts = np.random.default_rng(0).integers(0, 3, len(y))
    kept = counts > 0
    weighed = JointSubspaceRegressor(2, **REGRESSOR_QUICK).fit(X, y, sample_weight=counts)
    absent = JointSubspaceRegressor(2, **REGRESSOR_QUICK)
    absent.fit(X[kept], y[kept], sample_weight=counts[kept])
    np.testing.assert_array_equal(weighed.predict(X), absent.predict(X))
    np.testing.assert_array_equal(weighed.variances_, absent.variances_)


def test_same_bits_of_the_regressor_for_any_number_of_jobs(diabetes):
    one, two = (
        JointSubspaceRegressor(2, n_jobs=n, **REGRESSOR_QUICK).fit(*diabetes) for n in (1, 2)
    )
    np.testing.assert_array_equal(one.variances_, two.variances_)
    np.testing.assert_array_equal(one.predict(diabetes[0]), two.predict(diabetes[0]))


@pytest.mark.parametrize("y", [np.full(20, 3.0), 2.0 * np.arange(20)])
def test_constant_and_perfectly_predicted_targets(y):
    X = np.column_stack([np.arange(20.0), np.ones(20)])
    ensemble = JointSubspaceRegressor(3, C=1e6, **REGRESSOR_QUICK).fit(X, y)
    mean, deviation = ensemble.predict(X, return_std=True)
    np.testing.assert_allclose(mean, y, atol=0.1)
    assert np.isfinite(deviation).all()
    assert (deviation > 0).all()


@pytest.mark.parametrize("unit", [1e-15, 1e15])
def test_small_and_large_units(diabetes, unit):
    X, y = diabetes
    one, other = (
        JointSubspaceRegressor(2, **REGRESSOR_QUICK).fit(X, scale * y) for scale in (1.0, unit)
    )
    np.testing.assert_allclose(other.predict(X) / unit, one.predict(X), rtol=1e-6)


def test_a_target_whose_squares_overflow_raises(diabetes):
    X, y = diabetes
    with pytest.raises(ValueError, match=r"y has absolute values up to 3.46e\+202"):
        JointSubspaceRegressor(2, **REGRESSOR_QUICK).fit(X, 1e200 * y)


def test_a_quadratic_basis_finds_a_product():
    rng = np.random.default_rng(0)
    X, X_new = rng.normal(size=(2, 300, 6))
    y, y_new = X[:, 0] * X[:, 1], X_new[:, 0] * X_new[:, 1]
    line, curve = (
        JointSubspaceRegressor(2, basis=basis, **REGRESSOR_QUICK).fit(X, y).score(X_new, y_new)
        for basis in ("linear", "quadratic")
    )
    assert line < 0.1
    assert curve > 0.95


def test_single_precision(diabetes):
    X = diabetes[0].astype(np.float32)
    ensemble = JointSubspaceRegressor(2, **REGRESSOR_QUICK).fit(X, diabetes[1])
    assert ensemble.coefs_.dtype == np.float32
    assert ensemble.score(X, diabetes[1]) > 0.4


def test_regressor_accepts_categories_and_missing_values():
    X, y = sparse_regression()
    frame = pd.DataFrame(X[:, :4], columns=list("abcd"))
    frame["word"] = np.where(X[:, 5] > 0, "yes", "no")
    frame.loc[3, "a"] = np.nan
    assert JointSubspaceRegressor(2, **REGRESSOR_QUICK).fit(frame, y).score(frame, y) > 0.5


@pytest.mark.parametrize("options", [{}, {"basis": "spline"}, {"member_weights": [1.0, 2.0]}])
def test_saved_regressor_predicts_the_same(options, tmp_path):
    X, y = sparse_regression()
    ensemble = JointSubspaceRegressor(2, **options, **REGRESSOR_QUICK).fit(X, y)
    save(ensemble, tmp_path / "m.skops", columns=list("abcdefghijkl"), kinds=["numeric"] * 12)
    again = load(tmp_path / "m.skops").model
    np.testing.assert_array_equal(again.predict(X), ensemble.predict(X))


def test_forged_variances_raise(tmp_path):
    ensemble = JointSubspaceRegressor(2, **REGRESSOR_QUICK).fit(*sparse_regression())
    ensemble.variances_ = np.zeros(2)
    save(ensemble, tmp_path / "m.skops", columns=list("abcdefghijkl"), kinds=["numeric"] * 12)
    with pytest.raises(ValueError, match="variances_ holds 0, below"):
        load(tmp_path / "m.skops")


@pytest.mark.parametrize(("options", "message"), [
    ({"member_weights": [1, 2]}, r"has shape \(2,\); expected \(3,\), one per member"),
    ({"member_weights": [0, 0, 0]}, "least one of them positive"),
    ({"member_weights": [1, -1, 1]}, "expected finite non-negative values"),
    ({"n_estimators": 0}, "n_estimators"),
    ({"basis": "cubic"}, "basis"),
])  # fmt: skip
def test_invalid_parameters_of_the_regressor_raise(diabetes, options, message):
    with pytest.raises(ValueError, match=message):
        JointSubspaceRegressor(**{"n_estimators": 3, **options}).fit(*diabetes)


def test_generalises_like_a_linear_regression(diabetes):
    ours = cross_val_score(JointSubspaceRegressor(5, **REGRESSOR_QUICK), *diabetes, cv=3).mean()
    assert ours > cross_val_score(LinearRegression(), *diabetes, cv=3).mean() - 0.03


def test_a_text_target_raises():
    target = np.array(["a", "b"] * 20)
    with pytest.raises(ValueError, match="y holds 'a', which is not numeric"):
        JointSubspaceRegressor(2).fit(np.arange(80.0).reshape(40, 2), target)


@pytest.mark.parametrize("options", [
    {}, {"fusion": "mean"}, {"fusion": "vote"}, {"fusion": "stacking"}, {"fusion": "local"},
    {"refine": "gate"}, {"member_weights": [1.0, 2.0]}, {"basis": "quadratic"},
    {"basis": "spline", "refine": "gate"},
])  # fmt: skip
def test_saved_classifier_predicts_the_same(options, tmp_path):
    X, y = make_quarter_circle(30, n_dummies=1, random_state=0)
    ensemble = JointSubspaceClassifier(**options, n_estimators=2, max_iter=5, random_state=0).fit(
        X, y
    )
    save(ensemble, tmp_path / "m.skops", columns=list("abc"), kinds=["numeric"] * 3)
    again = load(tmp_path / "m.skops").model
    np.testing.assert_array_equal(again.predict_proba(X), ensemble.predict_proba(X))


def test_a_long_fit_to_many_classes_is_announced_before_the_work(monkeypatch):
    y = np.arange(5000) % 1000
    X = np.random.default_rng(0).normal(size=(5000, 2)) + y[:, None]

    def stop(*_):
        raise InterruptedError

    monkeypatch.setattr(JointSubspaceClassifier, "_choose_plan", stop)
    expected = r"y has 1000 classes: the fit takes about 100 s or more"
    with pytest.warns(UserWarning, match=expected), pytest.raises(InterruptedError):
        JointSubspaceClassifier(10, random_state=0).fit(X, y)
    with pytest.raises(InterruptedError):
        JointSubspaceClassifier(10, random_state=0).fit(X[:500], y[:500] % 100)
