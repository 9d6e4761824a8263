"""The same answers as Weka's BayesNet, to the last structure."""

import json

import numpy as np
import pytest

from bayes.uci import load
from ensemblage.bayes import BayesNetClassifier, MDLPDiscretizer

NAMES = ["breast-w", "ecoli", "glass", "heart-c", "iris", "lymph", "tic-tac-toe", "vote"]


@pytest.fixture(params=NAMES)
def case(request, shared):
    golden = json.loads((shared / "golden" / "weka-k2" / f"{request.param}.json").read_text())
    return golden, *load(shared, request.param)


def test_cut_points_and_codes(case):
    golden, X, y = case
    numeric = [j for j, column in enumerate(golden["columns"]) if column["numeric"]]
    if numeric:
        cuts = MDLPDiscretizer().fit(X.iloc[:, numeric], y).cut_points_
        for j, found in zip(numeric, cuts, strict=True):
            np.testing.assert_array_equal(found, golden["columns"][j]["cuts"])
    network = BayesNetClassifier().fit(X, y)
    codes = network._codes(X)[1:]
    filled = np.where(codes < 0, network.modes_[:, None], codes)
    np.testing.assert_array_equal(filled.T, np.array(golden["codes"])[:, :-1])


@pytest.mark.parametrize("number", range(4))
def test_structures_and_predictions(case, number):
    golden, X, y = case
    fit = golden["fits"][number]
    network = BayesNetClassifier(
        max_parents=fit["max_parents"],
        init=fit["init"],
        criterion=fit["score"],
        calibration=None,
        categories={"class": golden["columns"][-1]["categories"]},
    ).fit(X, y)
    names = [*X.columns, "class"]
    expected = {names[j]: [names[p] for p in parents] for j, parents in enumerate(fit["parents"])}
    assert network.parents_ == expected
    declared = golden["columns"][-1]["categories"]
    place = [network.classes_.tolist().index(label) for label in declared]
    found = network.predict_proba(X)[:, place]
    np.testing.assert_allclose(found[:5], fit["proba_first5"], rtol=0, atol=1e-9)
    assert [declared.index(label) for label in network.predict(X)] == fit["predictions"]
