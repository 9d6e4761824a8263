import numpy as np
import pytest

from ensemblage.methods import compare
from methods.homes import homes


@pytest.mark.parametrize("quick", [False, True])
def test_residuals_are_of_the_rows_that_they_belong_to(quick):
    data = homes(source="site")
    result = compare(data, methods=["ridge", "mean"], n_splits=3, n_repeats=2, quick=quick)
    found = result.residuals
    assert (found.method, found.intervals) == ("ridge", None)
    np.testing.assert_array_equal(found.numbers, data.y)  # every row is tested once
    np.testing.assert_array_equal(found.row_sources, data.sources)
    missed = np.subtract(found.numbers, found.predicted)
    folds = np.mean(np.square(result.methods[0].rmse[:3]))
    assert np.mean(missed**2) == pytest.approx(folds)
    assert sum(each.rows for each in found.sources) == len(data.y)
    north = missed[data.sources == "north"]
    assert {each.source: each.bias for each in found.sources}["north"] == pytest.approx(
        north.mean()
    )


def test_of_classes_there_are_none():
    X = np.random.default_rng(0).normal(size=(40, 2))
    result = compare(X, X[:, 0] > 0, ["majority"], n_splits=2)
    assert result.residuals is None
