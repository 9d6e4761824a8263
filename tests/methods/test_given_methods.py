"""Names and estimators as methods."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ensemblage.messages import CLASSIFICATION
from ensemblage.methods import METHODS
from ensemblage.methods._given_methods import digest_of, named_methods, wide_notes
from ensemblage.runs import ResultStore
from ensemblage.strata import StrataEnsembleClassifier


def test_names_and_estimators_may_be_mixed():
    found = named_methods(["majority", GaussianNB()], sources=False)
    assert list(found) == ["majority", "GaussianNB"]
    assert found["majority"] is METHODS["majority"]
    assert digest_of(found["majority"]) == ""
    named = named_methods({"base": "majority", "logistic": "logistic"}, sources=False)
    assert (named["base"].label, named["base"].effort) == ("base", 0)
    assert named["logistic"] is METHODS["logistic"]


def test_a_digest_tells_parameters_apart():
    found = named_methods({"a": LogisticRegression(), "b": LogisticRegression(C=2)}, sources=False)
    again = named_methods({"a": LogisticRegression()}, sources=False)
    assert digest_of(found["a"]) == digest_of(again["a"]) != digest_of(found["b"])


def test_our_own_are_marked_and_pipelines_read_rows_themselves():
    ours = named_methods([StrataEnsembleClassifier()], sources=False)
    assert ours["StrataEnsembleClassifier"].ours
    piped = named_methods([make_pipeline(StandardScaler(), GaussianNB())], sources=False)
    assert piped["Pipeline"].takes_tables


def test_the_usual_ones_need_no_sources_unless_they_are_known():
    assert set(METHODS) - set(named_methods(None, sources=False)) == {"strata-sources"}
    assert set(named_methods(None, sources=True)) == set(METHODS)
    quick = named_methods(None, sources=False, quick=True)
    assert not {"strata-paper", "inner-bayesnet"} & set(quick)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ([], ValueError, "`methods` is empty"),
        (
            [GaussianNB(), GaussianNB(var_smoothing=1)],
            ValueError,
            "two estimators called 'GaussianNB'",
        ),
        ([Ridge()], TypeError, r"has Ridge\(\) as 'Ridge'"),
        ({"x": 3}, TypeError, "has 3 as 'x'"),
        (["bosting"], ValueError, "Did you mean 'boosting'"),
    ],
)
def test_what_is_no_method_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        named_methods(given, sources=False)


def test_stored_scores_of_one_estimator_are_not_taken_for_another(tmp_path):
    from ensemblage.methods import compare

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    with ResultStore(tmp_path / "r.sqlite") as store:
        for C in (1e-6, 1.0, 1.0):
            compare(X, y, {"mine": LogisticRegression(C=C)}, n_splits=3, store=store, n_jobs=1)
        assert len(store) == 6


def test_very_many_columns_leave_out_what_compares_all_pairs_unless_it_is_named():
    wide = named_methods(None, sources=False, n_columns=301)
    assert set(named_methods(None, sources=False, n_columns=300)) - set(wide) == {"inner-bayesnet"}
    assert "inner-bayesnet" in named_methods(["inner-bayesnet"], sources=False, n_columns=301)
    (said,) = wide_notes(CLASSIFICATION, False, 301)
    assert said.startswith("inner Bayesian network is left out: its time grows with the square")
    assert wide_notes(CLASSIFICATION, True, 301) == []  # it is in no quick comparison anyway
