"""Predictions on a Dask collection are lazy."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from blocks.fitted_bits import blobs
from ensemblage.inner import InnerKMeans
from ensemblage.strata import HISS, KMeansStrata, MixtureStrata

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

X = blobs(500)
MODELS = [
    (HISS(3, 0.3, tol=1e3, random_state=0), ["transform", "log_affinity"]),
    (MixtureStrata(3, tol=1e3, random_state=0), ["transform", "log_affinity"]),
    (KMeansStrata(3, random_state=0), ["transform", "log_affinity"]),
    (InnerKMeans(3, n_views=5, random_state=0), ["transform", "predict"]),
]


@pytest.mark.parametrize(("model", "methods"), MODELS)
def test_an_array_is_predicted_chunk_by_chunk(model, methods):
    fitted = clone(model).fit(X)
    for method in methods:
        here = getattr(fitted, method)(X)
        lazy = getattr(fitted, method)(da.from_array(X, chunks=(200, 3)))
        assert lazy.chunks[0] == (200, 200, 100)
        assert (lazy.shape, lazy.dtype) == (here.shape, here.dtype)
        np.testing.assert_allclose(lazy.compute(scheduler="synchronous"), here, rtol=1e-5)


def test_a_dataframe_must_have_the_columns_of_fit():
    frame = pd.DataFrame(X, columns=list("abcd"))
    lazy = dd.from_pandas(frame, npartitions=2)
    fitted = InnerKMeans(3, n_views=5, random_state=0).fit(frame)
    found = fitted.predict(lazy).compute(scheduler="synchronous")
    np.testing.assert_array_equal(found, fitted.predict(frame))
    with pytest.raises(ValueError, match=r"are \['b', 'a', 'c', 'd'\], but fit had"):
        fitted.predict(lazy[list("bacd")])


def test_invalid_input_raises_before_computation():
    with pytest.raises(NotFittedError):
        HISS().transform(da.from_array(X))
    fitted = HISS(2, 0.3, tol=1e3).fit(X)
    with pytest.raises(ValueError, match="X has 3 features, but HISS is expecting 4 features"):
        fitted.transform(da.from_array(X[:, :3]))
    with pytest.raises(ValueError, match="must be a numeric two-dimensional Dask array"):
        fitted.transform(da.from_array(X[:, 0]))
