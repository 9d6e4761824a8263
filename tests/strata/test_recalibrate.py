import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from ensemblage.persistence import load, save
from ensemblage.strata import RecalibratedClassifier, recalibrate


def site(seed, n_rows, shift=0.0, stretch=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 2))
    return X, (stretch * X[:, 0] + shift + rng.logistic(size=n_rows) > 0).astype(int)


@pytest.fixture(scope="module")
def model():
    return LogisticRegression().fit(*site(0, 2000))


@parametrize_with_checks([RecalibratedClassifier(LogisticRegression())])
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("shift", "stretch"), [(2.0, 1.0), (0.0, 3.0)])
def test_a_site_that_differs_is_mended(model, shift, stretch):
    adapted = recalibrate(model, *site(1, 100, shift, stretch))
    X, y = site(2, 4000, shift, stretch)
    assert adapted.telling_
    assert log_loss(y, adapted.predict_proba(X)) < 0.9 * log_loss(y, model.predict_proba(X))
    assert (adapted.predict(X) == adapted.predict_proba(X).argmax(axis=1)).all()


def test_a_site_like_the_others_is_left_nearly_alone(model):
    X, y = site(3, 4000)
    before, losses = log_loss(y, model.predict_proba(X)), []
    for seed in range(20):
        adapted = RecalibratedClassifier(FrozenEstimator(model)).fit(*site(10 + seed, 50))
        losses.append(log_loss(y, adapted.predict_proba(X)))
    assert np.mean(losses) < 1.005 * before


def test_it_says_when_the_rows_tell_nothing(model):
    with pytest.warns(UserWarning, match="20 labelled rows do not tell the site from what"):
        adapted = recalibrate(model, *site(4, 20))
    assert not adapted.telling_
    assert adapted.slope_ == pytest.approx(1.0, abs=0.1)


def test_a_class_that_the_site_does_not_have_keeps_a_probability(model):
    X, _ = site(5, 30)
    adapted = recalibrate(model, X, np.ones(30, dtype=int))
    shares = adapted.predict_proba(X)
    assert (shares > 0.001).all()
    assert shares[:, 1].mean() > model.predict_proba(X)[:, 1].mean()


def test_what_the_model_does_not_know_is_refused(model):
    X, y = site(6, 30)
    with pytest.raises(ValueError, match="classes that the model does not know: 7"):
        recalibrate(model, X, np.where(y == 1, 7, 0))
    with pytest.raises(NotFittedError):
        recalibrate(LogisticRegression(), X, y)
    with pytest.raises(TypeError, match="KNeighborsClassifier takes no sample_weight"):
        RecalibratedClassifier(KNeighborsClassifier()).fit(X, y, np.ones(30))


def test_saved_and_loaded(model, tmp_path):
    adapted = recalibrate(model, *site(1, 100, shift=2.0))
    X, _ = site(7, 10)
    save(adapted, tmp_path / "site.skops")
    again = load(tmp_path / "site.skops").model
    np.testing.assert_array_equal(again.predict_proba(X), adapted.predict_proba(X))
    adapted.offsets_ = np.array([np.nan, 0.0])
    save(adapted, tmp_path / "forged.skops")
    with pytest.raises(ValueError, match="forged or damaged RecalibratedClassifier"):
        load(tmp_path / "forged.skops")
