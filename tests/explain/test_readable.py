import json
import subprocess
import sys

import pytest

from ensemblage.datasets import load_dataset
from ensemblage.explain import model_kind, named_co_selection, named_parents
from ensemblage.explain._readable import column_name
from ensemblage.methods import train
from ensemblage.persistence import save

COLUMNS = ("age", "job")


def test_features_are_named_after_their_columns():
    assert column_name("x1", COLUMNS) == "job"
    assert column_name("numbers__x0", COLUMNS) == "age"
    assert column_name("words__x1_cook", COLUMNS) == "job = cook"
    assert column_name("numbers__missingindicator_x0", COLUMNS) == "age missing"
    assert column_name("class", COLUMNS) == "class"
    assert column_name("x7", COLUMNS) == "x7"


@pytest.fixture(scope="module", params=["bayesnet", "subspace"])
def saved(request, tmp_path_factory):
    iris = load_dataset("iris")
    trained = train(iris, request.param, n_splits=2)
    path = tmp_path_factory.mktemp("models") / f"{request.param}.skops"
    save(trained.model, path, columns=iris.feature_names, kinds=iris.kinds, target=iris.target)
    return request.param, trained.model, iris.feature_names, path


def test_a_model_is_read_in_the_columns_names(saved):
    method, model, columns, _ = saved
    if method == "bayesnet":
        assert model_kind(model) == "network"
        assert set(columns) <= set(named_parents(model, columns))
    else:
        assert model_kind(model) == "subspace"
        names, matrix = named_co_selection(model, columns)
        assert sorted(names) == sorted(columns)
        assert matrix.shape == (4, 4)


def explain(*arguments):
    command = [sys.executable, "-m", "ensemblage.cli", "explain", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True)


def test_the_command_shows_and_draws_it(saved, tmp_path):
    pytest.importorskip("matplotlib")
    method, _, columns, path = saved
    picture = tmp_path / "picture.png"
    shown = explain(path, "-o", picture).stdout
    assert all(column in shown for column in columns)
    assert picture.read_bytes().startswith(b"\x89PNG")
    facts = json.loads(explain(path, "--json").stdout)
    assert set(facts) == ({"parents"} if method == "bayesnet" else {"features", "co_selection"})
