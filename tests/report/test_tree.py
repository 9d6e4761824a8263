import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from ensemblage._core import TableBlock
from ensemblage.datasets import load_dataset
from ensemblage.inner import InnerTreeClassifier, InnerTreeRegressor
from ensemblage.report import explain_model, training_summary
from ensemblage.report._blocks import TreeBlock
from ensemblage.studies import make_model
from report.documents import total_of

NAMES = ["sepal length", "sepal width", "petal length", "petal width"]


@pytest.fixture(scope="module")
def model():
    X, y = load_iris(return_X_y=True)
    return InnerTreeClassifier(max_leaf_nodes=4, random_state=0).fit(X, y)


def test_a_tree_in_the_names_of_the_file(model):
    explained = explain_model(model, columns=NAMES)
    lines = explained.text()[2:]
    assert lines[0].startswith("petal ")
    assert len(lines) == len(model.tree_.left)
    document = explained.document
    assert document.nodes[0].column in NAMES
    root = document.nodes[0]
    assert root.threshold_min <= root.threshold <= root.threshold_max
    assert document.nodes[root.left].rows > 0
    as_it_is = FunctionTransformer(feature_names_out="one-to-one").fit(np.zeros((1, 4)))
    learned = training_summary(make_pipeline(as_it_is, model), NAMES)
    assert learned[1].startswith("a tree with ")
    assert "petal" in learned[2]


def test_the_page_shows_the_drawing(model):
    explained = explain_model(model, columns=NAMES)
    (block,) = explained.sections[0].blocks
    assert isinstance(block, TreeBlock)
    assert len(block.nodes) == len(model.tree_.left)
    assert "petal" in block.alt
    assert explained.sentences[0].startswith("A tree with ")


def test_a_rows_path_adds_up(model):
    X, _ = load_iris(return_X_y=True)
    explained = explain_model(model, X, columns=NAMES, row=100)
    decision = explained.document.decision
    assert total_of(decision) == pytest.approx(decision.value)
    assert decision.value == pytest.approx(model.predict_proba(X[100:101]).max())
    title, path, legend = explained.text()[-3:]
    assert title == "Splits on the decision path"
    assert isinstance(path, TableBlock)
    assert legend == path.legend
    assert path.rows[0][0].text.startswith("petal")
    assert [section.title for section in explained.row_sections] == ["Row 100", "Decision path"]


def test_categories_are_traced_back_to_their_columns():
    data = load_dataset("iris")
    colour = np.where(np.arange(len(data.y)) % 2, "red", "blue").astype(object)
    X = np.column_stack([data.X.astype(object), colour])
    model = make_model("tree", data.columns, 0).fit(X, data.y)
    explained = explain_model(model, X, columns=[*NAMES, "colour"], row=0)
    contributions = {each.column: each for each in explained.document.decision.contributions}
    assert set(contributions) == {*NAMES, "colour"}
    assert contributions["colour"].value == "blue"


def test_the_drawing_is_a_picture(model):
    assert explain_model(model, columns=NAMES).draw("svg").startswith(b"<?xml")


@pytest.fixture(scope="module")
def categories():
    """A table in which a word decides, a column that is known or missing, and a tree on it."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"thal": rng.choice(["fixed", "normal"], 60), "age": rng.normal(size=60)})
    table.loc[::2, "age"] = np.nan
    y = np.where(table["thal"] == "normal", "well", np.where(table["age"].isna(), "ill", "dead"))
    return table, y, InnerTreeClassifier(max_leaf_nodes=3, random_state=0).fit(table, y)


def test_a_category_is_asked_for_on_every_page(categories):
    table, y, tree = categories
    explained = explain_model(tree, table, y, row=0)
    assert tree.to_text().splitlines()[0].startswith("thal is ")
    assert explain_model(tree).text()[2] == tree.to_text().splitlines()[0]
    assert explain_model(tree).sections[0].blocks[0].nodes[0].title[1].startswith(" is ")
    way = explained.text()[-2].rows
    questions = [row[0].text for row in way]
    assert questions[0].startswith("thal is ")
    assert way[0][1].text in {"yes", "no"}
    assert way[0][3].text == ("100.0%" if way[0][1].text == "yes" else "0.0%")


def test_a_split_on_missing_values_alone_reads_as_such(categories):
    table, y, tree = categories
    row = int(np.flatnonzero(table["thal"] == "fixed")[0])
    way = explain_model(tree, table, y, row=row).text()[-2].rows
    assert [each[0].text for each in way if each[0].text.startswith("age")] == ["age is known"]


def test_a_regression_tree_is_described_and_adds_up():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = InnerTreeRegressor(max_leaf_nodes=5, random_state=0).fit(X, y)
    of_model = explain_model(model)
    assert of_model.document.classes == []
    assert of_model.text()[2] == model.to_text().splitlines()[0]
    assert of_model.sections[0].title == "Tree"
    explained = explain_model(model, X, row=7)
    decision = explained.document.decision
    assert total_of(decision) == pytest.approx(decision.value)
    assert decision.value == pytest.approx(model.predict(X[7:8])[0])
    assert explained.text()[0] == f"Row 7: predicted {decision.value:.6g}."
    assert explained.text()[-2].columns[-1].name == "contribution"
