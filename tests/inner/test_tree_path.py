import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

from ensemblage.inner import InnerTreeClassifier, InnerTreeRegressor
from ensemblage.inner._fitted_tree import FittedTree
from ensemblage.inner._tree_choice import NodeValues
from ensemblage.inner._tree_path import follow_row
from ensemblage.inner._tree_reading import TreeWords
from kernels.trees import stump


def test_by_hand():
    values = np.array([[0.5, 0.5], [0.9, 0.1], [0.1, 0.9]])
    tree = FittedTree.make(stump([1.0, 2.0, 3.0, 4.0]), NodeValues(values, np.ones(3)))
    path = follow_row(tree, np.array([1.5], dtype=np.float32), TreeWords(["age"], ["a", "b"]))
    (step,) = path.steps
    assert step[:10] == (0, "age", "age <= 3", 1.5, 3.0, 1.0, 4.0, 1.0, 0.75, 0.75)
    np.testing.assert_allclose(step.contribution, [0.2, -0.2])  # 3/4 of .4 up, 1/4 of .4 down
    assert path.leaves == {1: 0.75, 2: 0.25}
    np.testing.assert_allclose(path.prediction, [0.7, 0.3])


@pytest.mark.parametrize(
    ("estimator", "load"),
    [
        (InnerTreeClassifier(random_state=0), load_iris),
        (InnerTreeRegressor(random_state=0), load_diabetes),
    ],
)
def test_contributions_add_up_to_the_prediction(estimator, load):
    X, y = load(return_X_y=True)
    tree = estimator.fit(X, y)
    told = tree.predict_proba(X) if hasattr(tree, "predict_proba") else tree.predict(X)[:, None]
    for i in range(0, len(X), 10):
        path = tree.explain(X[i])
        np.testing.assert_allclose(path.prediction, told[i], rtol=1e-12)
        assert sum(path.leaves.values()) == pytest.approx(1.0)


def test_the_answer_to_a_category_is_yes_on_the_right():
    values = np.array([[0.5, 0.5], [0.9, 0.1], [0.1, 0.9]])
    tree = FittedTree.make(stump([0.5, 0.5]), NodeValues(values, np.ones(3)))
    words = TreeWords(["thal = normal"], ["a", "b"], ["normal"])
    (step,) = follow_row(tree, np.array([1.0], dtype=np.float32), words).steps
    assert (step.question, step.left, step.yes) == ("thal is normal", 0.0, 1.0)


def test_one_row_at_a_time():
    X, y = load_iris(return_X_y=True)
    tree = InnerTreeClassifier(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="`x` has 2 rows"):
        tree.explain(X[:2])
