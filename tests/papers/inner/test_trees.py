import numpy as np
import pytest

from ensemblage.inner import (
    InnerTreeClassifier,
    InnerTreeRegressor,
    TreeRows,
    alpha_grid,
    predict_soft,
    pruned,
)
from ensemblage.inner._tree_kernels import node_sums
from ensemblage.papers import paper_experiment
from ensemblage.papers.inner._trees import (
    CLASSIFICATION_COLUMNS,
    MAX_ROWS,
    REGRESSION_COLUMNS,
    EnsembleLeavesSettings,
    LaplaceSettings,
    RampSettings,
    errors_by_alpha,
    file_fingerprint,
    loss_sentence,
    matrix,
    predict_new,
    tree_rows,
)
from ensemblage.studies import CellResult
from inner.trees import stump, targets


def test_categories_are_one_hot_encoded_and_missing_values_stay():
    columns = [np.array([1.0, np.nan, 3.0]), np.array(["b", None, "a"], dtype=object)]
    X = matrix(columns, ["numeric", "categorical"])
    np.testing.assert_array_equal(X, [[1, 0, 1], [np.nan, 0, 0], [3, 1, 0]])
    assert X.dtype == np.float32


def test_large_datasets_are_sampled(shared):
    folder = str(shared / "data")
    rows = tree_rows("regression/kin8nm", folder, 0)
    assert len(rows.X) == len(rows.y) == MAX_ROWS
    assert rows.X.tolist() != tree_rows("regression/kin8nm", folder, 1).X.tolist()
    assert len(file_fingerprint("regression/kin8nm", folder)) == 16
    with pytest.raises(ValueError, match=r"no file regression/none\.csv"):
        file_fingerprint("regression/none", folder)


def test_classes_are_codes():
    rows = tree_rows("iris", None, 0)
    assert np.bincount(rows.y).tolist() == [50, 50, 50]
    assert rows.targets.n_classes == 3


@pytest.fixture(scope="module")
def iris():
    return tree_rows("iris", None, 0)


@pytest.mark.parametrize("method", CLASSIFICATION_COLUMNS)
def test_every_method_predicts_probabilities(iris, method):
    values, leaves = predict_new(method, iris, iris.X, 0)
    np.testing.assert_allclose(values.sum(axis=1), 1.0)
    assert (values.argmax(axis=1) == iris.y).mean() > 0.9
    assert (leaves is None) == (method == "bagging")
    assert "-16" not in method or leaves <= 16


@pytest.mark.parametrize("method", REGRESSION_COLUMNS)
def test_every_method_predicts_a_numeric_target(iris, method):
    lengths = iris._replace(targets=iris.targets._replace(values=iris.X[:, 3].astype(float)))
    lengths = lengths._replace(targets=lengths.targets._replace(n_classes=0))
    values, _ = predict_new(method, lengths, iris.X, 0)
    assert values.shape == (150, 1)
    assert np.corrcoef(values[:, 0], iris.X[:, 3])[0, 1] > 0.9


@pytest.mark.parametrize(("method", "leaves"), [("ours", None), ("ours-16", 16)])
def test_ours_are_the_estimators(iris, method, leaves):
    estimator = InnerTreeClassifier(max_leaf_nodes=leaves, random_state=5).fit(iris.X, iris.y)
    assert (predict_new(method, iris, iris.X, 5)[0] == estimator.predict_proba(iris.X)).all()
    regression = iris._replace(
        targets=iris.targets._replace(values=iris.X[:, 3].astype(float), n_classes=0)
    )
    regressor = InnerTreeRegressor(max_leaf_nodes=leaves, random_state=5).fit(iris.X, regression.y)
    assert (predict_new(method, regression, iris.X, 5)[0][:, 0] == regressor.predict(iris.X)).all()


def test_errors_are_those_of_trees_pruned_one_by_one(iris):
    settings = LaplaceSettings("gini", None, 1, 1, 0.0)
    train, test = iris.take(np.arange(0, 150, 2)), iris.take(np.arange(1, 150, 2))
    grown, alphas = settings.grow(train, 0), alpha_grid(*settings.grow(iris, 0))
    classes = settings.means(grown[0], train)[0].argmax(axis=1)
    errors = errors_by_alpha(*grown, classes, test, alphas)
    for alpha, found in zip(alphas, errors, strict=True):
        tree = pruned(*grown, alpha)
        predicted = predict_soft(tree, test.X, settings.means(tree, train)[0]).argmax(axis=1)
        assert found == (predicted != test.y).sum()


def test_one_cell_per_dataset_method_and_repeat(shared):
    experiment = paper_experiment(
        "inner-tree", data_dir=shared / "data", datasets=["iris", "regression/servo"]
    )
    assert len(experiment.cells) == 2 * (len(CLASSIFICATION_COLUMNS) + len(REGRESSION_COLUMNS))
    assert len({cell.data for cell in experiment.cells}) == 2


def test_a_few_cells_make_five_tables():
    experiment = paper_experiment("inner-tree", scale="quick", datasets=["iris"])
    wanted = [cell for cell in experiment.cells if cell.params["method"] in {"ours-16", "bagging"}]
    results = [CellResult(cell, experiment.compute(cell, None), 0.1) for cell in wanted]
    tables = {table.name: table for table in experiment.summarise(results)}
    assert list(tables) == [f"inner-tree-{each}" for each in
                            ("accuracy", "log-loss", "agreement", "leaves", "r2")]  # fmt: skip
    known = {row.column: row.ours for row in tables["inner-tree-accuracy"].rows
             if row.row == "iris" and row.ours is not None}  # fmt: skip
    assert set(known) == {CLASSIFICATION_COLUMNS["ours-16"], CLASSIFICATION_COLUMNS["bagging"]}
    assert min(known.values()) > 85
    assert tables["inner-tree-r2"].rows == []
    assert tables["inner-tree-log-loss"].greater_is_better is False


def test_regression_datasets_need_a_data_folder():
    with pytest.raises(ValueError, match="regression/servo"):
        paper_experiment("inner-tree", scale="quick", datasets=["regression/servo"])


def test_loss_sentence():
    scores = np.array([[0.4, 0.5]] * 5 + [[0.5, 0.4]])
    (sentence,) = loss_sentence("a", "b", scores)
    assert sentence.startswith(
        "a against b: log loss 0.417 against 0.483 (-13.8%), lower on 5 of 6"
    )
    assert "Wilcoxon p = " in sentence
    assert loss_sentence("a", "b", scores[:0]) == []


GROWTH = ("gini", 4, 1)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)).astype(np.float32)
    return TreeRows(X, targets((X[:, 1] > 0.3).astype(int), n_classes=2))


def test_laplace_smoothing(rows):
    tree = stump([0.0])
    means, weights = LaplaceSettings(*GROWTH, 5, 0.0).means(tree, rows)
    counts = node_sums(tree, rows.X, rows.targets)
    np.testing.assert_allclose(means, (counts + 1) / (weights[:, None] + 2))


def test_ramp_has_a_fixed_width_in_rank(rows):
    tree = stump([0.0])
    soft = RampSettings(*GROWTH, 5, 0.25).place_thresholds(tree, rows, 0)
    below = [(rows.X[:, 0] <= threshold).sum() for threshold in soft.thresholds[0]]
    own = (rows.X[:, 0] <= 0).sum()
    assert below == [own - 20, own - 10, own, own + 10, own + 20]


def test_means_of_bootstraps_are_near_the_plain_ones(rows):
    settings = EnsembleLeavesSettings(*GROWTH, 30, 0.0)
    averaged, weights = settings.means(stump([0.0]), rows)
    plain, plain_weights = super(EnsembleLeavesSettings, settings).means(stump([0.0]), rows)
    assert weights.tolist() == plain_weights.tolist()
    assert np.abs(averaged - plain).max() < 0.05
    assert (averaged != plain).any()
