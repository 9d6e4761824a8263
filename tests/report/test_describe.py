import json

import msgspec
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

from ensemblage._core import TableBlock, final_step
from ensemblage.cli import app
from ensemblage.datasets import load_dataset
from ensemblage.persistence import save
from ensemblage.report import explain_model, render, training_summary
from ensemblage.report._describe import KINDS, hardest_strata, kind_of
from ensemblage.strata import StrataDescription, StratumDescription

METHODS = {
    "strata": "members",
    "bayesnet": "parents",
    "subspace": "co_selection",
    "logistic": "coefficients",
    "forest": "importance",
}


DRAWN = {"strata", "bayesnet", "subspace"}


@pytest.fixture(scope="module", params=METHODS)
def fitted(request, quick_model):
    return request.param, quick_model(request.param), load_dataset("iris")


def test_document_text_sections_and_drawing(fitted):
    pytest.importorskip("matplotlib")
    method, model, iris = fitted
    explained = explain_model(model, iris.X, iris.y, columns=iris.feature_names)
    document = json.loads(msgspec.json.encode(explained.document))
    assert METHODS[method] in document
    assert explained.sentences
    assert {type(part) for part in explained.text()} == {str, TableBlock}
    assert all(section.blocks for section in explained.sections)
    if method in DRAWN:
        assert explained.draw("svg").startswith(b"<?xml")
        assert explained.draw("pdf").startswith(b"%PDF")
    else:
        with pytest.raises(
            ValueError, match=r"no drawing of (their|its) own: write a report \(.html\)"
        ):
            explained.draw()
    page_text = render(explained, name="m")
    # coefficients of three classes are a table only
    assert ("<svg" in page_text) == (method != "logistic")


def test_a_model_is_of_one_kind(fitted):
    _, model, _ = fitted
    # the last kind takes whatever is left
    assert sum(kind.matches(final_step(model)) for kind in KINDS[:-1]) <= 1
    # a pipeline in a pipeline hides nothing
    assert kind_of(make_pipeline(model)) is kind_of(model)


def test_what_predicts_nothing_is_refused():
    model = make_pipeline(StandardScaler(), PCA())
    with pytest.raises(ValueError, match="PCA cannot be explained: it is neither a classifier nor"):
        explain_model(model)


@pytest.mark.parametrize("method", ["strata", "bayesnet", "subspace", "logistic"])
@pytest.mark.parametrize("row", [0, 140])
def test_a_row_is_explained_by_columns_that_add_up(quick_model, method, row):
    iris = load_dataset("iris")
    model = quick_model(method)
    explained = explain_model(model, iris.X, columns=iris.feature_names, row=row)
    story = explained.document
    assert story.prediction == str(model.predict(iris.X[row : row + 1])[0])
    decision = story.decision
    assert {each.column for each in decision.contributions} == set(iris.feature_names)
    total = decision.baseline + sum(each.contribution for each in decision.contributions)
    assert total == pytest.approx(decision.value, abs=1e-9)
    assert f"Row {row}" in explained.text()[0]
    assert explained.row_sections[0].title == f"Row {row}"


def explain(*arguments):
    done = CliRunner().invoke(app, ["explain", *map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done


@pytest.mark.parametrize("method", ["bayesnet", "subspace"])
def test_the_command_shows_and_draws_it(method, quick_model, tmp_path):
    pytest.importorskip("matplotlib")
    model, iris = quick_model(method), load_dataset("iris")
    path, picture = tmp_path / "model.skops", tmp_path / "picture.png"
    save(model, path, columns=iris.feature_names, kinds=iris.kinds, target=iris.target)
    shown = explain(path, "-o", picture).stdout
    assert all(column in shown for column in iris.feature_names)
    assert picture.read_bytes().startswith(b"\x89PNG")
    facts = json.loads(explain(path, "--json").stdout)
    assert set(facts) == (
        {"parents", "confidence"} if method == "bayesnet" else {"features", "co_selection"}
    )


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("logistic", "hyperparameters chosen by cross-validation: C = "),
        ("forest", " trees, "),
        ("boosting", " boosting rounds"),
        ("strata", " strata with "),
        ("bayesnet", "a network of 5 nodes and "),
        ("subspace", " members on "),
    ],
)
def test_columns_first_then_what_the_method_found(quick_model, method, expected):
    first, *lines = training_summary(quick_model(method))
    assert first == "4 columns, encoded as 4 features"
    assert any(expected in line for line in lines)


def test_columns_have_their_own_names(quick_model):
    iris = load_dataset("iris")
    model = quick_model("bayesnet")
    lines = training_summary(model, iris.feature_names)
    shown = [line for line in lines if " depends on " in line]
    assert shown
    assert all(line.startswith(("sepal", "petal")) for line in shown)


def test_strata_of_the_highest_error_are_named():
    easy = StratumDescription(0, "age low (20)", 0.5, 0.1, ())
    hard = StratumDescription(1, "age high (61)", 0.5, 0.3, ())
    described = StrataDescription((easy, hard), 10, 0.2, "training")
    assert list(hardest_strata(described)) == [
        "highest error: age high (61) (30.0% on training rows, all rows 20.0%)"
    ]
