"""Columns in another order, missing or unexpected; unseen categories and sources."""

import warnings

import numpy as np
import pandas as pd
import pytest

from ensemblage.bayes import BayesNetClassifier
from ensemblage.datasets import TableEncoder
from ensemblage.pool import EnsemblageClassifier
from ensemblage.sources import PartialPoolingClassifier, SourceStrata
from ensemblage.strata import StrataEnsembleClassifier
from made_estimators import MADE, are_finite, attempt, fit_on, made_rows

X, Y, _ = made_rows()
FRAME = pd.DataFrame(X, columns=["age", "size", "weight"])
METHODS = ("predict", "predict_proba", "transform", "log_affinity")
SITES = np.array(["Bern", "Basel"])[np.arange(40) // 20]
RAW_TABLE = FRAME.assign(job=np.where(Y, "cook", "smith"))


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
@pytest.mark.parametrize(
    ("columns", "message"),
    [(["size", "age", "weight"], "same order"), (["age", "size"], "missing|weight"),
     (["age", "size", "weight", "other"], "unseen|other")],
    ids=["other order", "missing", "unexpected"],
)  # fmt: skip
def test_other_columns_are_named(made, columns, message):
    model = fit_on(made, FRAME)
    given = FRAME.reindex(columns=columns, fill_value=0.0)
    for name in (name for name in METHODS if hasattr(model, name)):
        with pytest.raises(ValueError, match=message):
            getattr(model, name)(given)


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_wrong_number_of_columns_is_refused(made):
    model = fit_on(made, X)
    for name in (name for name in METHODS if hasattr(model, name)):
        with pytest.raises(ValueError, match=r"2 features, but .* expecting 3 features"):
            getattr(model, name)(X[:, :2])


@pytest.mark.parametrize(
    "model",
    [BayesNetClassifier(), EnsemblageClassifier(["logistic", "network"], cv=2),
     StrataEnsembleClassifier(fusion="mean"), TableEncoder()],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_unseen_categories_are_ignored(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # strata of one class
        model.fit(RAW_TABLE, Y)
    method = getattr(model, "predict_proba", getattr(model, "transform", None))
    new = RAW_TABLE.assign(job="pilot")
    assert are_finite({"output": np.asarray(method(new), dtype=float)})


@pytest.mark.parametrize(
    "model", [PartialPoolingClassifier(common_penalty=1.0, deviation_penalty=1.0),
              StrataEnsembleClassifier(SourceStrata(min_rows=1), fusion="mean"),
              EnsemblageClassifier(["logistic", "network"], cv=2)],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_unseen_sources_are_predicted(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # strata of one class
        model.fit(X, Y, sources=SITES)
        proba = model.predict_proba(X, sources=np.full(40, "Genf"))
    assert are_finite({"proba": proba})
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    "sources",
    [np.where(np.arange(40) == 3, None, SITES), np.where(np.arange(40) % 2, np.nan, 1.0),
     np.array([1, "Bern", 2.5, None] * 10, dtype=object)],
    ids=["missing among strings", "missing among numbers", "mixed"],
)  # fmt: skip
@pytest.mark.parametrize(
    "model", [PartialPoolingClassifier(common_penalty=1.0, deviation_penalty=1.0),
              SourceStrata(min_rows=1), EnsemblageClassifier(["logistic", "network"], cv=2)],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_missing_or_mixed_sources_are_a_fit_or_an_error(model, sources):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, error = attempt(lambda: model.fit(X, Y, sources=sources))
    assert not error or "source" in error
