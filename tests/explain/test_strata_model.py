"""Strata in full, from a fitted model to a map."""

import numpy as np
import pytest

from ensemblage.datasets import make_multi_source
from ensemblage.explain import explain_model
from ensemblage.pages import MapBlock, TextBlock
from ensemblage.strata import HISS, BootstrapStrata, StrataEnsembleClassifier


@pytest.fixture(scope="module")
def data():
    return make_multi_source(3, 240, 4, random_state=0)


def fitted(X, y, strata, **options):
    return StrataEnsembleClassifier(strata, random_state=0, **options).fit(X, y)


def test_the_document_is_the_row_if_one_is_named(data):
    X, y = data
    model = fitted(X, y, HISS(3, 0.4))
    assert explain_model(model).document.rows == "training"
    assert explain_model(model, X).document.rows == "given"
    explained = explain_model(model, X, row=3)
    assert explained.document.row == 3
    assert explained.text()[0].startswith("Row 3: predicted ")
    assert [section.title for section in explained.page().sections] == [
        "Row 3", "What the strata are", "Map", "Members",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("picture", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_the_map_is_a_picture(data, picture, start):
    pytest.importorskip("matplotlib")
    X, y = data
    model = fitted(X, y, HISS(3, 0.4))
    assert explain_model(model, X, y).draw(picture).startswith(start)


def test_a_map_without_rows_is_refused(data):
    X, y = data
    explained = explain_model(fitted(X, y, HISS(3, 0.4)))
    with pytest.raises(ValueError, match="needs rows to show: give `X`"):
        explained.draw()
    (hint,) = explained.page().sections[1].blocks
    assert hint == TextBlock(["A map needs rows to show: name a file after the model."])


def test_what_was_learned_by_hand(data):
    X, y = data
    model = fitted(X, y, HISS(2, 0.5), fusion="mean")
    model.stratifier_.memberships_ = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.6]])
    lines = list(type(explain_model(model)).learned(model, ()))
    assert lines == [
        "2 strata of 120 of the 4 rows",
        "a row is in 0 to 2 strata; 1 row is in none",
        "one scaled logistic regression per stratum, fused by mean",
    ]
    model.stratifier_.memberships_ = np.array([[1.0, 0.0], [0.0, 1.0]])
    lines = list(type(explain_model(model)).learned(model, ()))
    assert lines[1] == "every row is in one stratum"


def test_strata_without_places_say_so(data):
    X, y = data
    explained = explain_model(fitted(X, y, BootstrapStrata(2), fusion="vote"), X, y)
    (block,) = explained.page().sections[1].blocks
    assert isinstance(block, TextBlock)
    assert block.paragraphs[0].startswith("No row is closer to one stratum of BootstrapStrata")
    drawn = explain_model(fitted(X, y, HISS(3, 0.4)), X).page().sections[1].blocks[0]
    assert isinstance(drawn, MapBlock)
