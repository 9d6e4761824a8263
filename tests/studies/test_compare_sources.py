"""Comparing where rows come from several sources."""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from ensemblage.cli import app
from ensemblage.datasets import Dataset, Table, make_multi_source
from ensemblage.pool import EnsemblageClassifier
from ensemblage.studies import METHODS, compare, get_method, predict, train


@pytest.fixture
def several():
    X, y, sources = make_multi_source(4, 240, 3, random_state=0, return_sources=True)
    cells = [[f"{x:.6f}" for x in column] for column in X.T]
    labels = np.array(["no", "yes"])[y].tolist()
    names = [f"site {source}" for source in sources]
    table = Table.from_texts(["a", "b", "c", "site", "class"], [*cells, names, labels])
    return Dataset.from_table(table, "class", source="site")


def test_the_source_is_not_a_feature(several):
    assert several.feature_names == ("a", "b", "c")
    assert set(several.sources) == {"site 0", "site 1", "site 2", "site 3"}


def test_source_aware_methods_use_the_source(several):
    result = compare(several, methods=["majority", "strata-sources"], n_splits=3)
    best = result.summary[0]
    assert best.method == "strata-sources"
    assert best.failed_folds == 0
    assert (
        "used by strata of sources only, and not a feature of majority class." in result.notes[-1]
    )
    result = compare(several, methods=["majority", "logistic"], n_splits=2, new_sources=True)
    assert "The source is not a feature." in result.notes[-1]


def test_a_pool_is_given_known_sources_only(several, monkeypatch):
    asked = []

    class Asked(EnsemblageClassifier):
        def predict_proba(self, X, sources=None):
            asked.append(sources)
            return super().predict_proba(X, sources)

    def make(seed, n_jobs):
        return Asked(["logistic"], cv=2, random_state=seed, n_jobs=n_jobs)

    method = replace(
        METHODS["auto"], name="own", classifier=make, encodes=False, handles_raw_tables=False
    )
    monkeypatch.setitem(METHODS, "own", method)
    assert compare(several, methods=["own"], n_splits=2).summary[0].failed_folds == 0
    assert all(set(each) <= set(several.sources) for each in asked)
    asked.clear()
    result = compare(several, methods=["own"], n_splits=2, new_sources=True)
    assert result.summary[0].failed_folds == 0
    assert asked == [None, None]


def test_a_pool_trained_with_sources_is_scored_on_known_ones(several, monkeypatch):
    def make(seed, n_jobs):
        return EnsemblageClassifier(["logistic"], random_state=seed, n_jobs=n_jobs)

    monkeypatch.setitem(METHODS, "auto", replace(METHODS["auto"], classifier=make))
    trained = train(several, "auto", n_splits=2)
    aware = trained.model[-1].source_pool_.leaderboard[0]
    assert trained.comparison.summary[0].accuracy == pytest.approx(aware.score)
    assert aware.score > trained.model[-1].leaderboard_[0].score
    # each source has its own rule, which the columns do not show
    right = predict(trained.model, several.X, sources=several.sources).y_pred == several.y
    assert right.mean() > 0.8


def test_fewer_sources_than_folds_are_fewer_folds(several):
    n_sources = len(set(several.sources))
    result = compare(several, methods=["majority"], n_splits=n_sources + 2, new_sources=True)
    # the correction of standard errors uses the actual number of folds
    assert result.n_splits == n_sources == len(result.methods[0].accuracy)


def test_new_sources_are_kept_apart(several):
    result = compare(several, methods=["majority", "strata"], n_splits=4, new_sources=True)
    assert "estimate the performance on a new source" in result.notes[-1]
    assert all(len(each.accuracy) == 4 for each in result.methods)


def test_a_method_without_its_sources_is_refused(several):
    with pytest.raises(ValueError, match="'strata-sources' needs the source of each row"):
        get_method("strata-sources").fit_params(None, new_sources=False)
    with pytest.raises(ValueError, match="`new_sources` needs the source of each row"):
        compare(
            Dataset("x", several.X, several.y, several.feature_names, several.kinds),
            methods=["majority"],
            new_sources=True,
        )


def test_a_model_of_sources_is_trained(several):
    trained = train(several, "strata-sources", n_splits=2)
    assert trained.model.score(several.X, several.y) > 0.8


def test_a_source_cannot_be_the_target_or_missing():
    table = Table.from_texts(["a", "s", "c"], [["1", "2"], ["x", ""], ["u", "v"]])
    with pytest.raises(ValueError, match="cannot be both target and source"):
        Dataset.from_table(table, "c", source="c")
    with pytest.raises(ValueError, match="source column 's' has 1 missing values"):
        Dataset.from_table(table, "c", source="s")


def test_the_command_compares_with_sources(several, tmp_path):
    path = tmp_path / "sites.csv"
    rows = zip(several.X.tolist(), several.sources, several.y, strict=True)
    lines = [",".join([*map(str, x), source, label]) for x, source, label in rows]
    path.write_text("a,b,c,site,class\n" + "\n".join(lines) + "\n", encoding="utf-8")
    command = [
        "compare", str(path), "-t", "class", "--source", "site", "-m", "majority",
        "-m", "strata-sources", "--folds", "2", "--json", "-j", "1",
    ]  # fmt: skip
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["summary"][0]["method"] == "strata-sources"
