"""The page of a model, of made-up facts; the commands' tests have real ones."""

import pytest

from ensemblage.explain import ModelPage
from ensemblage.pages import Section, TextBlock
from ensemblage.report import explanation_page


class Explained:
    """A kind of model that nobody knows."""

    def __init__(self, *, complete=False):
        self.shown = ModelPage(
            ["It is new."], [("parts", "3")], [Section("Parts", [TextBlock(["Three."])])], complete
        )

    def page(self):
        return self.shown


def test_a_page_of_any_kind_with_what_was_noted_in_training():
    details = {"dataset": "people.csv", "n_rows": 1200, "accuracy": 0.9, "accuracy_se": 0.01,
               "learned": ["4 columns", "5 strata"], "method": "new"}  # fmt: skip
    page = explanation_page(Explained(), name="m.skops", details=details)
    assert page.title == "What m.skops learned"
    assert page.summary == [
        "It is new.", "When it was trained, its cross-validated accuracy was 0.9000 ± 0.0100.",
    ]  # fmt: skip
    assert page.facts.facts == [("parts", "3"), ("trained on", "people.csv"), ("rows", "1,200")]
    assert [section.title for section in page.sections] == ["Parts", "Noted in training"]
    assert page.sections[1].blocks[0].paragraphs == ["4 columns.", "5 strata."]


def test_what_the_page_says_itself_is_not_said_again():
    page = explanation_page(Explained(complete=True), name="m", details={"learned": ["x0"]})
    assert [section.title for section in page.sections] == ["Parts"]


@pytest.mark.parametrize("details", [None, {}, {"accuracy": None, "accuracy_se": None}])
def test_without_notes_of_the_training(details):
    page = explanation_page(Explained(), name="m", details=details)
    assert page.summary == ["It is new."]
    assert page.facts.facts == [("parts", "3")]
