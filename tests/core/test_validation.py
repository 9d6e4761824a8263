import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_iris
from sklearn.ensemble import AdaBoostClassifier

from ensemblage._core import (
    as_numbers,
    read_weights,
    refuse_dates,
    refuse_infinite,
    refuse_overflow,
    short_weights,
    squares_are_finite,
    validate_numbers,
)
from ensemblage.bayes import BayesNetClassifier, MDLPDiscretizer
from ensemblage.inner import InnerBayesNetClassifier, InnerKMeans, InnerTreeClassifier
from ensemblage.sources import PartialPoolingClassifier
from ensemblage.strata import (
    HISS,
    MixtureStrata,
    ScaledLogisticRegression,
    StrataEnsembleClassifier,
)
from ensemblage.subspace import JointSubspaceClassifier


def test_numeric_targets_are_doubles():
    assert as_numbers([1, 2]).dtype == np.float64
    np.testing.assert_array_equal(as_numbers(np.array(["1.5", "2"])), [1.5, 2.0])


@pytest.mark.parametrize("y", [np.array(["a", "b"]), np.array(["a", 1], dtype=object)])
def test_text_targets_are_rejected(y):
    with pytest.raises(ValueError, match="y holds 'a', which is not numeric"):
        as_numbers(y)


DATES = pd.DataFrame({"size": [1.0, 2.0], "seen": pd.to_datetime(["2026-01-01", "2026-01-02"])})


@pytest.mark.parametrize("frame", [DATES, pl.DataFrame(DATES.to_dict("list"))])
def test_a_column_of_dates_is_named(frame):
    with pytest.raises(ValueError, match="Column 'seen' of X holds dates or durations; BaseEst"):
        refuse_dates(BaseEstimator(), frame)
    refuse_dates(BaseEstimator(), frame[["size"]])


def test_an_array_of_durations_is_refused():
    with pytest.raises(ValueError, match="Column 0 of X holds dates"):
        validate_numbers(BaseEstimator(), np.zeros((2, 2), dtype="timedelta64[s]"))


def test_values_that_overflow_are_named():
    refuse_overflow(np.array([[1e150, np.nan]]))
    with pytest.raises(ValueError, match=r"as large as 1e\+200, whose squares overflow float64"):
        refuse_overflow(np.array([[0.0, -1e200]]))
    with pytest.raises(ValueError, match="overflow float32"):
        validate_numbers(BaseEstimator(), np.full((3, 1), 1e30, np.float32), squares=True)
    assert validate_numbers(BaseEstimator(), np.eye(2), squares=True).shape == (2, 2)


def test_text_as_numeric_target_is_named():
    with pytest.raises(ValueError, match="y holds 'low', which is not numeric"):
        validate_numbers(BaseEstimator(), np.eye(2), ["low", "high"], y_numeric=True)


def test_infinite_predictions_are_refused():
    given = np.array([1.0, 2.0])
    assert refuse_infinite(given) is given
    with pytest.raises(ValueError, match="so far from the training rows"):
        refuse_infinite(np.array([np.inf]))


def test_usual_values():
    assert squares_are_finite(np.array([-1e149, 1e149]))
    assert not squares_are_finite(np.array([np.nan]))
    assert not squares_are_finite(np.array([1e151]))


X, Y = load_iris(return_X_y=True)


ROWS = np.empty((4, 1))


def test_short_weights_by_hand():
    given = np.array([0.0, 1.0, 3.0, 1e6, 0.1, 5e-324])
    assert short_weights(given)[:4].tolist() == [0.0, 1.0, 3.0, 1e6]
    assert short_weights(given)[4] == round(0.1 * 2**35) / 2**35
    assert short_weights(given)[5] == 5e-324


@given(st.floats(1e-300, 1e300), st.floats(1.0, 1.0 + 4e-16))
def test_short_weights_are_near_and_shorten_once(weight, noise):
    short = short_weights(np.array([weight]))
    np.testing.assert_allclose(short, weight, rtol=2.0**-32)
    np.testing.assert_array_equal(short_weights(short * noise), short)


def test_copies_are_kept_as_they_are():
    assert read_weights(None, ROWS).tolist() == [1, 1, 1, 1]
    assert read_weights([1, 0, 2, 3], ROWS).tolist() == [1, 0, 2, 3]
    assert read_weights([1e6, 1e6, 1e6, 1e6], ROWS).tolist() == [1e6] * 4


def test_other_weights_are_scaled_to_a_mean_of_one():
    # the three rows that are present share three
    assert read_weights([0.1, 0.0, 0.1, 0.4], ROWS) == pytest.approx([0.5, 0, 0.5, 2])
    assert read_weights([1e307, 1e307, 1e307, 3e307], ROWS) == pytest.approx([2 / 3] * 3 + [2])


@given(st.floats(1e-300, 1e300).filter(lambda each: not 1 <= each <= 1e6))
def test_equal_weights_are_no_weights(weight):
    assert read_weights([weight] * 4, ROWS).tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("weight", [1e-300, 1e-100, 1e-10, 1 / 150, 1e100, 1e307])
def test_networks_do_not_depend_on_the_scale_of_weights(weight):
    plain = BayesNetClassifier().fit(X, Y)
    scaled = BayesNetClassifier().fit(X, Y, sample_weight=np.full(150, weight))
    assert np.array_equal(scaled.predict_proba(X), plain.predict_proba(X))
    cuts = MDLPDiscretizer().fit(X, Y).cut_points_
    again = MDLPDiscretizer().fit(X, Y, sample_weight=np.full(150, weight)).cut_points_
    assert all(np.array_equal(one, other) for one, other in zip(cuts, again, strict=True))


def test_inner_ensembles_do_not_depend_on_the_scale_of_weights():
    plain = InnerBayesNetClassifier(n_views=5, random_state=0).fit(X, Y)
    scaled = InnerBayesNetClassifier(n_views=5, random_state=0).fit(X, Y, np.full(150, 1 / 150))
    assert np.array_equal(scaled.predict_proba(X), plain.predict_proba(X))


def test_a_network_can_be_boosted():
    boosted = AdaBoostClassifier(BayesNetClassifier(), n_estimators=3, random_state=0).fit(X, Y)
    assert boosted.score(X, Y) > 0.95


def test_no_weight_at_all_is_refused():
    with pytest.raises(ValueError, match="at least one non-zero"):
        read_weights([0, 0, 0, 0], ROWS)


@pytest.mark.parametrize(
    "model",
    [
        HISS(2, random_state=0),
        MixtureStrata(2, random_state=0),
        InnerKMeans(3, n_views=3, random_state=0),
        InnerTreeClassifier(n_views=3, random_state=0),
        JointSubspaceClassifier(2, max_iter=5, random_state=0),
        PartialPoolingClassifier(),
        ScaledLogisticRegression(),
        StrataEnsembleClassifier(n_strata=2, random_state=0),
    ],
    ids=lambda each: type(each).__name__,
)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("weight", [1e-300, 1 / 150, 1e307])
def test_no_model_depends_on_the_scale_of_weights(model, weight):
    ask = next(
        each for each in ("predict_proba", "predict", "log_affinity") if hasattr(model, each)
    )
    weighed = [getattr(clone(model).fit(X, Y, sample_weight=np.full(150, each)), ask)(X)
               for each in (1.0, weight)]  # fmt: skip
    assert np.array_equal(*weighed)


@pytest.mark.parametrize("model", [HISS(2), MixtureStrata(2)], ids=["HISS", "MixtureStrata"])
@pytest.mark.parametrize("scale", [1e-300, 1e-162, 1e-158, 1e-155])
def test_columns_whose_squares_vanish_are_refused(model, scale):
    with pytest.raises(ValueError, match="have a range as small as"):
        model.fit(X * scale)
    with pytest.raises(ValueError, match="underflows float32"):
        model.fit((X * 1e-20).astype(np.float32))
