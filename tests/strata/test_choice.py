import numpy as np
import pytest
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier

from ensemblage.fusion import AffinityGate, FusionContext, Mean
from ensemblage.strata import (
    HISS,
    ClassTarget,
    MixtureStrata,
    StrataEnsembleClassifier,
    fit_with_out_of_fold,
)
from ensemblage.strata._members import candidate_settings, cross_fit_fusion, out_of_fold_error
from ensemblage.strata._targets import Training


def rows(y, folds, weights=None):
    ones = np.ones(len(y)) if weights is None else weights
    return Training(None, y, ClassTarget(np.array([0, 1])), ones, weights, folds=folds)


def test_a_stratifier_without_a_size():
    assert candidate_settings(MixtureStrata(), None, "auto", 1000) == [
        {"n_strata": 10}, {"n_strata": 20}, {"n_strata": 40},
    ]  # fmt: skip
    with pytest.raises(ValueError, match=r"stratum_size=0.3 was given, but MixtureStrata has no"):
        candidate_settings(MixtureStrata(), 0.3, None, 1000)


def test_few_rows_get_few_strata_that_hold_ten_rows():
    assert candidate_settings(HISS(), "auto", "auto", 20) == [{"n_strata": 2, "stratum_size": 0.5}]
    assert candidate_settings(HISS(), "auto", 2, 15) == [{"n_strata": 2, "stratum_size": 10 / 15}]


def test_the_error_of_a_fusion_is_itself_out_of_fold():
    y = np.arange(20) % 2
    right = np.where(y[:, None] == [0, 1], 1.0, 0.0)
    folds = [(np.arange(10, 20), np.arange(10)), (np.arange(10), np.arange(10, 20))]
    unknown = np.full((20, 2), np.nan)
    for outputs, error in ([right, right], 0.0), ([1 - right], 1.0), ([unknown], np.inf):
        data = rows(y, folds)
        assert out_of_fold_error(cross_fit_fusion(Mean(), np.stack(outputs), data), data) == error


def test_the_error_of_a_fusion_leaves_out_rows_in_no_fold():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    outputs = rng.dirichlet([1, 1], size=(3, 60))
    affinity, weights = rng.normal(scale=5, size=(60, 3)), rng.integers(0, 3, 60)
    known = np.arange(20, 60)
    folds = [(np.arange(20), np.arange(20, 40)), (np.arange(40), np.arange(40, 60))]
    moved = [(train, test - 20) for train, test in folds]
    few = rows(y[known], moved, weights[known])
    own = cross_fit_fusion(AffinityGate(), outputs[:, known], few, FusionContext(affinity[known]))
    outputs[:, :20] = np.nan
    every = rows(y, folds, weights)
    fused = cross_fit_fusion(AffinityGate(), outputs, every, FusionContext(affinity))
    assert out_of_fold_error(own, few) == out_of_fold_error(fused, every)


def test_out_of_fold_outputs_use_neither_members_nor_fusion_fitted_on_the_row():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    memorising = StrataEnsembleClassifier(HISS(2, 0.6), KNeighborsClassifier(1), random_state=0)
    outputs = fit_with_out_of_fold(memorising, X, y)
    plain = clone(memorising).fit(X, y)
    assert outputs.shape == (60, 2)
    assert (outputs.argmax(axis=1) == y).mean() < 0.7
    np.testing.assert_array_equal(memorising.predict_proba(X), plain.predict_proba(X))


def test_a_row_in_no_test_fold_has_no_out_of_fold_output():
    X = np.random.default_rng(1).normal(size=(40, 2))
    y, rows = np.arange(40) % 2, np.arange(40)
    folds = [(rows[20:], rows[:10]), (rows[:20], rows[20:30])]
    ensemble = StrataEnsembleClassifier(HISS(2, 0.6), cv=folds, random_state=0)
    outputs = fit_with_out_of_fold(ensemble, X, y)
    assert np.flatnonzero(np.isnan(outputs).any(axis=1)).tolist() == [
        *range(10, 20),
        *range(30, 40),
    ]


def test_without_folds_there_are_no_out_of_fold_errors():
    ensemble = StrataEnsembleClassifier(HISS(2, 0.6), fusion="mean")
    with pytest.raises(ValueError, match="fusion='mean' with cv=5 uses no folds"):
        fit_with_out_of_fold(ensemble, np.eye(20), np.arange(20) % 2)
