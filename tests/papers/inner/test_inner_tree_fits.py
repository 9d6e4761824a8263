import numpy as np
import pytest

from ensemblage.inner import GrowthRule, InnerTreeClassifier, InnerTreeRegressor, alpha_grid, pruned
from ensemblage.kernels import predict_softly
from ensemblage.papers.inner._inner_tree import CLASSES, WITH_NUMBERS
from ensemblage.papers.inner._inner_tree_fits import errors_by_alpha, tell
from ensemblage.papers.inner._inner_tree_sets import tree_rows
from ensemblage.papers.inner._inner_tree_variants import LaplaceRecipe


@pytest.fixture(scope="module")
def iris():
    return tree_rows("iris", None, 0)


@pytest.mark.parametrize("method", CLASSES)
def test_every_method_tells_probabilities(iris, method):
    told = tell(method, iris, iris.X, 0)
    np.testing.assert_allclose(told.values.sum(axis=1), 1.0)
    assert (told.values.argmax(axis=1) == iris.y).mean() > 0.9
    assert (told.leaves is None) == (method == "bagging")
    assert "-16" not in method or told.leaves <= 16


@pytest.mark.parametrize("method", WITH_NUMBERS)
def test_every_method_tells_numbers(iris, method):
    lengths = iris._replace(targets=iris.targets._replace(numbers=iris.X[:, 3].astype(float)))
    lengths = lengths._replace(targets=lengths.targets._replace(n_classes=0))
    told = tell(method, lengths, iris.X, 0)
    assert told.values.shape == (150, 1)
    assert np.corrcoef(told.values[:, 0], iris.X[:, 3])[0, 1] > 0.9


@pytest.mark.parametrize(("method", "leaves"), [("ours", None), ("ours-16", 16)])
def test_ours_are_the_estimators(iris, method, leaves):
    estimator = InnerTreeClassifier(max_leaves=leaves, random_state=5).fit(iris.X, iris.y)
    assert (tell(method, iris, iris.X, 5).values == estimator.predict_proba(iris.X)).all()
    numbers = iris._replace(
        targets=iris.targets._replace(numbers=iris.X[:, 3].astype(float), n_classes=0)
    )
    regressor = InnerTreeRegressor(max_leaves=leaves, random_state=5).fit(iris.X, numbers.y)
    assert (tell(method, numbers, iris.X, 5).values[:, 0] == regressor.predict(iris.X)).all()


def test_errors_are_those_of_trees_pruned_one_by_one(iris):
    recipe = LaplaceRecipe(GrowthRule("gini", None, 1), 1, 0.0, crisp=False)
    train, test = iris.at(np.arange(0, 150, 2)), iris.at(np.arange(1, 150, 2))
    structure, alphas = recipe.grow(train, 0), alpha_grid(recipe.grow(iris, 0))
    classes = recipe.means(structure.tree, train).values.argmax(axis=1)
    errors = errors_by_alpha(structure, classes, test, alphas)
    for alpha, found in zip(alphas, errors, strict=True):
        tree = pruned(structure, alpha)
        said = predict_softly(tree, test.X, recipe.means(tree, train).values).argmax(axis=1)
        assert found == (said != test.y).sum()
