import copy
from dataclasses import replace

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from ensemblage.messages import DamagedStateError
from ensemblage.persistence import load, save
from ensemblage.pool import EnsemblageClassifier


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, 3)) + y[:, None]
    return EnsemblageClassifier(["logistic", GaussianNB()], cv=2, random_state=0).fit(X, y)


def test_what_was_fitted_is_sound(fitted):
    assert fitted.__check_state__() is None


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("estimators_", [], "no members"),
        ("member_names_", ["one"], "member_names_ has another length"),
        ("responses_", ["fit", "fit"], "responses_ are not known"),
        ("views_", ["numbers", "secrets"], "views_ are not known"),
        ("classes_", np.arange(3), "fusion_ is of another pool"),
    ],
)
def test_forged_attributes_are_refused(fitted, name, value, told):
    forged = copy.copy(fitted)
    setattr(forged, name, value)
    with pytest.raises(DamagedStateError, match=told):
        forged.__check_state__()


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("y", np.full(60, 9), "y"),
        ("outputs", np.zeros((2, 60, 5), np.float32), "outputs"),
        ("pooled", np.full((60, 2), np.nan), "pooled"),
        ("places", (), "places has another length"),
        ("weights", np.ones(3), "weights"),
    ],
)
def test_a_forged_record_is_refused(fitted, field, value, told):
    forged = copy.copy(fitted)
    forged.held_out_ = replace(fitted.held_out_, **{field: value})
    with pytest.raises(DamagedStateError, match=told):
        forged.__check_state__()


def test_a_forged_file_is_refused(fitted, tmp_path):
    forged = copy.copy(fitted)
    forged.fusion_ = copy.copy(fitted.fusion_)
    forged.fusion_.weights_ = np.full(2, np.nan)
    path = tmp_path / "pool.skops"
    what = {"columns": list("abc"), "kinds": ["number"] * 3, "target": "class", "details": {}}
    save(forged, path, **what)
    with pytest.raises(ValueError, match="forged or damaged LogPool"):
        load(path)
