import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from bayes.networks import table
from ensemblage.bayes import NETWORK_DOCS, BayesNetClassifier, BayesNetwork
from ensemblage.inner import InnerBayesNetClassifier


def test_both_networks_document_all_parameters():
    entries = re.split(r"\n(?=\S)", NETWORK_DOCS.strip())
    for entry in entries:
        name = entry.partition(" :")[0]
        for network in (BayesNetClassifier, InnerBayesNetClassifier):
            assert f"    {name} :" in network.__doc__


def test_parents_children_and_markov_blanket(sprinkler):
    assert sprinkler.edges == [("rain", "sprinkler"), ("sprinkler", "wet"), ("rain", "wet")]
    assert sprinkler.children("rain") == ["sprinkler", "wet"]
    assert sprinkler.markov_blanket("sprinkler") == ["rain", "wet"]
    assert sprinkler.markov_blanket("moss") == []
    assert repr(sprinkler) == "BayesNetwork(4 nodes, 3 edges)"
    with pytest.raises(ValueError, match="node must be one of"):
        sprinkler.table("snow")


def test_a_configuration_that_is_not_listed_is_uniform(sprinkler):
    np.testing.assert_array_equal(sprinkler.table("wet")[0], [[1, 0], [0.5, 0.5]])


def test_samples_follow_the_tables(sprinkler):
    drawn = sprinkler.sample(20_000, random_state=0)
    rain = drawn["rain"] == 1
    assert rain.mean() == pytest.approx(0.2, abs=0.01)
    assert (drawn["sprinkler"][~rain] == 1).mean() == pytest.approx(0.4, abs=0.01)
    both = rain & (drawn["sprinkler"] == 1)
    assert (drawn["wet"][both] == 1).all()


def test_a_cycle_is_named():
    tables = {"a": table(["b"], [[0]], [[1.0]]), "b": table(["a"], [[0]], [[1.0]])}
    with pytest.raises(ValueError, match=r"\['a', 'b'\] form a cycle"):
        BayesNetwork({"a": ["x"], "b": ["x"]}, tables).sample()


def test_dot_quotes_names_and_marks_the_class(iris):
    text = iris.to_dot()
    assert '"target" [peripheries=2];' in text
    assert '"target" -> "petal width (cm)";' in text
    odd = BayesNetwork({'say "hi"': ["a"]}, {'say "hi"': table([], [[]], [[1.0]])})
    assert r'"say \"hi\"";' in odd.to_dot()
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tsvg"], input=text, text=True, check=True, capture_output=True)


def test_networkx_gets_the_graph(iris):
    networkx = pytest.importorskip("networkx")
    graph = iris.to_networkx()
    assert networkx.is_directed_acyclic_graph(graph)
    assert set(graph.predecessors("sepal width (cm)")) == {"target", "sepal length (cm)"}
    assert graph.nodes["target"]["states"] == ["0", "1", "2"]


def test_an_error_without_networkx_names_the_remedy(iris, monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ImportError, match="to_networkx needs networkx"):
        iris.to_networkx()
