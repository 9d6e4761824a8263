"""Comparing where rows come from several sources."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from typer.testing import CliRunner

from ensemblage.cli import app
from ensemblage.datasets import Dataset, Table, make_multi_source, open_dataset
from ensemblage.pool import EnsemblageClassifier, EnsemblageRegressor
from ensemblage.sources import source_audit
from ensemblage.studies import METHODS, ResultStore, compare, get_method, predict, train
from ensemblage.studies._compare import is_imbalanced
from ensemblage.studies._study import MethodPoint, Splits, Study, fit_seed


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
    assert "The source is not a feature." in result.notes[-2]


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
    assert "estimate the performance on a new source" in result.notes[0]
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
    with pytest.raises(ValueError, match="source column 's' has 1 missing value: assign"):
        Dataset.from_table(table, "c", source="s")
    with pytest.raises(ValueError, match="source column 's' is given twice"):
        Dataset.from_table(table, "c", source=["s", "s"])
    with pytest.raises(ValueError, match="3 source columns are given"):
        Dataset.from_table(table, "c", source=["s", "x", "y"])


@pytest.fixture(scope="module")
def nested():
    """Rows of four hospitals with three wards each, which differ in their intercepts."""
    rng = np.random.default_rng(0)
    X, hospital, ward = rng.normal(size=(360, 2)), np.arange(360) % 4, np.arange(360) // 4 % 3
    shift = 2 * rng.normal(size=4)[hospital] + 2 * rng.normal(size=(4, 3))[hospital, ward]
    y = X[:, 0] + shift + 0.5 * rng.normal(size=360)
    names = [(f"H{h}", f"H{h}-W{w}") for h, w in zip(hospital, ward, strict=True)]
    return Dataset.from_arrays(X, y, sources=names)


def test_nested_sources_are_two_columns(nested):
    assert nested.sources.shape == (360, 2)
    assert nested.outer_sources.tolist()[:2] == ["H0", "H1"]
    assert nested.source_labels[0] == "H0 / H0-W0"
    result = compare(nested, methods=["mean", "ridge", "partial-pooling"], n_splits=2)
    assert result.summary[0].method == "partial-pooling"
    assert result.summary[0].rmse < 0.6 * result.summary[1].rmse
    assert result.notes[-1].startswith(
        "4 outer sources with 12 inner sources, used by partial pooling only"
    )
    assert len(result.data.sources) == 12
    assert result.residuals.row_sources[0] == "H0 / H0-W0"
    new = compare(nested, methods=["mean", "partial-pooling"], n_splits=5, new_sources=True)
    assert new.n_splits == 4
    assert new.notes[0].startswith("4 outer sources, each in one fold only")


def test_methods_of_one_level_take_the_outer_sources(nested):
    result = compare(nested, methods=["strata-sources", "partial-pooling"], n_splits=2)
    assert result.notes[-1] == "Only the outer sources are used by strata of sources."
    assert not any(each.failures for each in result.methods)
    given = get_method("strata-sources").predict_params(nested.sources, new_sources=False)
    assert given["sources"].tolist() == nested.outer_sources.tolist()


def test_nested_sources_in_the_wrong_order_are_refused_before_any_fit(nested, monkeypatch):
    monkeypatch.setattr("ensemblage.studies._compare.run_study", None)
    turned = replace(nested, sources=nested.sources[:, ::-1])
    with pytest.raises(ValueError, match="wrong order"):
        compare(turned, methods=["mean", "partial-pooling"])
    same = replace(nested, sources=nested.sources[:, [0, 0]])
    with pytest.raises(ValueError, match="identical"):
        compare(same, methods=["mean", "partial-pooling"])


def sources_note(sources, y=None):
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.arange(60) % 2 if y is None else y
    return " ".join(compare(X, y, ["majority"], sources=sources, n_splits=2).notes)


def test_doubtful_sources_are_named():
    several = ["a"] * 30 + ["b"] * 29
    assert "Sources with one row: 1 of 3 ('c')." in sources_note([*several, "c"])
    text = sources_note([f"row {i}" for i in range(60)])
    assert "Sources with one row: 60 of 60 ('row 0', " in text
    assert "Is the column an identifier of rows?" in text
    one_class = sources_note([*several, "b"], ["no"] * 30 + ["no", "yes"] * 15)
    assert "Sources with one class only: 1 of 2 ('a')." in one_class
    assert "There is one source only, 'a': knowing it cannot help." in sources_note(["a"] * 60)
    assert "The sources are numbers: each of the 3 is used" in sources_note(np.arange(60) % 3)
    assert "numbers" not in sources_note([*several, "1"])


def test_a_pool_of_a_numeric_target_is_given_sources(nested, monkeypatch):
    def make(seed, n_jobs):
        return EnsemblageRegressor(["ridge"], random_state=seed, n_jobs=n_jobs)

    monkeypatch.setitem(METHODS, "auto", replace(METHODS["auto"], regressor=make))
    trained = train(nested, "auto", n_splits=2)
    pool = trained.model[-1]
    assert pool.source_pool_.names.tolist()[0] == ["H0", "H0-W0"]
    # the score is with the source known
    assert trained.comparison.summary[0].rmse == pytest.approx(
        pool.source_pool_.leaderboard[0].score, rel=0.02
    )
    assert trained.comparison.summary[0].rmse < 0.6 * pool.leaderboard_[0].score


def test_a_pool_that_the_source_does_not_help_is_scored_without(several, monkeypatch):
    def make(seed, n_jobs):
        return EnsemblageClassifier(["logistic"], random_state=seed, n_jobs=n_jobs)

    monkeypatch.setitem(METHODS, "auto", replace(METHODS["auto"], classifier=make))
    rng = np.random.default_rng(0)
    y = np.where(several.X[:, 0] + 0.5 * rng.normal(size=len(several.y)) > 0, "yes", "no")
    trained = train(replace(several, y=y, sources=rng.permutation(several.sources)), n_splits=2)
    pool = trained.model[-1]
    assert not pool.source_pool_.helps
    assert trained.comparison.summary[0].accuracy == pytest.approx(pool.leaderboard_[0].score)


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


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    """A table with five sources, dates of five years, a class and a number."""
    rng = np.random.default_rng(0)
    n = 300
    site, x = rng.integers(0, 5, n), rng.normal(size=(n, 2))
    line = 1.5 * x[:, 0] + 0.4 * rng.normal(size=5)[site] - 1
    label = np.where(rng.random(n) < 1 / (1 + np.exp(-line)), "yes", "no")
    days = np.datetime64("2019-01-01") + np.sort(rng.integers(0, 5 * 365, n))
    value = line + rng.normal(size=n)
    lines = [
        f"{a:.4f},{b:.4f},s{s},{day},{v:.4f},{c}"
        for (a, b), s, day, v, c in zip(x, site, days, value, label, strict=True)
    ]
    path = tmp_path_factory.mktemp("sites") / "sites.csv"
    path.write_text("a,b,site,day,value,class\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def opened(path, target="class", source=None, drop=()):
    return open_dataset(str(path), target, source_column=source, drop=drop)


def test_new_sources_have_a_random_effects_summary(sites, tmp_path):
    dataset = opened(sites, source="site", drop=("day", "value"))
    with ResultStore(tmp_path / "scores.sqlite") as store:
        result, again = (
            compare(dataset, methods=["majority", "logistic", "svm"], new_sources=True, store=store)
            for _ in range(2)
        )
    assert again == result
    assert result.validation == "new-sources"
    assert result.expected.keys() == {"majority", "logistic"}  # an SVM gives no probabilities
    found = {each.measure: each for each in result.expected["logistic"]}
    assert found.keys() == {"auc", "oe", "slope", "log_loss"}
    for each in found.values():
        assert each.new_low <= each.low <= each.mean <= each.high <= each.new_high
        assert each.n_sources == 5
    row = next(row for row in result.summary if row.method == "logistic")
    assert found["auc"].mean == pytest.approx(row.auc, abs=0.05)
    assert found["log_loss"].mean == pytest.approx(row.log_loss, abs=0.05)
    assert result.measure in {"log_loss", "auc"}
    assert "random-effects mean over left-out sources" in str(result)
    assert "What to expect at a new source" in result._repr_html_()
    assert "O:E ratio: observed by expected rows of class 'yes'." in str(result)
    assert "intervals take three or more" not in result.notes[0]


def test_the_summary_is_that_of_an_audit_of_the_same_predictions(sites):
    dataset = opened(sites, source="site", drop=("day", "value"))
    model = GaussianNB()
    result = compare(dataset, methods={"bayes": model, "majority": "majority"}, new_sources=True)
    audited = source_audit(model, dataset.X, dataset.y, dataset.sources, learning_curve=False)
    for each in result.expected["bayes"]:
        assert each.mean == pytest.approx(audited[each.measure].mean)
        assert each.new_high == pytest.approx(audited[each.measure].new_high)


def test_scores_do_not_depend_on_what_is_kept(sites):
    dataset = opened(sites, source="site", drop=("day", "value"))
    known = compare(dataset, methods=["logistic"], n_splits=2)
    assert known.validation == "cross-validation"
    assert known.expected == {}
    plain, kept = (Splits(folds=2, new_sources=True, keep=keep) for keep in (False, True))
    study = Study("s", "S", ("d",), (MethodPoint("forest", "", {}),), plain)
    cells = [replace(study, splits=splits).cells({"d": "hash"})[0] for splits in (plain, kept)]
    assert cells[0].params.keys() == cells[1].params.keys() - {"keep"}
    assert fit_seed(cells[0]) == fit_seed(cells[1])


def test_each_period_is_predicted_from_the_past(sites):
    dataset = opened(sites, drop=("site", "value"))
    result = compare(dataset, methods=["majority", "logistic"], time="day")
    assert result.validation == "time"
    assert result.n_splits == len(result.methods[0].accuracy) == 4
    assert result.n_features == 2
    assert {each.measure for each in result.expected["logistic"]} == {
        "auc", "oe", "slope", "log_loss",
    }  # fmt: skip
    assert "5 periods (2019, 2020, 2021, 2022, 2023): 4 periods are predicted" in result.notes[-2]
    assert "4 periods predicted from the past" in str(result)
    assert "next period: 95 % prediction interval" in str(result)
    # the same as an array
    times = np.array([line.split(",")[3] for line in sites.read_text().splitlines()[1:]])
    X = dataset.X[:, [dataset.feature_names.index(name) for name in "ab"]].astype(float)
    given = compare(X, dataset.y, ["majority"], time=times)
    assert given.methods[0].log_loss == result.methods[0].log_loss


def test_periods_of_a_numeric_target(sites):
    dataset = opened(sites, "value", drop=("site", "class"))
    result = compare(dataset, methods=["mean", "ridge"], time="day")
    assert [each.measure for each in result.expected["ridge"]] == ["r2", "rmse", "slope"]
    assert result.measure == "rmse"
    assert len(result.residuals.observed) < result.n_rows  # the first period is not predicted
    assert result.residuals.sources == ()
    assert "sources: " not in result.data.sentence


def test_with_few_periods_nothing_is_said_of_the_next():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    result = compare(X, y, ["majority", "logistic"], time=np.repeat([1, 2, 3], 20))
    assert result.n_splits == 2
    assert all(each.mean is None for each in result.expected["logistic"])
    assert "With fewer than 4 nothing is said of the next one." in result.notes[-2]
    assert "next period: 95" not in str(result)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"time": [1.0] * 40}, "time has one value only, 1"),
        ({"time": [1.0, np.nan] * 20}, "time is missing for 20 of 40 rows"),
        ({"time": ["2024-01-01", "soon"] * 20}, "time contains 'soon', which is not a date"),
        ({"time": [1, 2] * 19}, "`X` has 40 rows"),
        ({"time": "when"}, "There is no column 'when'"),
        ({"time": [1, 2] * 20, "sources": [1, 2] * 20}, "`time` tests each period once"),
        ({"time": [1, 2] * 20, "groups": [1, 2] * 20}, "`time` tests each period once"),
        ({"time": [1, 2] * 20, "n_repeats": 2}, "`time` tests each period once"),
        ({"time": [1] * 10 + [2] * 30}, "whose past holds two classes"),
        ({"sources": [1] * 40, "new_sources": True}, "needs two or more sources, got 1"),
    ],
)
def test_bad_times_and_sources_are_refused_before_any_fit(given, message, monkeypatch):
    monkeypatch.setattr("ensemblage.studies._compare.run_study", None)
    X = np.random.default_rng(0).normal(size=(40, 2))
    with pytest.raises(ValueError, match=message):
        compare(X, np.array([0] * 10 + [0, 1] * 15), ["majority"], **given)


def test_log_loss_and_auc_count_where_accuracy_does_not_tell():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1500, 2))
    y = np.where(rng.random(1500) < 1 / (1 + np.exp(1.0 - 0.6 * X[:, 0])), "ill", "well")
    assert not is_imbalanced(dict(zip(*np.unique(y, return_counts=True), strict=True)))
    result = compare(X, y, ["majority", "logistic"])
    assert result.measure == result.choice.measure == "log_loss"
    assert result.choice.method == "logistic"
    assert result.notes[-1].startswith("By accuracy no method is significantly better")
    asked = compare(X, y, ["majority", "logistic"], measure="accuracy")
    assert asked.measure == "accuracy"
    assert "But by log loss logistic regression (0.567) is recommended" in asked.verdict
    assert "none is significantly better than majority class" in asked.verdict
    noise = compare(rng.normal(size=(1500, 2)), y, ["majority", "logistic"])
    assert noise.choice.method == "majority"
    assert noise.measure == "accuracy"


def test_the_command_compares_over_time(sites, tmp_path):
    command = ["compare", str(sites), "-t", "class", "-m", "majority", "-m", "logistic", "-j", "1"]
    page = tmp_path / "page.html"
    options = ["--drop", "site", "--drop", "value", "--time", "day"]
    done = CliRunner().invoke(app, [*command, *options, "--json", "--report", str(page)])
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    assert facts["validation"] == "time"
    assert facts["expected"]["logistic"][0]["measure"] == "auc"
    assert "What to expect in the next period" in page.read_text(encoding="utf-8")
    shown = CliRunner().invoke(app, [*command, *options])
    assert "next period: 95 % prediction interval" in shown.stdout
    for more in (["--folds", "3"], ["--source", "site"], ["--new-sources"]):
        refused = CliRunner().invoke(app, [*command, *options[2:], *more])
        assert refused.exit_code != 0
