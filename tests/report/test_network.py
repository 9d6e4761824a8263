import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ensemblage._core import NOTHING, TableBlock
from ensemblage.bayes import BayesNetClassifier
from ensemblage.datasets import load_dataset
from ensemblage.inner import InnerBayesNetClassifier
from ensemblage.report import explain_model
from ensemblage.report._network import (
    NetworkExplanation,
    NetworkFacts,
    NodeTable,
    _how_many_depend,
    join_ranges,
    probability_tables,
    range_labels,
)


def table(states, given, probabilities, *, cuts=None, parents=()):
    return NodeTable(states, cuts, parents, np.array(given), np.array(probabilities))


CLASS = table(["no", "yes"], [[]], [[0.25, 0.75]])


def test_ranges_are_named_with_few_digits():
    assert range_labels([12.184999999999999, 12.78]) == ["≤ 12.185", "12.185 to 12.78", "> 12.78"]
    assert range_labels([]) == ["any"]
    assert range_labels([-1.0]) == ["≤ \N{MINUS SIGN}1", "> \N{MINUS SIGN}1"]


def test_ranges_that_differ_in_the_last_digits_stay_apart():
    cuts = [1000000.1, 1000000.2]
    assert range_labels(cuts) == ["≤ 1000000.1", "1000000.1 to 1000000.2", "> 1000000.2"]


def test_joined_by_hand():
    chances = np.array([[0.1, 0.4, 0.2, 0.3]])
    labels, joined = join_ranges([1.0, 2.0, 3.0], chances, most=2)
    assert labels == ["≤ 2", "> 2"]
    np.testing.assert_allclose(joined, [[0.5, 0.5]])


@given(arrays(float, (3, 30), elements=st.floats(1e-6, 1.0)), st.integers(1, 12))
def test_joining_keeps_the_sum(weights, most):
    chances = weights / weights.sum(axis=1, keepdims=True)
    labels, joined = join_ranges(np.arange(29.0), chances, most)
    np.testing.assert_allclose(joined.sum(axis=1), 1.0)
    assert len(labels) == joined.shape[1] <= most


def test_few_configurations_stand_side_by_side():
    wet = table(["dry", "wet"], [[0], [1]], [[0.9, 0.1], [0.2, 0.8]], parents=["rain"])
    _, block = probability_tables({"rain": CLASS, "wet": wet})
    assert block.caption == "wet given rain"
    assert [column.name for column in block.columns] == ["wet", "no", "yes"]
    assert [field.text for field in block.rows[1]] == ["wet", "0.100", "0.800"]
    assert block.folded


def test_many_configurations_stand_below_each_other_and_are_cut_short():
    given = [[k % 2, k // 2] for k in range(80)]
    many = table(["low", "high"], given, [[0.5, 0.5]] * 80, cuts=[0.5], parents=["rain", "day"])
    day = table([f"day {k}" for k in range(40)], [[]], [[1 / 40] * 40])
    block = probability_tables({"rain": CLASS, "day": day, "many": many})[2]
    assert [column.name for column in block.columns] == ["rain", "day", "≤ 0.5", "> 0.5"]
    assert [field.text for field in block.rows[3]] == ["yes", "day 1", "0.500", "0.500"]
    assert len(block.rows) == 60
    assert block.legend == "20 more rows are not shown."


def test_many_ranges_are_joined():
    cuts = np.arange(20.0).tolist()
    ranges = table([str(k) for k in range(21)], [[]], [[1 / 21] * 21], cuts=cuts)
    (block,) = probability_tables({"x": ranges})
    assert len(block.rows) == 8
    assert block.legend == "21 ranges are joined here."


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
