"""Our copy of skops beside the one that everybody else gets."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from skops import io as theirs
from skops.io import _trusted_types

from ensemblage.persistence._skops import _plain_lists, skops_io


def test_the_copy_is_ours_alone():
    ours = skops_io()
    assert ours is not theirs
    assert ours is skops_io()
    data = theirs.dumps(LogisticRegression())
    assert theirs.get_untrusted_types(data=data) == []
    name = "sklearn.linear_model._logistic.LogisticRegression"
    assert ours.get_untrusted_types(data=data) == [name]
    assert ours.loads(data, trusted=[name]).C == 1.0


def test_skops_imported_later_is_whole():
    script = (
        "from ensemblage.persistence._skops import skops_io\n"
        "ours = skops_io()\n"
        "import skops\n"
        "assert not hasattr(skops, 'io')\n"
        "from skops import io\n"
        "import skops.io._trusted_types as lists\n"
        "assert io is not ours and len(lists.SKLEARN_ESTIMATOR_TYPE_NAMES) > 100\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_plain_values_are_those_of_skops():
    lists, later = _plain_lists(), {"NUMPY_RANDOM_BIT_GENERATOR_TYPE_NAMES"}  # not in skops 0.14
    ours, known = {name for name in vars(lists) if name.endswith("_NAMES")}, vars(_trusted_types)
    assert ours - later <= set(known)
    for name in ours & set(known):
        assert set(getattr(lists, name)) == set(known[name]), name
    assert lists.SKLEARN_ESTIMATOR_TYPE_NAMES == []


def test_loading_a_model_leaves_most_of_scikit_learn_alone(tmp_path):
    path = tmp_path / "model.skops"
    from ensemblage.persistence import save

    save(LogisticRegression().fit(np.eye(2), [0, 1]), path)
    script = (
        "import sys; from ensemblage.persistence import load\n"
        f"load({str(path)!r})\n"
        "heavy = {'pytest', 'numba', 'sklearn.neural_network', 'dask', 'sklearn.tree'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]"


def test_the_copy_without_trees_reads_all_but_them():
    light, whole = skops_io(trees=False), skops_io()
    assert light is not whole
    data = whole.dumps(LogisticRegression())
    assert light.get_untrusted_types(data=data) == whole.get_untrusted_types(data=data)
    tree = DecisionTreeClassifier().fit(np.eye(2), [0, 1])
    with pytest.raises(TypeError, match="Can't find loader TreeNode"):
        light.get_untrusted_types(data=whole.dumps(tree))
