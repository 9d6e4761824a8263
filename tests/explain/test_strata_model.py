"""Strata in full, from a fitted model to a map."""

import numpy as np
import pytest

from ensemblage.datasets import make_multi_source, make_multi_source_regression
from ensemblage.explain import explain_model
from ensemblage.pages import Column, MapBlock, TextBlock
from ensemblage.strata import (
    HISS,
    BootstrapStrata,
    StrataEnsembleClassifier,
    StrataEnsembleRegressor,
)


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


NUMBER_FUSIONS = ["gate", "logpool", "mean"]


@pytest.fixture(scope="module")
def numbers():
    return make_multi_source_regression(3, 240, 4, random_state=0)


@pytest.mark.parametrize("fusion", NUMBER_FUSIONS)
def test_columns_add_up_to_a_number(numbers, fusion):
    X, y = numbers
    model = StrataEnsembleRegressor(HISS(3, 0.4), fusion=fusion, random_state=0).fit(X, y)
    story = explain_model(model, X, y, row=3).document
    mean, std = model.predict(X[3:4], return_std=True)
    assert story.decision.value == pytest.approx(mean[0])
    moved = story.decision.base + sum(each.amount for each in story.decision.contributions)
    assert moved == pytest.approx(mean[0])
    assert story.spread == pytest.approx(std[0])
    assert (story.classes, story.scores) == ([], [])
    spreads = [each["spread"] for each in model.member_report_]
    assert [each.outputs[1] for each in story.members] == pytest.approx(spreads)


def test_strata_of_numbers_are_told_in_full(numbers):
    X, y = numbers
    model = StrataEnsembleRegressor(HISS(3, 0.4), random_state=0).fit(X, y)
    explained = explain_model(model, X, y)
    assert [each.score for each in explained.facts.members] == [
        each["score"] for each in model.member_report_
    ]
    described = explained.facts.described
    assert (described.error, described.of_classes) == (model.held_out_error_, False)
    texts = [each for each in explained.text() if isinstance(each, str)]
    assert any("root of the mean squared error" in text for text in texts)
    (drawn,) = explained.page().sections[1].blocks
    assert isinstance(drawn, MapBlock)
    assert drawn.groups == []
    told = explain_model(model, X, row=3)
    assert told.text()[1].columns[-2:] == [
        Column("number", numeric=True), Column("spread", numeric=True)
    ]  # fmt: skip
    sentence = told.page().sections[0].blocks[0].paragraphs[0]
    assert sentence.startswith(f"Predicted: {told.document.prediction}. Its standard deviation: ")


def test_stacked_numbers_do_not_add_up(numbers):
    X, y = numbers
    model = StrataEnsembleRegressor(HISS(3, 0.4), fusion="stacking", random_state=0).fit(X, y)
    assert explain_model(model, X, row=0).document.decision is None


def test_strata_with_one_value_have_constant_members(numbers):
    X, y = numbers
    y = np.where(X[:, 0] > np.quantile(X[:, 0], 0.3), 5.0, y)
    with pytest.warns(UserWarning, match="one value of the target only"):
        model = StrataEnsembleRegressor(HISS(4, 0.2), random_state=0).fit(X, y)
    lines = list(type(explain_model(model)).learned(model, ()))
    constant = len(model.constant_strata_)
    assert lines[-1] == f"{constant} of 4 strata hold one value only"
    assert "one value only" in explain_model(model).page().summary[1]
