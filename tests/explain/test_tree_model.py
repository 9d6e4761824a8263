import numpy as np
import pytest
from sklearn.datasets import load_iris

from ensemblage.datasets import load_dataset
from ensemblage.explain import explain_model
from ensemblage.inner import InnerTreeClassifier
from ensemblage.methods import make_model
from ensemblage.pages import TableBlock, TreeBlock

NAMES = ["sepal length", "sepal width", "petal length", "petal width"]


@pytest.fixture(scope="module")
def model():
    X, y = load_iris(return_X_y=True)
    return InnerTreeClassifier(max_leaves=4, random_state=0).fit(X, y)


def test_a_tree_in_the_names_of_the_file(model):
    told = explain_model(model, columns=NAMES)
    lines = told.text()
    assert lines[0].startswith("petal ")
    assert len(lines) == len(model.tree_.left)
    document = told.document
    assert document.nodes[0].column in NAMES
    assert document.nodes[0].low <= document.nodes[0].threshold <= document.nodes[0].high
    assert document.nodes[document.nodes[0].yes].rows > 0
    learned = list(type(told).learned(model, NAMES))
    assert learned[0].startswith("a tree of ")
    assert "petal" in learned[1]


def test_the_page_shows_the_drawing(model):
    page = explain_model(model, columns=NAMES).page()
    (block,) = page.sections[0].blocks
    assert isinstance(block, TreeBlock)
    assert len(block.nodes) == len(model.tree_.left)
    assert "petal" in block.alt
    assert page.summary[0].startswith("A tree of ")


def test_a_rows_way_adds_up(model):
    X, _ = load_iris(return_X_y=True)
    told = explain_model(model, X, columns=NAMES, row=100)
    decision = told.document.decision
    total = decision.base + sum(each.amount for each in decision.contributions)
    assert total == pytest.approx(decision.value)
    assert decision.value == pytest.approx(model.predict_proba(X[100:101]).max())
    title, way, legend = told.text()[-3:]
    assert title == "The row's way through the tree:"
    assert isinstance(way, TableBlock)
    assert legend == way.legend
    assert way.rows[0][0].text.startswith("petal")
    assert [section.title for section in told.page().sections] == ["Row 100", "Its way", "Tree"]


def test_words_are_traced_back_to_their_columns():
    data = load_dataset("iris")
    colour = np.where(np.arange(len(data.y)) % 2, "red", "blue").astype(object)
    X = np.column_stack([data.X.astype(object), colour])
    model = make_model("tree", data.columns, 0).fit(X, data.y)
    told = explain_model(model, X, columns=[*NAMES, "colour"], row=0)
    contributions = {each.column: each for each in told.document.decision.contributions}
    assert set(contributions) == {*NAMES, "colour"}
    assert contributions["colour"].value == "blue"


def test_the_drawing_is_a_picture(model):
    assert explain_model(model, columns=NAMES).draw("svg").startswith(b"<?xml")


def test_a_category_is_asked_for_in_words():
    X = np.array([["Cairo", 1.0], ["Lima", 1.0], ["Oslo", 1.0]] * 20, dtype=object)
    y = ["hot", "mild", "cold"] * 20
    model = InnerTreeClassifier(random_state=0).fit(X, y)
    told = explain_model(model, X, columns=["town", "v"], row=0)
    splits = [line.partition("   [")[0] for line in explain_model(model, X).text()]
    assert all("<=" not in each for each in splits)
    way = told.text()[-2]
    asked = [(row[0].text, row[1].text, row[3].text) for row in way.rows]
    assert ("town = Cairo", "yes", "100.0%") in asked
