import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from ensemblage.evaluation import source_audit
from ensemblage.tables import TableEncoder


@pytest.fixture
def no_forest(monkeypatch):
    """Do without telling sources from columns, which takes most of the time."""
    monkeypatch.setattr("ensemblage.evaluation._source_audit._recognised", lambda *_: 0.5)


def sites(n_sources=5, n_rows=120, inverted=None, seed=0):
    rng = np.random.default_rng(seed)
    sources = np.repeat([f"site {s}" for s in range(n_sources)], n_rows)
    X = rng.normal(size=(len(sources), 3))
    X[:, 2] += 3 * (sources == "site 1")
    y = (2 * X[:, 0] + rng.logistic(size=len(X)) > 0).astype(int)
    if inverted is not None:
        y = np.where(sources == inverted, 1 - y, y)
    return X, y, sources


def audited(*rows, **options):
    return source_audit(LogisticRegression(), *rows, random_state=0, **options)


def test_sources_alike_promise_the_same():
    found = audited(*sites())
    assert found.new_error == pytest.approx(found.error, abs=0.03)
    assert found.suspects == ()
    assert found.error_bound > found.new_error
    assert [each.n_rows for each in found.sources] == [120] * 5
    assert found.shifts[0].column == "x2"
    assert found.shifts[0].source == "site 1"
    assert 0.2 < found.recognised < 0.6


def test_a_source_that_was_turned_round_is_found_out():
    found = audited(*sites(inverted="site 3"))
    assert found.suspects == ("site 3",)
    assert found.new_error > found.error
    assert "Look at site 3 first" in str(found)
    assert found.worst == "site 3"
    assert "check its labels" in found.remedy


@pytest.fixture
def heart(shared):
    table = pd.read_csv(shared / "data" / "multi-source" / "heart.csv")
    return table.drop(columns=["source", "class"]), table["class"], table["source"]


@pytest.mark.parametrize("inverted", ["", "cleveland", "hungarian", "switzerland", "va"])
def test_every_hospital_of_the_real_table_is_found_out(heart, inverted, no_forest):
    X, y, sources = heart
    model = make_pipeline(TableEncoder(), LogisticRegression(max_iter=2000))
    turned = np.where(sources == inverted, 1 - y, y)
    found = source_audit(model, X, turned, sources, random_state=0)
    assert found.suspects == ((inverted,) if inverted else ())


def test_a_source_with_other_rates_is_not_suspect(no_forest):
    rng = np.random.default_rng(0)
    sources = np.repeat(["a", "b", "c", "d"], 200)
    X = rng.normal(size=(800, 2))
    y = (X[:, 0] - 3.5 * (sources == "d") + 1.5 + rng.logistic(size=800) > 0).astype(int)
    found = audited(X, y, sources)
    assert y[sources == "d"].mean() < 0.25
    assert y[sources == "a"].mean() > 0.7
    assert found.sources[3].left_out_error > 0.5
    assert found.suspects == ()
    turned = np.where(sources == "d", 1 - y, y)
    assert audited(X, turned, sources).suspects == ("d",)


def test_two_turned_round_of_six_are_both_named(no_forest):
    X, y, sources = sites(6)
    y = np.where(np.isin(sources, ["site 2", "site 5"]), 1 - y, y)
    assert audited(X, y, sources).suspects == ("site 2", "site 5")


def test_it_prints_as_sentences_and_a_table():
    found = audited(*sites(3))
    text = str(found)
    assert text.startswith("On a new source expect an error of 0.")
    assert "site 2" in text
    assert max(map(len, text.splitlines()[-4:])) <= 120
    assert found._repr_html_().count("<tr>") == 4


def test_several_classes_words_and_processes():
    X, _, sources = sites(4)
    frame = pd.DataFrame({"a": X[:, 0], "job": np.where(X[:, 1] > 0, "cook", "smith")})
    y = np.digitize(X[:, 0], [-0.5, 0.5]).astype(str)
    model = make_pipeline(TableEncoder(), LogisticRegression())
    one = source_audit(model, frame, y, sources, random_state=0)
    assert one == source_audit(model, frame, y, sources, random_state=0, n_jobs=2)
    assert one.label in {"0", "1", "2"}
    assert {each.column for each in one.shifts} == {"a", "job"}


def test_what_cannot_be_audited_is_refused_before_any_fit():
    X, y, sources = sites(2)
    with pytest.raises(ValueError, match="sources holds 1 source; an audit needs two or more"):
        audited(X, y, np.zeros(len(y)))
    with pytest.raises(ValueError, match="most have one row"):
        audited(X, y, np.arange(len(y)))
    with pytest.raises(ValueError, match="one class only, 0"):
        audited(X, np.zeros(len(y), dtype=int), sources)
    with pytest.raises(ValueError, match="sources is missing for 1 of"):
        audited(X, y, np.append(sources[1:].astype(object), None))


def test_a_source_of_one_class_is_audited():
    X, y, sources = sites(4)
    y = np.where(sources == "site 0", 1, y)
    found = audited(X, y, sources)
    assert found.sources[0].observed == 1.0
    assert np.isfinite(found.sources[0].offset)
    assert not found.sources[0].suspect


@pytest.fixture
def study(monkeypatch):
    path = Path(__file__).parents[2] / "studies" / "study_audit.py"
    spec = spec_from_file_location("study_audit", path)
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("n_sources", [4, 16])
def test_bounds_hold_as_often_as_they_say_where_the_truth_is_known(study, n_sources):
    found = study.coverage(n_sources, 40)
    # forty runs: their own standard errors are .035 for the mean and about .01 for the others
    assert found["new source"] >= 0.85
    assert 0.85 <= found["nine in ten"] <= 0.96
    for name in ("error", "slope", "offset"):
        assert 0.92 <= found[name] <= 0.985
    assert abs(found["promise less truth"]) < 0.02
