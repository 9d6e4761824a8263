import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import cross_val_score

from ensemblage.datasets import make_quarter_circle
from ensemblage.fusion import Gate, LocalCompetence, Mean, SoftmaxGate, product_rule
from ensemblage.subspace import JointSubspaceClassifier

QUICK = {"patience": 10, "max_iter": 40, "random_state": 0}


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


def test_importance_of_one_member_alone(wine):
    ensemble = JointSubspaceClassifier(3, importance=[0, 1, 0], **QUICK).fit(*wine)
    proba = ensemble.predict_proba(wine[0])
    np.testing.assert_allclose(proba, ensemble.member_outputs(wine[0])[1])


def test_shapes(wine):
    ensemble = JointSubspaceClassifier(4, **QUICK).fit(*wine)
    assert ensemble.coefs_.shape == (4, 3, 13)
    assert ensemble.intercepts_.shape == (4, 3)
    assert ensemble.supports_.shape == (4, 13)
    assert ensemble.co_selection_.shape == (13, 13)
    assert len(ensemble.accuracy_path_) == 4
    assert ensemble.n_iter_ == max(len(path) - 1 for path in ensemble.accuracy_path_)


def test_no_flips_are_the_ensemble_without_masks(wine):
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
def test_row_weights_and_copies_are_one_thing(options):
    X, y = make_quarter_circle(40, n_dummies=2, random_state=0)
    counts = np.random.default_rng(0).integers(1, 4, len(y))
    ensemble = JointSubspaceClassifier(3, **options, **QUICK)
    weighed = clone(ensemble).fit(X, y, sample_weight=counts)
    copied = clone(ensemble).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_array_equal(weighed.supports_, copied.supports_)
    np.testing.assert_allclose(weighed.predict_proba(X), copied.predict_proba(X), atol=1e-5)


def test_automatic_size_may_be_one_and_stops_early(wine):
    ensemble = JointSubspaceClassifier("auto", **QUICK).fit(*wine)
    assert 1 <= ensemble.n_estimators_ < 50
    assert len(ensemble.coefs_) == ensemble.n_estimators_
    assert "product, 1 members" in ensemble.development_scores_
    assert len(ensemble.development_scores_) < 50


def test_automatic_fusion_takes_the_gate_where_it_pays():
    X, y = make_quarter_circle(150, random_state=0)
    ensemble = JointSubspaceClassifier(5, fusion="auto", **QUICK).fit(X, y)
    assert isinstance(ensemble.fusion_, SoftmaxGate)
    assert ensemble.fusion_.coef.shape == (5, 2)
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
def test_class_with_a_single_row_is_never_in_development_alone(wine, options):
    X, y = np.vstack([wine[0], wine[0][:1] + 1e3]), np.append(wine[1], 9)
    ensemble = JointSubspaceClassifier(**options, **QUICK).fit(X, y)
    assert list(ensemble.classes_) == [0, 1, 2, 9]
    assert np.isfinite(ensemble.predict_proba(X)).all()


def test_constant_columns_do_no_harm(wine):
    X = np.column_stack([wine[0], np.full(len(wine[0]), 7.0)])
    for solver in ("lbfgs", "paper"):
        ensemble = JointSubspaceClassifier(2, solver=solver, **QUICK).fit(X, wine[1])
        assert np.isfinite(ensemble.coefs_).all()
        assert ensemble.score(X, wine[1]) > 0.6
    alone = JointSubspaceClassifier(2, **QUICK).fit(np.ones((6, 1)), [0, 1] * 3)
    np.testing.assert_allclose(alone.predict_proba([[1.0]]), 0.5, atol=1e-6)


def test_every_proposal_empty_keeps_the_feature():
    # with one feature and a certain flip, each proposal would mask everything
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
        ({"n_estimators": 3, "importance": [1, 2]}, r"expected \(3,\), one per member"),
        ({"fusion": "vote", "importance": [1] * 10}, "applies to fusion='product'"),
    ],
)
def test_wrong_parameters(wine, options, message):
    with pytest.raises(ValueError, match=message):
        JointSubspaceClassifier(**options).fit(*wine)


def test_a_fusion_that_needs_strata_is_refused(wine):
    with pytest.raises(ValueError, match="needs the rows' affinity to strata"):
        JointSubspaceClassifier(fusion=Gate()).fit(*wine)


def test_wrong_data(wine):
    X, y = wine
    with pytest.raises(ValueError, match="one class only, 1"):
        JointSubspaceClassifier().fit(X, np.ones(len(y), int))
    with pytest.raises(ValueError, match="NaN"):
        JointSubspaceClassifier(encode=None).fit(np.where(X > 14, np.nan, X), y)
    with pytest.raises(ValueError, match="at least one non-zero"):
        JointSubspaceClassifier().fit(X, y, sample_weight=np.zeros(len(y)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_more_members_than_useful_are_no_trouble(dtype):
    # after the first member every row is right, and all weights are next to nothing
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


def test_callbacks_see_every_member(capsys, callbacks):
    X, y = load_iris(return_X_y=True)
    ensemble = JointSubspaceClassifier(2, **QUICK).set_callbacks(callbacks.ProgressBar())
    assert ensemble.fit(X, y).n_estimators_ == 2
    assert "JointSubspaceClassifier" in capsys.readouterr().out


def test_converged_ensemble_generalises(wine):
    assert cross_val_score(JointSubspaceClassifier(5, **QUICK), *wine, cv=3).mean() > 0.93
