import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ensemblage._core import NOTHING, TableBlock
from ensemblage.bayes import BayesNetClassifier, ProbabilityTable
from ensemblage.datasets import load_dataset
from ensemblage.inner import InnerBayesNetClassifier
from ensemblage.report import explain_model
from ensemblage.report._network import (
    NetworkDocument,
    _nodes_table,
    dependence_text,
    merge_ranges,
    network_figure,
    probability_table,
    range_labels,
)
from report.documents import total_of


def test_ranges_are_named_with_few_digits():
    assert range_labels([12.184999999999999, 12.78]) == ["≤ 12.185", "12.185 to 12.78", "> 12.78"]
    assert range_labels([]) == ["any"]
    assert range_labels([-1.0]) == ["≤ \N{MINUS SIGN}1", "> \N{MINUS SIGN}1"]


def test_ranges_that_differ_in_the_last_digits_stay_apart():
    cuts = [1000000.1, 1000000.2]
    assert range_labels(cuts) == ["≤ 1000000.1", "1000000.1 to 1000000.2", "> 1000000.2"]


def test_joined_by_hand():
    chances = np.array([[0.1, 0.4, 0.2, 0.3]])
    labels, joined = merge_ranges([1.0, 2.0, 3.0], chances, most=2)
    assert labels == ["≤ 2", "> 2"]
    np.testing.assert_allclose(joined, [[0.5, 0.5]])


@given(arrays(float, (3, 30), elements=st.floats(1e-6, 1.0)), st.integers(1, 12))
def test_joining_keeps_the_sum(weights, most):
    chances = weights / weights.sum(axis=1, keepdims=True)
    labels, joined = merge_ranges(np.arange(29.0), chances, most)
    np.testing.assert_allclose(joined.sum(axis=1), 1.0)
    assert len(labels) == joined.shape[1] <= most


def test_few_configurations_are_columns():
    wet = ProbabilityTable(["x0"], np.array([[0], [1]]), np.array([[0.9, 0.1], [0.2, 0.8]]))
    labels = {"x0": ["no", "yes"], "x1": ["dry", "wet"]}
    block = probability_table("x1", wet, labels, names={"x0": "rain", "x1": "grass"})
    assert block.caption == "grass given rain"
    assert [column.name for column in block.columns] == ["grass", "no", "yes"]
    assert [field.text for field in block.rows[1]] == ["wet", "0.100", "0.800"]
    assert block.folded


def test_many_configurations_are_rows_and_limited_in_number():
    given = np.array([[k % 2, k // 2] for k in range(80)])
    many = ProbabilityTable(["rain", "day"], given, np.full((80, 2), 0.5))
    labels = {"rain": ["no", "yes"], "day": [f"day {k}" for k in range(40)]}
    block = probability_table("many", many, labels | {"many": range_labels([0.5])}, [0.5])
    assert [column.name for column in block.columns] == ["rain", "day", "≤ 0.5", "> 0.5"]
    assert [field.text for field in block.rows[3]] == ["yes", "day 1", "0.500", "0.500"]
    assert len(block.rows) == 60
    assert block.legend == "20 more rows are not shown."


def test_many_ranges_are_merged():
    cuts = np.arange(20.0).tolist()
    table = ProbabilityTable([], np.zeros((1, 0), int), np.full((1, 21), 1 / 21))
    block = probability_table("x", table, {"x": range_labels(cuts)}, cuts)
    assert len(block.rows) == 8
    assert block.legend == "21 ranges are merged here."


def test_nodes_and_what_they_depend_on():
    table = _nodes_table(NetworkDocument({"class": [], "age": ["class"]}))
    assert [[field.text for field in row] for row in table.rows] == [
        ["class", NOTHING.text, "0"], ["age", "class", "1"],
    ]  # fmt: skip


def test_the_drawing_the_nodes_and_the_tables():
    X = np.array([[0.0], [1.0]] * 20)
    explained = explain_model(BayesNetClassifier().fit(X, X[:, 0] > 0), columns=["age"])
    assert explained.sentences == [
        "A network of 2 nodes and 1 arc.",
        "The only feature depends on the class directly.",
    ]
    assert [section.title for section in explained.sections] == [
        "Network",
        "Nodes",
        "Conditional probability tables",
    ]
    assert "age depends on class." in explained.sections[0].blocks[0].alt
    assert all(isinstance(each, TableBlock) for each in explained.sections[2].blocks)
    # the probability tables are for pages
    assert sum(isinstance(each, TableBlock) for each in explained.text()) == 1


@pytest.mark.parametrize(
    ("counts", "expected"),
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
def test_sentence_on_dependence_of_the_features(counts, expected):
    assert dependence_text(*counts) == expected


def test_long_lists_are_cut_short():
    names = [f"x{k}" for k in range(14)]
    many = NetworkDocument({"class": [], **{name: ["class"] for name in names}})
    assert network_figure(many, "class").alt.endswith("x11 depends on class; and 2 more.")
    assert not _nodes_table(many).folded
    assert _nodes_table(NetworkDocument({f"x{k}": [] for k in range(25)})).folded


@pytest.fixture(scope="module")
def iris():
    return load_dataset("iris")


def test_nodes_have_the_names_of_the_columns(iris):
    network = BayesNetClassifier().fit(iris.X, iris.y)
    explained = explain_model(network, columns=iris.feature_names)
    assert set(explained.document.parents) == {network.target_name_, *iris.feature_names}
    table = explained.sections[2].blocks[1]
    assert table.caption.startswith(iris.feature_names[0])


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
        assert total_of(story.decision) == pytest.approx(story.decision.value, abs=1e-9)


def test_imputed_values_are_mentioned(iris):
    network = BayesNetClassifier().fit(iris.X, iris.y)
    holed = iris.X[:1].astype(float)
    holed[0, 2] = np.nan
    decision = explain_model(network, holed, columns=iris.feature_names, row=0).document.decision
    assert decision.measure.endswith("missing values are imputed by the mode")
    assert {each.value for each in decision.contributions} >= {"missing"}


def test_parents_have_their_bootstrap_frequencies(iris):
    network = InnerBayesNetClassifier(3, random_state=0).fit(iris.X, iris.y)
    explained = explain_model(network, columns=iris.feature_names)
    shares = explained.document.confidence
    assert set(shares) == {network.target_name_, *iris.feature_names}
    node = iris.feature_names[0]
    assert shares[node][network.target_name_] == 1.0
    table = explained.text()[-1]
    assert table.rows[1][1].text.startswith(f"{network.target_name_} (100%)")
    figure = explained.sections[0].blocks[0]
    assert figure.confidence == shares
    assert "wider" in figure.caption
    plain = BayesNetClassifier().fit(iris.X, iris.y)
    assert explain_model(plain).document.confidence is None
