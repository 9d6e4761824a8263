import numpy as np
import pytest
from sklearn.preprocessing import TargetEncoder

from ensemblage.parallel import deal_folds
from ensemblage.tables._target_means import means_of_other_folds

RNG = np.random.default_rng(0)
CODES = RNG.integers(12, size=(90, 2)).astype(np.int32)
TARGETS = {
    "numbers": RNG.normal(size=90),
    "two classes": RNG.choice(["no", "yes"], size=90),
    "three classes": RNG.choice([3, 7, 9], size=90),
    "a rare class": np.where(np.arange(90) < 2, "rare", RNG.choice(["a", "b"], size=90)),
}


def crossed(y, n_folds=3):
    labels = np.unique(y, return_inverse=True)[1] if y.dtype != float else np.zeros(90, int)
    folds = deal_folds(labels, n_folds, np.random.default_rng(1))
    return means_of_other_folds(TargetEncoder().fit(CODES, y), CODES, y, folds), folds


def test_by_hand():
    codes, y = np.array([[0], [0], [1], [1]], dtype=np.int32), np.array([1.5, 3.5, 5.5, 5.5])
    folds = [(np.array([0, 2]), np.array([1, 3])), (np.array([1, 3]), np.array([0, 2]))]
    found = means_of_other_folds(TargetEncoder().fit(codes, y), codes, y, folds)
    # one row each, without any spread of its own: its value is the mean
    np.testing.assert_array_equal(found, [[3.5], [1.5], [5.5], [5.5]])


@pytest.mark.parametrize("y", TARGETS.values(), ids=TARGETS)
@pytest.mark.usefixtures("callbacks")  # as new as folds are
def test_equals_scikit_learns_bit_for_bit(y):
    found, folds = crossed(y)
    np.testing.assert_array_equal(found, TargetEncoder(cv=folds).fit_transform(CODES, y))


@pytest.mark.parametrize("y", TARGETS.values(), ids=TARGETS)
def test_a_rows_own_value_has_no_part_in_its_mean(y):
    found, folds = crossed(y)
    other = y.copy()
    other[folds[0].test] = y[folds[0].test][::-1]
    again = means_of_other_folds(TargetEncoder().fit(CODES, other), CODES, other, folds)
    np.testing.assert_array_equal(again[folds[0].test], found[folds[0].test])
    assert (again != found).any()
