import numpy as np
import pytest

from ensemblage.pool import PoolClassTarget, TrainingData, make_cv_folds


@pytest.fixture
def clouds():
    """Three classes in four columns, two of which tell something: rows and labels."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 150)
    X = rng.normal(size=(150, 4))
    X[:, 0] += 1.5 * y
    X[:, 1] += np.where(y == 1, 1.5, 0)
    return X, np.array(["a", "b", "c"])[y]


@pytest.fixture
def rows(clouds):
    """Give the same as a pool reads them, with three folds."""
    X, labels = clouds
    y = np.searchsorted(["a", "b", "c"], labels)
    return TrainingData(X, y, PoolClassTarget(np.arange(3)), None, make_cv_folds(y, 3, 0))
