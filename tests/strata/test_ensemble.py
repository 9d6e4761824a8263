import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import BayesianRidge, LinearRegression
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from ensemblage.fusion import AffinityGate, AnchoredGate
from ensemblage.persistence import load, save
from ensemblage.sources import SourceStrata
from ensemblage.strata import (
    HISS,
    BootstrapStrata,
    MixtureStrata,
    NumericTarget,
    ScaledRidge,
    StrataEnsembleClassifier,
    StrataEnsembleRegressor,
    fit_with_out_of_fold,
    tuned_svr,
)
from ensemblage.strata._ensemble import StrataEnsembleMixin


def test_all_parameters_are_constrained():
    assert issubclass(StrataEnsembleClassifier, StrataEnsembleMixin)
    named = set(inspect.signature(StrataEnsembleMixin.__init__).parameters) - {"self"}
    assert named == set(StrataEnsembleMixin._parameter_constraints)


STRATA = HISS(n_strata=3, stratum_size=1 / 3)


PROCESS = GaussianProcessRegressor(RBF(2.0), alpha=0.1, optimizer=None)


def made(seed=0, n_rows=240, noise=0.2):
    """Three sources with a linear rule each: rows, target, sources."""
    rng = np.random.default_rng(seed)
    place = np.arange(n_rows) % 3
    offset = rng.normal(size=(n_rows, 2))
    rules = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 2.0]])
    X = offset + np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]])[place]
    return X, (offset * rules[place]).sum(axis=1) + noise * rng.normal(size=n_rows), place


X, Y, PLACE = made()


X_NEW, Y_NEW, PLACE_NEW = made(1)


def fitted(*args, **options):
    return StrataEnsembleRegressor(*args, random_state=0, **options).fit(X, Y)


def rmse(model, **params):
    return np.sqrt(np.mean((model.predict(X_NEW, **params) - Y_NEW) ** 2))


def test_members_on_strata_learn_what_one_linear_model_cannot():
    assert rmse(fitted(STRATA)) < 0.3
    assert rmse(LinearRegression().fit(X, Y)) > 1.0


@pytest.mark.parametrize("fusion", ["gate", "log_linear", "stacking", "mean"])
@pytest.mark.parametrize("membership", ["hard", "soft"])
def test_every_fusion_gives_mean_standard_deviation_and_interval(fusion, membership):
    model = fitted(STRATA, fusion=fusion, membership=membership, cv=3)
    mean, std = model.predict(X_NEW, return_std=True)
    low, high = model.predict_interval(X_NEW, coverage=0.8).T
    np.testing.assert_array_equal(mean, model.predict(X_NEW))
    assert (std > 0).all()
    assert ((low < mean) & (mean < high)).all()
    assert 0.65 < ((low <= Y_NEW) & (high >= Y_NEW)).mean() < 0.95


@pytest.mark.parametrize(
    "stratifier", [None, MixtureStrata(3), MixtureStrata(3, assignment="soft")], ids=repr
)
def test_any_stratifier(stratifier):
    assert rmse(fitted(stratifier)) < 0.5


def test_strata_may_be_balanced_by_deciles_of_the_target():
    model = fitted(HISS(3, 1 / 3, class_balance=True))
    tenths = NumericTarget(1.0).stratification_labels(Y)
    for tenth in range(10):
        sizes = model.stratifier_.memberships_[tenths == tenth].sum(axis=0)
        np.testing.assert_allclose(sizes, 8.0, atol=0.1)
    assert rmse(model) < rmse(LinearRegression().fit(X, Y))


def test_bags_are_strata_too():
    assert rmse(fitted(BootstrapStrata(4), DecisionTreeRegressor())) < 1.0


def test_standard_deviations_are_calibrated_and_differ_by_stratum():
    noise = np.array([0.1, 0.1, 1.0])
    y = Y + noise[PLACE] * np.random.default_rng(2).normal(size=240)
    model = StrataEnsembleRegressor(STRATA, random_state=0).fit(X, y)
    _, std = model.predict(X_NEW, return_std=True)
    quiet, loud = std[PLACE_NEW < 2].mean(), std[PLACE_NEW == 2].mean()
    assert loud > 2 * quiet
    assert loud == pytest.approx(np.hypot(0.2, 1.0), rel=0.35)


def test_members_with_return_std_use_it():
    model = fitted(STRATA, [BayesianRidge(), ScaledRidge()], anchor=PROCESS)
    assert model.response_methods_ == ["predict_std"] * 3 + ["predict"] * 3 + ["predict_std"]
    assert isinstance(model.fusion_, AnchoredGate)
    assert isinstance(model.fusion_.gates_[0], AffinityGate)
    assert rmse(model) < 0.4


def test_a_strong_anchor_has_a_large_weight():
    rng = np.random.default_rng(0)
    rows = rng.uniform(-3, 3, size=(300, 2))
    y = np.sign(np.sin(3 * rows[:, 0])) + 0.1 * rng.normal(size=300)
    forest = RandomForestRegressor(50)
    model = StrataEnsembleRegressor(STRATA, anchor=forest, random_state=0).fit(rows, y)
    assert model.member_report_[-1]["stratum"] is None
    assert model.member_report_[-1]["weight"] > 0.5


def test_the_anchor_svm_is_tuned():
    model = fitted(STRATA, anchor="svm", cv=2)
    assert type(model.anchors_[0]).__name__ == "TransformedTargetRegressor"
    assert [len(each) for each in tuned_svr().param_grid.values()] == [3, 3]
    with pytest.raises(ValueError, match="anchor='tree' is unknown; use 'svm' or a regressor"):
        fitted(STRATA, anchor="tree")


def test_known_sources_use_their_own_member():
    # places on top of each other: only the source tells them apart
    rows = X - np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]])[PLACE]
    model = StrataEnsembleRegressor(SourceStrata(), random_state=0).fit(rows, Y, sources=PLACE)
    described = model.predict(rows, sources=PLACE)
    assert np.mean((described - Y) ** 2) < 0.3 * np.mean((model.predict(rows) - Y) ** 2)
    assert model.score(rows, Y, sources=PLACE) > 0.9
    of_source = np.diff(model.predict_interval(rows, sources=PLACE)).mean()
    assert of_source < np.diff(model.predict_interval(rows)).mean()
    new = model.predict(rows[:1], sources=["elsewhere"])
    np.testing.assert_array_equal(new, model.predict(rows[:1]))
    with pytest.raises(ValueError, match="HISS does not support them"):
        fitted(STRATA).predict(X, sources=PLACE)


def test_groups_stay_together():
    groups = np.arange(240) // 20
    model = StrataEnsembleRegressor(STRATA, random_state=0)
    model.fit(X, Y, groups=groups)
    assert rmse(model) < 0.4


def test_out_of_fold_outputs_use_neither_members_nor_fusion_fitted_on_the_row():
    memorising = StrataEnsembleRegressor(HISS(2, 0.6), DecisionTreeRegressor(), random_state=0)
    noise = np.random.default_rng(5).normal(size=240)
    outputs = fit_with_out_of_fold(memorising, X, noise)
    assert outputs.shape == (240, 2)
    assert np.mean((outputs[:, 0] - noise) ** 2) > 0.8
    assert memorising.out_of_fold_error_ == pytest.approx(
        np.sqrt(np.mean((outputs[:, 0] - noise) ** 2))
    )


def test_in_sample_fits_have_no_intervals():
    model = fitted(STRATA, cv="in-sample")
    assert model.predict(X_NEW, return_std=True)[1].min() > 0
    with pytest.raises(ValueError, match="cv='in-sample' does not give"):
        model.predict_interval(X_NEW)


@pytest.mark.parametrize(
    ("coverage", "error"), [(90, TypeError), (1.5, ValueError), ("a", TypeError)]
)
def test_a_coverage_is_a_share(coverage, error):
    with pytest.raises(error, match=r"coverage=.* must be"):
        fitted(STRATA).predict_interval(X, coverage)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.full(240, 3.0), "y has the range 3 to 3: it is constant"),
        (np.where(np.arange(240) == 5, np.inf, Y), "infinity"),
        (np.where(np.arange(240) == 5, np.nan, Y), "y is missing in 1 of 240 rows"),
        (np.array(["low", "high"] * 120), "'low', which is not numeric"),
        (np.where(np.arange(240) == 5, 1e200, Y), "squares overflow"),
    ],
)
def test_targets_that_are_not_numeric_are_rejected(y, message):
    with pytest.raises(ValueError, match=message):
        StrataEnsembleRegressor(STRATA).fit(X, y)


def test_a_stratum_of_one_value_has_a_constant_member():
    y = np.where(PLACE == 0, 5.0, Y)
    with pytest.warns(UserWarning, match="1 of 3 strata hold one value of the target only"):
        model = StrataEnsembleRegressor(STRATA, random_state=0).fit(X, y)
    assert len(model.constant_strata_) == 1
    np.testing.assert_allclose(model.predict(X_NEW)[PLACE_NEW == 0], 5.0, atol=0.1)
    assert [each["constant"] for each in model.member_report_].count(True) == 1


def test_the_member_report_and_a_row_explained():
    model = fitted(STRATA)
    report = model.member_report_[0]
    assert [*report] == ["stratum", "estimator", "n_rows", "constant", "rmse", "weight", "score"]
    assert report["rmse"] < 0.4
    assert report["score"] > 0.9
    story = model.explain_row(X_NEW[0])
    assert story["prediction"] == pytest.approx(model.predict(X_NEW[:1])[0])
    assert story["members"].shape == (3, 2)
    assert story["weights"].sum() == pytest.approx(1)


def test_strata_are_described_with_errors_in_the_targets_unit():
    model = fitted(STRATA)
    described = model.describe_strata(X)
    assert described.error == model.out_of_fold_error_
    assert not described.is_classification
    assert "RMSE" in described.legend
    given = model.describe_strata(X_NEW, Y_NEW)
    assert given.error == pytest.approx(rmse(model))


def test_a_frame_with_categories_is_encoded():
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "place": np.array(["x", "y", "z"])[PLACE]})
    model = StrataEnsembleRegressor(STRATA, random_state=0).fit(frame, Y)
    assert hasattr(model, "encoder_")
    assert model.score(frame, Y) > 0.9
    assert model.explain_row(frame.iloc[[0]])["members"].shape == (3, 2)


@pytest.mark.parametrize("options", [{}, {"anchor": RandomForestRegressor(10), "cv": KFold(3)}])
def test_two_workers_give_the_same_bits(options):
    one = StrataEnsembleRegressor(STRATA, random_state=0, n_jobs=1, **options).fit(X, Y)
    two = clone(one).set_params(n_jobs=2).fit(X, Y)
    for each in ("predict", "predict_interval"):
        assert getattr(one, each)(X_NEW).tobytes() == getattr(two, each)(X_NEW).tobytes()


@pytest.mark.parametrize("fusion", ["gate", "log_linear", "stacking", "mean"])
def test_saved_and_loaded(fusion, tmp_path):
    model = fitted(STRATA, fusion=fusion, anchor=RandomForestRegressor(5), cv=2)
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops").model
    np.testing.assert_array_equal(again.predict_interval(X_NEW), model.predict_interval(X_NEW))


def test_forged_residuals_are_refused(tmp_path):
    model = fitted(STRATA, cv=2)
    model.conformity_scores_["strata"][0] = 7
    save(model, tmp_path / "model.skops")
    with pytest.raises(ValueError, match="forged or damaged"):
        load(tmp_path / "model.skops")


def test_a_pipeline_may_prepare_rows_for_the_stratifier():
    scaled = make_pipeline(StandardScaler(), STRATA)
    assert cross_val_score(StrataEnsembleRegressor(scaled, random_state=0), X, Y).mean() > 0.9


def test_automatic_sizes_are_judged_by_their_error():
    model = fitted()
    assert len(model.trials_) > 1
    best = min(model.trials_, key=lambda each: each["error"])
    assert model.stratum_size_ == best["stratum_size"]
    assert model.out_of_fold_error_ == pytest.approx(best["error"])
