import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.special import softmax
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from ensemblage.persistence import load, save
from ensemblage.sources import PartialPoolingClassifier, PartialPoolingRegressor
from ensemblage.sources._partial_pooling import _moments
from ensemblage.sources._pooling_solvers import DEVIATION_GRID, INTERCEPT_GRID


def test_a_constant_column_has_the_scale_one():
    mean, scale = _moments(np.array([[0.0, 5.0], [2.0, 5.0]]), np.ones(2))
    assert (mean.tolist(), scale.tolist()) == ([1.0, 5.0], [1.0, 1.0])


@pytest.mark.parametrize("kind", [PartialPoolingClassifier, PartialPoolingRegressor])
def test_penalties_are_given_or_chosen_from_a_grid(kind):
    y = (X[:, 0] > 0).astype(int)
    given = kind(common_penalty=1, deviation_penalty=2, intercept_penalty=3)
    given.fit(X, y, sources=SITES)
    penalties = (given.common_penalty_, given.deviation_penalty_, given.intercept_penalty_)
    assert penalties == (1.0, 2.0, 3.0)
    found = kind(common_penalty=1, random_state=0).fit(X, y, sources=SITES)
    assert found.common_penalty_ == 1.0
    assert found.deviation_penalty_ in DEVIATION_GRID
    assert found.intercept_penalty_ in INTERCEPT_GRID


RNG = np.random.default_rng(0)


X = RNG.normal(size=(400, 2)) * [1.0, 100.0] + [0.0, 1e4]


SITES = np.array(["a", "b", "c", "d"])[np.arange(400) % 4]


RULE = X[:, 0] + np.where(SITES == "d", -1, 1) * (X[:, 1] - 1e4) / 100


Y = np.where(RULE + 0.3 * RNG.logistic(size=400) > 0, "ill", "well")


@pytest.fixture(scope="module")
def model():
    return PartialPoolingClassifier(random_state=0).fit(X, Y, sources=SITES)


@pytest.mark.filterwarnings("ignore:PartialPoolingClassifier was fitted without sources")
@parametrize_with_checks(
    [
        PartialPoolingClassifier(common_penalty=1.0, deviation_penalty=1.0, tol=1e-10),
        PartialPoolingClassifier(deviation_penalty=1.0, tol=1e-10),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)


def test_each_source_has_its_own_coefficients(model):
    assert (model.predict(X, sources=SITES) == Y).mean() > 0.85
    assert model.sources_.tolist() == ["a", "b", "c", "d"]
    assert model.coef_.shape == (4, 1, 2)
    # classes are sorted: positive coefficients speak for "well"
    assert (model.coef_[:3, 0, 1] < 0).all()
    assert model.coef_[3, 0, 1] > 0


def test_the_source_that_differs_is_named(model):
    first = model.deviations()[0]
    assert (first.source, first.column, first.label) == ("d", "x1", "well")
    assert 0 < first.low < first.value < first.high
    assert {each.column for each in model.deviations()} == {"x1"}


def test_an_unknown_source_gets_the_mean(model):
    common = model.decision_function(X[:3])
    by_hand = X[:3] @ model.coef_.mean(axis=0)[0] + model.intercept_.mean()
    np.testing.assert_allclose(common, by_hand, rtol=1e-9)
    mixed = model.decision_function(X[:3], sources=[None, "new", "a"])
    np.testing.assert_array_equal(mixed[:2], common[:2])
    assert mixed[2] != common[2]


def test_units_do_not_matter(model):
    in_thousands = PartialPoolingClassifier(random_state=0).fit(X / 1000, Y, sources=SITES)
    np.testing.assert_allclose(
        in_thousands.predict_proba(X / 1000, sources=SITES),
        model.predict_proba(X, sources=SITES),
        atol=1e-6,
    )
    np.testing.assert_allclose(in_thousands.coef_, 1000 * model.coef_, rtol=1e-4)


def test_several_classes_rare_sources_and_sources_of_one_class():
    y = np.digitize(RULE, [-1.0, 1.0])
    sites = SITES.astype(object).copy()
    sites[:3] = "tiny"
    lone = y == 2
    sites[np.flatnonzero(lone)[:20]] = "one class"
    model = PartialPoolingClassifier(random_state=0).fit(X, y, sources=sites.astype(str))
    proba = model.predict_proba(X, sources=sites.astype(str))
    assert model.coef_.shape == (6, 3, 2)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert np.isfinite(model.coef_).all()


@pytest.fixture
def routed():
    """A pipeline that asks for the sources wherever it can."""
    with sklearn.config_context(enable_metadata_routing=True):
        inner = PartialPoolingClassifier(common_penalty=1.0, deviation_penalty=1.0)
        inner.set_fit_request(sources=True).set_score_request(sources=True)
        inner.set_predict_request(sources=True)
        yield make_pipeline(StandardScaler(), inner)


def test_sources_are_routed_through_pipelines(routed):
    known = routed.fit(X, Y, sources=SITES).predict(X, sources=SITES)
    assert (known == Y).mean() > 0.85


@pytest.mark.usefixtures("routed_scores")
def test_sources_are_routed_through_folds(routed):
    scores = cross_val_score(routed, X, Y, cv=3, params={"sources": SITES})
    assert scores.min() > 0.8


def test_frames_names_and_files(tmp_path, model):
    frame = pd.DataFrame(X, columns=["age", "pressure"])
    named = PartialPoolingClassifier(random_state=0).fit(frame, Y, sources=pd.Series(SITES))
    assert named.deviations()[0].column == "pressure"
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops").model
    np.testing.assert_array_equal(
        again.predict_proba(X, sources=SITES), model.predict_proba(X, sources=SITES)
    )
    model_of_wrong_shape = PartialPoolingClassifier(random_state=0).fit(X, Y, sources=SITES)
    model_of_wrong_shape.coef_ = model_of_wrong_shape.coef_[:2]
    save(model_of_wrong_shape, tmp_path / "forged.skops")
    with pytest.raises(ValueError, match="forged or damaged PartialPoolingClassifier"):
        load(tmp_path / "forged.skops")


def test_warning_without_sources():
    with pytest.warns(UserWarning, match="without sources: all rows count as one"):
        model = PartialPoolingClassifier(random_state=0).fit(X, Y)
    assert model.deviation_penalty_ == np.inf
    assert model.deviations() == []


def test_invalid_targets_of_the_classifier_are_refused():
    with pytest.raises(ValueError, match="one class only, 'ill'"):
        PartialPoolingClassifier().fit(X, np.full(400, "ill"), sources=SITES)
    with pytest.raises(ValueError, match="at least one non-zero"):
        PartialPoolingClassifier().fit(X, Y, sample_weight=np.zeros(400), sources=SITES)


def test_infinite_penalties_give_one_model_or_one_per_source():
    apart = PartialPoolingClassifier(common_penalty=np.inf, deviation_penalty=1.0)
    apart.fit(X, Y, sources=SITES)
    swapped = np.where(SITES == "a", Y, np.where(Y == "ill", "well", "ill"))
    against = PartialPoolingClassifier(common_penalty=np.inf, deviation_penalty=1.0)
    against.fit(X, swapped, sources=SITES)
    # coefficients of a source do not depend on the other sources, only intercepts are shared
    np.testing.assert_allclose(against.coef_[0], apart.coef_[0], rtol=0.02)
    together = PartialPoolingClassifier(common_penalty=1.0, deviation_penalty=np.inf)
    together.fit(X, Y, sources=SITES)
    assert np.ptp(together.coef_, axis=0).max() == 0


def made(sd, seed=0, n_rows=300, n_sources=5):
    rng = np.random.default_rng(seed)
    X, sites = rng.normal(size=(n_rows, 3)) * [1, 10, 0.1], np.arange(n_rows) % n_sources
    own = np.array([1.0, 0.1, 10.0]) * (
        1 + sd * np.random.default_rng(9).normal(size=(n_sources, 3))
    )
    y = 3.0 + sites + (X * own[sites]).sum(axis=1) + 0.5 * rng.normal(size=n_rows)
    return X, y, np.array(list("abcde"))[sites]


def fitted(sd, **options):
    X, y, sites = made(sd)
    return PartialPoolingRegressor(random_state=0, **options).fit(X, y, sources=sites)


def error(model, sd, known=True):
    X, y, sites = made(sd, seed=1)
    return np.mean((model.predict(X, sites if known else None) - y) ** 2)


@pytest.mark.parametrize("sd", [0.0, 0.3, 3.0])
def test_it_is_no_worse_than_one_model_for_all_and_one_per_source(sd):
    pooled = error(fitted(sd), sd)
    apart = error(fitted(sd, common_penalty=np.inf, deviation_penalty=1e-6), sd)
    alike = error(fitted(sd, common_penalty=1e-6, deviation_penalty=np.inf), sd)
    assert pooled < 1.03 * min(apart, alike)


def test_penalties_follow_how_much_sources_differ():
    assert fitted(0.0).deviation_penalty_ >= 30
    assert fitted(3.0).deviation_penalty_ <= 3


def test_without_penalties_on_deviations_each_source_has_its_own_regression():
    X, y, sites = made(1.0)
    model = fitted(1.0, common_penalty=np.inf, deviation_penalty=1e-9)
    own = sites == "b"
    alone = LinearRegression().fit(X[own], y[own])
    np.testing.assert_allclose(model.coef_[1], alone.coef_, rtol=0.02)


def test_sources_that_differ_in_their_intercept_only():
    model = fitted(0.0, common_penalty=1e-6, deviation_penalty=np.inf)
    assert (model.coef_ == model.common_coef_).all()
    assert (model.deviation_sd_ == 0).all()
    np.testing.assert_allclose(np.diff(model.intercept_), 1.0, atol=0.3)
    assert model.residual_sd_ == pytest.approx(0.5, rel=0.1)


def test_it_is_the_best_linear_unbiased_prediction_of_a_mixed_model():
    """By hand: generalised least squares, then the expected random effects given the residuals."""
    X, y, sites = made(1.0, n_rows=40)
    ratio_of_slopes, ratio_of_intercepts = 4.0, 0.5  # residual variance over that of the effects
    model = PartialPoolingRegressor(
        common_penalty=1e-12,
        deviation_penalty=ratio_of_slopes,
        intercept_penalty=ratio_of_intercepts,
    ).fit(X, y, sources=sites)
    scale = X.std(axis=0)
    fixed = np.column_stack([(X - X.mean(axis=0)) / scale, np.ones(40)])
    of_source = (sites[:, None] == np.array(list("abcde"))).astype(float)
    random = (of_source[:, :, None] * fixed[:, None, :]).reshape(40, -1)
    variances = np.tile(1 / np.array([*[ratio_of_slopes] * 3, ratio_of_intercepts]), 5)
    precision = np.linalg.inv(np.eye(40) + (random * variances) @ random.T)
    common = np.linalg.solve(fixed.T @ precision @ fixed, fixed.T @ precision @ y)
    effects = variances * (random.T @ precision @ (y - fixed @ common))
    slopes = common[:3] + effects.reshape(5, 4)[:, :3]
    np.testing.assert_allclose(model.coef_, slopes / scale, atol=1e-6)
    by_hand = fixed @ common + random @ effects
    np.testing.assert_allclose(model.predict(X, sites), by_hand, atol=1e-6)


PENALTIES = {"common_penalty": 3.0, "deviation_penalty": 5.0, "intercept_penalty": 0.7}


def design_by_hand(X, weights, sources, penalties):
    """Columns of common coefficients and of each source's deviations, and their penalties."""
    mean = np.average(X, axis=0, weights=weights)
    scale = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
    rows = np.column_stack([(X - mean) / scale, np.ones(len(X))])
    own = [rows * (sources == each)[:, None] for each in np.unique(sources)]
    slopes = np.ones(X.shape[1])
    common, deviation, intercept = penalties.values()
    of_source = np.append(deviation * slopes, intercept)
    diagonal = np.concatenate([common * slopes, [0.0], np.tile(of_source, len(own))])
    return np.column_stack([rows, *own]), diagonal, rows, scale


def test_coefficients_are_those_of_the_normal_equations():
    X, y, sites = made(1.0, n_rows=60)
    weights = np.random.default_rng(3).uniform(0.5, 2.0, 60)
    model = PartialPoolingRegressor(**PENALTIES).fit(X, y, weights, sources=sites)
    design, diagonal, rows, scale = design_by_hand(X, weights, sites, PENALTIES)
    centre = np.average(y, weights=weights)
    weighted = design.T * weights
    found = np.linalg.solve(weighted @ design + np.diag(diagonal), weighted @ (y - centre))
    common, own = found[:4], found[4:].reshape(5, 4)
    np.testing.assert_allclose(model.coef_, (common + own)[:, :3] / scale, rtol=0, atol=1e-6)
    predicted = (rows * (common + own)[np.unique(sites, return_inverse=True)[1]]).sum(axis=1)
    np.testing.assert_allclose(model.predict(X, sites), centre + predicted, rtol=0, atol=1e-6)
    unknown = centre + rows @ (common + own.mean(axis=0))
    np.testing.assert_allclose(model.predict(X), unknown, rtol=0, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_coefficients_are_those_of_newton_iterations(n_classes):
    X, y, sites = made(1.0, n_rows=90)
    labels = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    weights = np.random.default_rng(3).uniform(0.5, 2.0, 90)
    model = PartialPoolingClassifier(**PENALTIES, tol=1e-12, max_iter=10_000)
    model.fit(X, labels, weights, sources=sites)
    design, diagonal, rows, scale = design_by_hand(X, weights, sites, PENALTIES)
    # a logit of each class but the first of two; the level of three is not identified by the loss
    n_logits = 1 if n_classes == 2 else n_classes
    truth = np.eye(n_classes)[labels][:, -n_logits:]
    width = design.shape[1]
    at = np.zeros((n_logits, width))
    penalty = np.diag(np.tile(diagonal, n_logits))
    for _ in range(50):
        scores = design @ at.T
        scores = np.column_stack([np.zeros(len(X)), scores]) if n_logits == 1 else scores
        proba = softmax(scores, axis=1)[:, -n_logits:]
        gradient = ((proba - truth) * weights[:, None]).T @ design + diagonal * at
        curvature = penalty.copy()
        for j in range(n_logits):
            for k in range(n_logits):
                own = weights * proba[:, j] * ((j == k) - proba[:, k])
                block = slice(j * width, (j + 1) * width), slice(k * width, (k + 1) * width)
                curvature[block] += (design.T * own) @ design
        at -= (np.linalg.pinv(curvature) @ gradient.ravel()).reshape(at.shape)
    assert np.abs(gradient).max() < 1e-12
    common, own = at[:, :4], at[:, 4:].reshape(n_logits, 5, 4).swapaxes(0, 1)
    coefs = common + own
    np.testing.assert_allclose(model.coef_ * scale, coefs[..., :3], rtol=0, atol=1e-6)
    codes = np.unique(sites, return_inverse=True)[1]
    scores = np.einsum("mj,mkj->mk", rows, coefs[codes])
    scores = np.column_stack([np.zeros(len(X)), scores]) if n_logits == 1 else scores
    found = model.predict_proba(X, sites)
    np.testing.assert_allclose(found, softmax(scores, axis=1), rtol=0, atol=1e-6)


def nested(seed=0, n_rows=600):
    """Rows of two wards in each of three hospitals; the slope of x1 differs by hospital."""
    rng = np.random.default_rng(seed)
    X, wards = rng.normal(size=(n_rows, 2)), np.arange(n_rows) % 6
    hospitals = wards // 2
    y = X[:, 0] + (hospitals - 1) * X[:, 1] + 0.3 * wards + 0.5 * rng.normal(size=n_rows)
    names = np.column_stack([np.array(list("ABC"))[hospitals], np.array(list("uvwxyz"))[wards]])
    return X, y, names


def test_nested_sources_have_levels_of_their_own():
    X, y, names = nested()
    model = PartialPoolingRegressor(random_state=0).fit(X, y, sources=names)
    assert model.sources_.tolist() == [["A", "u"], ["A", "v"], ["B", "w"],
                                       ["B", "x"], ["C", "y"], ["C", "z"]]  # fmt: skip
    assert model.outer_coef_.shape == (3, 2)
    np.testing.assert_allclose(model.coef_[::2, 1], [-1, 0, 1], atol=0.2)
    # slopes of wards in a hospital are alike, and hospitals differ
    assert model.deviation_penalty_[1] > model.deviation_penalty_[0]
    a_new_ward = model.predict(X[:4], np.array([["A", "new"], ["C", None], ["new", "u"],
                                                [None, "u"]], dtype=object))  # fmt: skip
    by_hand = [*(model.outer_intercept_ + X[:4] @ model.outer_coef_.T)[[0, 1], [0, 2]],
               *(model.common_intercept_ + X[2:4] @ model.common_coef_)]  # fmt: skip
    np.testing.assert_allclose(a_new_ward, by_hand)
    first = model.deviations()[0]
    assert first.source in {"A", "C"}
    assert first.column == "x1"
    inner = {each.source for each in model.deviations(1.0, intercepts=True)}
    assert {"A / u", "C / z"} <= inner


def test_nested_columns_of_a_frame_and_files(tmp_path):
    X, y, names = nested()
    frame = pd.DataFrame(X, columns=["age", "dose"]).assign(hospital=names[:, 0], ward=names[:, 1])
    model = PartialPoolingClassifier(random_state=0)
    model.fit(frame, np.where(y > 1, "ill", "well"), sources=["hospital", "ward"])
    assert model.feature_names_in_.tolist() == ["age", "dose"]
    proba = model.predict_proba(frame)
    np.testing.assert_array_equal(proba, model.predict_proba(frame[["age", "dose"]], sources=names))
    known_hospital = model.predict_proba(frame.drop(columns="ward"))
    assert not np.allclose(known_hospital, model.predict_proba(frame[["age", "dose"]]))
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops").model
    np.testing.assert_array_equal(again.predict_proba(frame), proba)
    model.outer_coef_ = model.outer_coef_[:2]
    save(model, tmp_path / "forged.skops")
    with pytest.raises(ValueError, match="forged or damaged"):
        load(tmp_path / "forged.skops")


def test_penalties_of_each_level():
    X, y, names = nested()
    given = PartialPoolingRegressor(common_penalty=1.0, deviation_penalty=(2.0, np.inf),
                                    intercept_penalty=3.0).fit(X, y, sources=names)  # fmt: skip
    assert given.deviation_penalty_ == (2.0, np.inf)
    assert given.intercept_penalty_ == (3.0, 3.0)
    with pytest.raises(ValueError, match=r"deviation_penalty=\(1, 2\), but must be a number"):
        PartialPoolingRegressor(deviation_penalty=(1, 2)).fit(X, y, sources=names[:, 0])
    with pytest.raises(ValueError, match=r"intercept_penalty=\(1, 'no'\), but must be"):
        PartialPoolingRegressor(intercept_penalty=(1, "no")).fit(X, y, sources=names)


def test_intercepts_that_differ_are_named_at_the_columns_means():
    X, y, sites = made(0.0)
    model = PartialPoolingRegressor(random_state=0).fit(X + 100.0, y, sources=sites)
    found = {each.source: each for each in model.deviations(intercepts=True)}
    assert {each.column for each in found.values()} == {"intercept"}
    assert found["a"].value == pytest.approx(-2.0, abs=0.2)
    assert found["e"].low < 2.0 < found["e"].high + 0.2


def test_one_source_is_a_ridge_regression():
    X, y, _ = made(0.0)
    with pytest.warns(UserWarning, match="fitted without sources"):
        model = PartialPoolingRegressor(common_penalty=5.0, deviation_penalty=np.inf).fit(X, y)
    scale = X.std(axis=0)
    twin = Ridge(alpha=5.0).fit((X - X.mean(axis=0)) / scale, y)
    np.testing.assert_allclose(model.coef_[0], twin.coef_ / scale, rtol=1e-6)


def test_unknown_sources_get_the_mean():
    model = fitted(1.0)
    X = np.ones((2, 3))
    new, none = model.predict(X, ["z", None]), model.predict(X)
    np.testing.assert_array_equal(new, none)
    np.testing.assert_allclose(model.common_coef_, model.coef_.mean(axis=0))


def test_true_deviations_are_named():
    X, y, sites = made(0.0)
    y = y + np.where(sites == "c", 2.0 * X[:, 0], 0.0)
    model = PartialPoolingRegressor(random_state=0).fit(X, y, sources=sites)
    found = model.deviations()
    assert (found[0].source, found[0].column, found[0].label) == ("c", "x0", None)
    assert found[0].low < found[0].value < found[0].high


def test_a_splitter_gets_the_sources():
    assert error(fitted(0.3, cv=GroupKFold(5)), 0.3, known=False) < 20


@pytest.mark.parametrize("bad", [np.full(300, 1.0), np.array(["a", "b"] * 150)])
def test_bad_targets_are_refused(bad):
    X, _, sites = made(0.0)
    with pytest.raises(ValueError, match=r"y has the range 1 to 1|which is not numeric"):
        PartialPoolingRegressor().fit(X, bad, sources=sites)


def test_saved_and_loaded(tmp_path):
    model = fitted(1.0)
    save(model, tmp_path / "model.skops")
    X, y, sites = made(1.0, seed=1)
    again = load(tmp_path / "model.skops").model
    np.testing.assert_array_equal(again.predict(X, sites), model.predict(X, sites))
    assert again.score(X, y, sources=sites) > 0.9
    model.coef_ = model.coef_[:2]
    save(model, tmp_path / "forged.skops")
    with pytest.raises(ValueError, match="forged or damaged"):
        load(tmp_path / "forged.skops")
