"""Networks, of made-up facts and of a real one."""

import numpy as np
import pytest

from ensemblage.bayes import BayesNetClassifier
from ensemblage.datasets import load_dataset
from ensemblage.explain import explain_model
from ensemblage.explain._network_model import NetworkExplanation, NetworkFacts, _how_many_depend
from ensemblage.explain._probability_tables import NodeTable
from ensemblage.inner import InnerBayesNetClassifier
from ensemblage.pages import NOTHING, TableBlock

TABLES = {"class": NodeTable(["a", "b"], None, [], np.zeros((1, 0), int), np.full((1, 2), 0.5))}
SMALL = NetworkExplanation(NetworkFacts({"class": [], "age": ["class"]}, "class", TABLES))


def test_a_small_network_in_words():
    said, table = SMALL.text()
    assert said == "A network of 2 nodes."
    assert [[field.text for field in row] for row in table.rows] == [
        ["class", NOTHING.text], ["age", "class"],
    ]  # fmt: skip


def test_a_page_has_the_drawing_the_nodes_and_the_tables():
    page = SMALL.page()
    assert page.summary == [
        "A network of 2 nodes and 1 arrow.",
        "The only feature depends on the class directly.",
    ]
    assert page.complete
    assert [section.title for section in page.sections] == ["Network", "Nodes", "Tables"]
    assert "age depends on class." in page.sections[0].blocks[0].alt
    assert isinstance(page.sections[2].blocks[0], TableBlock)


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ((7, 7, 0), "All 7 features depend on the class directly."),
        (
            (6, 6, 1),
            "All 6 features depend on the class directly; 1 depends on further features too.",
        ),
        (
            (6, 1, 2),
            "1 of the 6 features depends on the class directly; 2 depend on further features too.",
        ),
        ((3, 0, 0), "No feature depends on the class directly."),
        ((1, 0, 0), "The only feature does not depend on the class directly."),
    ],
)
def test_how_many_features_depend_in_plain_words(numbers, said):
    assert _how_many_depend(*numbers) == said


def test_long_lists_are_cut_short():
    names = [f"x{k}" for k in range(14)]
    parents = {"class": [], **{name: ["class"] for name in names}}
    many = NetworkExplanation(NetworkFacts(parents, "class", {}))
    assert many.page().sections[0].blocks[0].alt.endswith("x11 depends on class; and 2 more.")
    assert not many.page().sections[1].blocks[0].folded
    wide = NetworkFacts({f"x{k}": [] for k in range(25)}, "x0", {})
    assert NetworkExplanation(wide).page().sections[1].blocks[0].folded


@pytest.fixture(scope="module")
def iris():
    return load_dataset("iris")


def test_a_fitted_network_speaks_in_the_columns_names(iris):
    network = BayesNetClassifier().fit(iris.X, iris.y)
    explained = explain_model(network, columns=iris.feature_names)
    assert set(explained.document.parents) == {network.target_name_, *iris.feature_names}
    table = explained.facts.tables[iris.feature_names[0]]
    assert table.probabilities.shape == (len(table.given), len(table.states))
    np.testing.assert_allclose(table.probabilities.sum(axis=1), 1)
    assert next(explained.learned(network, ())).startswith("a network of 5 nodes and ")


def test_tables_add_up_to_the_log_odds(iris):
    two = iris.y != "setosa"
    X, y = iris.X[two], iris.y[two]
    network = BayesNetClassifier().fit(X, y)
    for row in (0, 60):
        story = explain_model(network, X, columns=iris.feature_names, row=row).document
        logs = dict(
            zip(network.classes_, network.predict_log_proba(X[row : row + 1])[0], strict=True)
        )
        own = logs.pop(story.prediction)
        (other,) = logs.values()
        assert story.decision.value == pytest.approx(own - other, abs=1e-9)
        total = story.decision.base + sum(each.amount for each in story.decision.contributions)
        assert total == pytest.approx(story.decision.value, abs=1e-9)


def test_gaps_are_said_to_be_filled(iris):
    network = BayesNetClassifier().fit(iris.X, iris.y)
    holed = iris.X[:1].astype(float)
    holed[0, 2] = np.nan
    decision = explain_model(network, holed, columns=iris.feature_names, row=0).document.decision
    assert decision.measure.endswith("gaps are filled with the most frequent value here")
    assert {each.value for each in decision.contributions} >= {"missing"}


def test_the_share_of_a_crowd_is_told_with_each_arc(iris):
    network = InnerBayesNetClassifier(3, random_state=0).fit(iris.X, iris.y)
    explained = explain_model(network, columns=iris.feature_names)
    shares = explained.document.confidence
    assert set(shares) == {network.target_name_, *iris.feature_names}
    node = iris.feature_names[0]
    assert shares[node][network.target_name_] == 1.0
    _, table = explained.text()
    assert table.rows[1][1].text.startswith(f"{network.target_name_} (100%)")
    figure = explained.page().sections[0].blocks[0]
    assert figure.confidence == shares
    assert "wider" in figure.caption
    assert SMALL.document.confidence is None
