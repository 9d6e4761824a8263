import numpy as np

from ensemblage.inner._fitted_tree import FittedTree
from ensemblage.inner._tree_choice import NodeValues
from ensemblage.inner._tree_reading import TreeWords, as_dot, as_text, outline, written
from kernels.trees import stump

VALUES = NodeValues(
    np.array([[0.5, 0.5], [0.998, 0.002], [0.25, 0.75]]), np.array([90.0, 5.5, 84.5])
)
WORDS = TreeWords(['petal "width"'], ["a", "b"])


def test_text_by_hand():
    tree = FittedTree.make(stump([2.3, 2.45, 2.6]), VALUES)
    assert as_text(tree, WORDS).splitlines() == [
        'petal "width" <= 2.45 (crowd: 2.3 to 2.6)   [90 rows]',
        "├─ yes: a 100%   [5.5 rows]",
        "└─ no: b 75%, a 25%   [84 rows]",
    ]


def test_numbers_and_crisp_thresholds():
    tree = FittedTree.make(
        stump([2.45]), VALUES._replace(values=np.array([[0.0], [12345.6], [2.0]]))
    )
    lines = as_text(tree, TreeWords(["age"], [])).splitlines()
    assert lines[:2] == ["age <= 2.45   [90 rows]", "├─ yes: 12346   [5.5 rows]"]


def test_thresholds_have_digits_enough():
    assert written(1.00001, 1.0, 1.00002) == ("1.00001", "1", "1.00002")
    assert written(2.0, 2.0, 2.0) == ("2", "2", "2")


def test_numbers_have_no_exponent():
    assert written(59410.0, 40161.0, 59425.5) == ("59410", "40161", "59426")


def test_dot_escapes_names():
    text = as_dot(FittedTree.make(stump([1.0, 2.0]), VALUES), WORDS)
    assert r'n0 [label="petal \"width\" <= 2 (crowd: 1 to 2)\n90 rows"];' in text
    assert 'n0 -> n1 [label="yes"];' in text
    assert text.count("ellipse") == 2


def test_categories_are_asked_for_by_name():
    """One is right of the threshold, and it is the answer yes."""
    tree = FittedTree.make(stump([0.5, 0.5]), VALUES)
    words = TreeWords(["thal = normal"], ["a", "b"], ["normal"])
    assert as_text(tree, words).splitlines() == [
        "thal is normal   [90 rows]",
        "├─ yes: b 75%, a 25%   [84 rows]",
        "└─ no: a 100%   [5.5 rows]",
    ]
    assert 'n0 -> n2 [label="yes"];' in as_dot(tree, words)
    root, yes, _ = outline(tree, words)
    assert root.said == ("thal", " is normal")
    assert (yes.side, yes.shares) == ("yes", (0.25, 0.75))


def test_a_number_whose_name_looks_like_a_category_is_a_number():
    tree = FittedTree.make(stump([0.5, 0.5]), VALUES)
    assert as_text(tree, TreeWords(["thal = normal"], ["a", "b"])).startswith(
        "thal = normal <= 0.5"
    )
