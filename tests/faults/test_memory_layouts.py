"""Equal values in any memory layout, dtype or dataframe give equal labels."""

from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from made_estimators import CLASSES, CLUSTERS, MADE, REGRESSION, STRATA, fit_on, made_rows

X = made_rows()[0].astype(np.float32).astype(np.float64)  # exact in float32
NAMES = ["a", "b", "c"]
DATAFRAMES = {
    "pandas": lambda: pd.DataFrame(X, columns=NAMES),
    "nullable": lambda: pd.DataFrame(X, columns=NAMES).astype("Float64"),
    "polars": lambda: pl.DataFrame(X, schema=NAMES),
    "arrow": lambda: pa.table(dict(zip(NAMES, X.T, strict=True))),
}
ARRAYS = {
    "fortran": lambda: np.asfortranarray(X),
    "strided": lambda: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "reversed": lambda: X[::-1, ::-1].copy()[::-1, ::-1],
    "big-endian": lambda: X.astype(">f8"),
    "object": lambda: X.astype(object),
    "lists": X.tolist,
}


def labels(made, rows):
    model = fit_on(made, rows)
    if made.kind == CLUSTERS:
        return model.labels_
    if made.kind == STRATA:
        return model.memberships_ > 0.5
    method = "predict" if made.kind in {CLASSES, REGRESSION} else "transform"
    return np.asarray(getattr(model, method)(rows))


@cache
def expected_of(name):
    return labels(MADE[name], X)


def assert_same(made, rows, tolerance):
    expected = expected_of(made.name)
    if made.kind in {CLASSES, CLUSTERS, STRATA}:
        np.testing.assert_array_equal(labels(made, rows), expected)
    else:
        np.testing.assert_allclose(
            np.asarray(labels(made, rows), dtype=float), expected, rtol=tolerance, atol=tolerance
        )


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_any_layout(made, tmp_path):
    for make in ARRAYS.values():
        assert_same(made, make(), 1e-6)
    path = tmp_path / "rows.npy"
    np.save(path, X)
    mapped = np.load(path, mmap_mode="r")
    assert_same(made, mapped, 1e-9)
    frozen = X.copy()
    frozen.flags.writeable = False
    assert_same(made, frozen, 1e-9)
    np.testing.assert_array_equal(np.load(path), X)  # unchanged


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_single_precision(made):
    assert_same(made, X.astype(np.float32), 0.05)


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
@pytest.mark.parametrize("frame", DATAFRAMES)
def test_any_dataframe(made, frame):
    assert_same(made, DATAFRAMES[frame](), 1e-6)
