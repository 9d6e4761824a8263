"""Every kind of model gives the same five things, and one place finds the kind."""

import json
import subprocess
import sys

import msgspec
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ensemblage.datasets import load_dataset
from ensemblage.explain import explain_model, kind_of
from ensemblage.explain._kinds import KINDS
from ensemblage.pages import Section, TableBlock
from ensemblage.persistence import save
from ensemblage.report import explanation_page, render

METHODS = {"strata": "members", "bayesnet": "parents", "subspace": "features"}


@pytest.fixture(scope="module", params=METHODS)
def fitted(request, quick_model):
    return request.param, quick_model(request.param), load_dataset("iris")


def test_all_five_are_there(fitted):
    pytest.importorskip("matplotlib")
    method, model, iris = fitted
    explained = explain_model(model, iris.X, iris.y, columns=iris.feature_names)
    document = json.loads(msgspec.json.encode(explained.document))
    assert METHODS[method] in document
    assert explained.facts
    parts = explained.text()
    assert {type(part) for part in parts} == {str, TableBlock}
    page = explained.page()
    assert page.summary
    assert all(isinstance(section, Section) and section.blocks for section in page.sections)
    assert explained.draw("svg").startswith(b"<?xml")
    assert explained.draw("pdf").startswith(b"%PDF")
    assert "<svg" in render(explanation_page(explained, name="m"))


def test_a_model_is_of_one_kind(fitted):
    _, model, _ = fitted
    assert sum(kind.explains(model[-1]) for kind in KINDS) == 1
    # a pipeline in a pipeline hides nothing
    assert kind_of(make_pipeline(model)) is kind_of(model)


def test_what_cannot_be_explained_is_told_what_can():
    model = make_pipeline(StandardScaler(), LogisticRegression())
    said = "This is a LogisticRegression; only models with strata, a Bayesian network or features"
    with pytest.raises(ValueError, match=said):
        explain_model(model)


def explain(*arguments):
    command = [sys.executable, "-m", "ensemblage.cli", "explain", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True)


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
    assert set(facts) == ({"parents"} if method == "bayesnet" else {"features", "co_selection"})
