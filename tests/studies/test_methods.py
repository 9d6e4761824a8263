from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ensemblage.datasets import ColumnTypes, Dataset, load_dataset, open_dataset, read_table
from ensemblage.evaluation import CLASSIFICATION
from ensemblage.persistence import load, save
from ensemblage.pool import LARGE_DATA_ROWS
from ensemblage.report import training_summary
from ensemblage.strata import StrataEnsembleClassifier
from ensemblage.studies import (
    METHODS,
    ResultStore,
    get_method,
    make_model,
    predict,
    train,
)
from ensemblage.studies._methods import (
    INNER_FOLDS,
    LARGE_ROWS,
    LOGISTIC_GRID,
    InnerFolds,
    digest_of,
    methods_for,
    named_methods,
    tuned,
    wide_notes,
)
from studies.homes import homes

SITES = np.array(["a", "b"])


def test_fit_params_are_sources_or_groups():
    pool, strata = METHODS["auto"], METHODS["strata"]
    assert pool.fit_params(SITES, new_sources=False).keys() == {"model__sources"}
    assert strata.fit_params(SITES, new_sources=False) == {}
    assert strata.fit_params(SITES, new_sources=True).keys() == {"model__groups"}
    assert pool.predict_params(SITES, new_sources=False).keys() == {"sources"}
    assert pool.predict_params(SITES, new_sources=True) == {}
    with pytest.raises(ValueError, match="'strata-sources' needs the source of each row"):
        METHODS["strata-sources"].fit_params(None, new_sources=False)


def test_tuning_has_inner_folds():
    search = tuned(None, {"alpha": [1.0]}, seed=3, n_jobs=None)
    assert (search.cv.n_splits, search.cv.random_state) == (INNER_FOLDS, 3)


def test_superlinear_methods_grow_faster_than_the_rows():
    forest, svm = METHODS["forest"], METHODS["svm"]
    assert forest.expected_seconds(4000) == 4 * forest.expected_seconds(1000)
    assert svm.expected_seconds(4000) == 8 * svm.expected_seconds(1000)


def test_a_pool_of_many_rows_takes_seconds():
    pool = METHODS["auto"]
    assert LARGE_ROWS == LARGE_DATA_ROWS
    assert pool.expected_seconds(LARGE_DATA_ROWS) > 100
    assert pool.expected_seconds(200_000) < 60


def test_the_registry_is_by_name():
    assert all(name == each.name for name, each in METHODS.items())
    assert METHODS["logistic"].classifier(0, None).param_grid == LOGISTIC_GRID
    assert METHODS["auto"].has_oof_predictions


@pytest.mark.parametrize("name", methods_for("regression"))
def test_every_regressor_fits_mixed_columns_and_can_be_saved(name, tmp_path):
    data = homes(source="site")
    trained = train(data, name, n_splits=2)
    before = predict(trained.model, data.X)
    assert (before.classes, before.probabilities) == ((), None)
    assert np.isfinite(before.y_pred).all()
    save(trained.model, tmp_path / "m.skops", columns=data.feature_names, kinds=data.kinds)
    after = predict(load(tmp_path / "m.skops").model, data.X)
    np.testing.assert_array_equal(before.y_pred, after.y_pred)
    assert training_summary(trained.fitted)[0].startswith("4 columns, encoded as ")


def test_methods_are_ours_or_baselines():
    baselines = [name for name, each in METHODS.items() if not each.ours]
    shared = ["svm", "forest", "boosting"]
    assert baselines == ["majority", "mean", "logistic", "ridge", *shared]
    numeric = methods_for("regression")
    assert [name for name in baselines if name in numeric] == ["mean", "ridge", *shared]
    assert all(each.label and each.description for each in METHODS.values())


def test_fields_may_differ_between_tasks():
    assert methods_for("classification")["svm"].quick == {"gamma": "scale"}
    assert methods_for("regression")["svm"].quick == {"regressor__gamma": "scale"}
    with pytest.raises(ValueError, match="'ridge' is not for classification"):
        make_model(METHODS["ridge"], homes().columns, 0)


def test_a_method_of_the_other_task_is_refused():
    assert get_method("forest", "regression") == METHODS["forest"]
    with pytest.raises(
        ValueError, match=r"'logistic' is for classification, not regression\. Methods for"
    ):
        get_method("logistic", "regression")
    with pytest.raises(ValueError, match=r"'ridge' is for regression, not classification\."):
        get_method("ridge")
    with pytest.raises(ValueError, match=r"Unknown method 'rigde'\. Did you mean 'ridge'"):
        get_method("rigde", "regression")


def test_the_svm_does_not_depend_on_the_unit_of_the_target():
    data = homes()
    predictions = [
        make_model("svm", data.columns, 0, task="regression").fit(data.X, unit * data.y)
        .predict(data.X) / unit
        for unit in (1.0, 1e-6)
    ]  # fmt: skip
    np.testing.assert_allclose(*predictions, rtol=5e-3)  # libsvm stops within 1e-3


def test_classes_with_enough_rows_are_split_by_stratified_k_fold():
    y = np.array(["a", "b"] * 9)
    usual = StratifiedKFold(3, shuffle=True, random_state=5).split(y, y)
    for (fitted, test), expected in zip(InnerFolds(3, 5).split(y, y), usual, strict=True):
        np.testing.assert_array_equal(fitted, expected[0])
        np.testing.assert_array_equal(test, expected[1])


@pytest.mark.parametrize("y", [[0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 2], [0, 1, 2, 3]])
def test_every_fold_has_two_training_classes(y):
    labels = np.array(y)
    folds = list(InnerFolds(3, 0).split(labels, labels))
    assert len(folds) == InnerFolds(3, 0).get_n_splits(labels, labels)
    for fitted, _ in folds:
        assert len(np.unique(labels[fitted])) > 1


def test_folds_of_very_few_rows():
    labels = np.array([0, 0, 0, 0, 1])
    folds = list(InnerFolds(3, 0).split(labels, labels))
    assert all(1 in labels[train] for train, _ in folds)
    pair = np.array([0, 1])
    ((train, test),) = InnerFolds(3, 0).split(pair, pair)
    assert train.tolist() == test.tolist() == [0, 1]


@pytest.mark.parametrize("method", ["logistic", "svm"])
def test_tables_of_a_few_rows_give_a_model(method):
    X, y = np.arange(5.0)[:, None], np.array(["a", "a", "a", "b", "b"])
    model = make_model(method, ColumnTypes(("x",), ("numeric",), (None,)), 0).fit(X, y)
    assert (model.predict(X) == y).mean() >= 0.6


@pytest.fixture
def people(table_file):
    return open_dataset(str(table_file), "class")


# the pool is all of them at once, and has tests of its own
SLOW = {"auto"}


NAMES = [
    pytest.param(each, marks=pytest.mark.slow) if each in SLOW else each
    for each in methods_for("classification")
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore:.* strata hold one class only")
@pytest.mark.filterwarnings("ignore:.* constant and tell strata nothing")
def test_every_classifier_fits_mixed_columns_and_can_be_saved(name, people, tmp_path):
    sites = np.array(["north", "south"] * (len(people.y) // 2))
    trained = train(replace(people, sources=sites), name, n_splits=2)
    before = predict(trained.model, people.X)
    assert set(before.y_pred) <= set(before.classes)
    save(trained.model, tmp_path / "m.skops", columns=people.feature_names, kinds=people.kinds)
    after = predict(load(tmp_path / "m.skops").model, people.X)
    np.testing.assert_array_equal(before.y_pred, after.y_pred)
    if before.probabilities is not None:
        np.testing.assert_array_equal(before.probabilities, after.probabilities)
        np.testing.assert_allclose(before.probabilities.sum(axis=1), 1.0)
    assert training_summary(trained.fitted)[0].startswith("3 columns, encoded as ")


def test_unknown_method_names_the_closest():
    with pytest.raises(
        ValueError, match=r"Unknown method 'forrest'\. Did you mean 'forest'\? Known"
    ):
        get_method("forrest")


def test_constant_columns_are_dropped():
    X = np.column_stack([np.arange(20.0), np.full(20, 7.0)])
    y = np.array(["a", "b"] * 10)
    model = make_model(
        "logistic", ColumnTypes(("a", "b"), ("numeric",) * 2, (None,) * 2), seed=0
    ).fit(X, y)
    assert model[:-1].transform(X).shape == (20, 1)


def as_frame(dataset):
    """The same rows in a frame whose types declare the categories."""
    columns = {}
    for name, kind, known, values in zip(*dataset.columns, dataset.X.T, strict=True):
        columns[name] = values if kind == "categorical" else values.astype(float)
        if known is not None:
            columns[name] = pd.Categorical(values, categories=list(known))
    return pd.DataFrame(columns)


def assert_parity(method, dataset):
    """A network on the command line is the network in Python, to the last bit."""
    model = make_model(method, dataset.columns, seed=0).fit(dataset.X, dataset.y)
    frame = as_frame(dataset)
    network = get_method(method).classifier(0, None).fit(frame, dataset.y)
    found, expected = model.predict_proba(dataset.X), network.predict_proba(frame)
    np.testing.assert_array_equal(found, expected)
    assert list(model[-1].categories_.values()) == list(network.categories_.values())


@pytest.mark.parametrize("name", ["credit-a", "hepatitis", "vote", "lymph", "heart-c", "labor"])
def test_declared_categories_reach_networks(shared, name):
    dataset = load_dataset(name, shared / "data")
    assert any(known is not None for known in dataset.columns.categories)
    assert_parity("bayesnet", dataset)


ARFF = """@relation r
@attribute grade {1, 2, 3, 10}
@attribute colour {red, green, 'dark blue', violet}
@attribute size numeric
@attribute class {no, yes}
@data
"""


@pytest.mark.parametrize("method", ["bayesnet", "inner-bayesnet"])
def test_declared_categories_that_never_occur_reach_networks(tmp_path, method):
    rng = np.random.default_rng(0)
    grades, colours = rng.choice(["1", "2", "10"], 60), rng.choice(["red", "'dark blue'", "?"], 60)
    labels = np.where((grades == "10") | (colours == "red"), "yes", "no")
    rows = zip(grades, colours, rng.normal(size=60).round(2), labels, strict=True)
    (tmp_path / "t.arff").write_text(ARFF + "\n".join(",".join(map(str, row)) for row in rows))
    dataset = Dataset.from_table(read_table(tmp_path / "t.arff"), "class")
    assert dataset.columns.categories[0] == ("1", "2", "3", "10")
    assert_parity(method, dataset)
    model = make_model(method, dataset.columns, seed=0).fit(dataset.X, dataset.y)
    assert model[-1].categories_["x1"] == ["red", "green", "dark blue", "violet"]


def test_names_and_estimators_may_be_mixed():
    found = named_methods(["majority", GaussianNB()], sources=False)
    assert list(found) == ["majority", "GaussianNB"]
    assert found["majority"] is METHODS["majority"]
    assert digest_of(found["majority"]) == ""
    named = named_methods({"base": "majority", "logistic": "logistic"}, sources=False)
    assert (named["base"].label, named["base"].complexity) == ("base", 0)
    assert named["logistic"] is METHODS["logistic"]


def test_a_digest_depends_on_parameters():
    found = named_methods({"a": LogisticRegression(), "b": LogisticRegression(C=2)}, sources=False)
    again = named_methods({"a": LogisticRegression()}, sources=False)
    assert digest_of(found["a"]) == digest_of(again["a"]) != digest_of(found["b"])


def test_library_estimators_are_marked_and_pipelines_take_raw_rows():
    ours = named_methods([StrataEnsembleClassifier()], sources=False)
    assert ours["StrataEnsembleClassifier"].ours
    piped = named_methods([make_pipeline(StandardScaler(), GaussianNB())], sources=False)
    assert piped["Pipeline"].handles_raw_tables


def test_default_methods_need_sources_only_if_they_are_known():
    assert set(methods_for("classification")) - set(named_methods(None, sources=False)) == {
        "strata-sources", "partial-pooling",
    }  # fmt: skip
    assert set(named_methods(None, sources=True)) == set(methods_for("classification"))
    quick = named_methods(None, sources=False, quick=True)
    assert not {"strata-paper", "inner-bayesnet"} & set(quick)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ([], ValueError, "`methods` is empty"),
        (
            [GaussianNB(), GaussianNB(var_smoothing=1)],
            ValueError,
            "two estimators named 'GaussianNB'",
        ),
        ([Ridge()], TypeError, r"has Ridge\(\) as 'Ridge'"),
        ({"x": 3}, TypeError, "has 3 as 'x'"),
        (["bosting"], ValueError, "Did you mean 'boosting'"),
    ],
)
def test_invalid_methods_are_refused(given, error, message):
    with pytest.raises(error, match=message):
        named_methods(given, sources=False)


def test_stored_scores_of_one_estimator_are_not_taken_for_another(tmp_path):
    from ensemblage.studies import compare

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    with ResultStore(tmp_path / "r.sqlite") as store:
        for C in (1e-6, 1.0, 1.0):
            compare(X, y, {"mine": LogisticRegression(C=C)}, n_splits=3, store=store, n_jobs=1)
        assert len(store) == 6


def test_wide_tables_leave_out_the_inner_network_unless_it_is_named():
    wide = named_methods(None, sources=False, n_columns=301)
    assert set(named_methods(None, sources=False, n_columns=300)) - set(wide) == {"inner-bayesnet"}
    assert "inner-bayesnet" in named_methods(["inner-bayesnet"], sources=False, n_columns=301)
    (note,) = wide_notes(CLASSIFICATION, False, 301)
    assert note.startswith("inner Bayesian network is left out: its time grows with the square")
    assert wide_notes(CLASSIFICATION, True, 301) == []  # it is in no quick comparison anyway
