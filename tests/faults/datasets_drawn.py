"""Hypothesis strategy for datasets of any shape and magnitude, shared by all estimators."""

import os
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

# Number of datasets per estimator; 0 for the default of each test.
EXAMPLES = int(os.environ.get("ENSEMBLAGE_EXAMPLES", "0"))


class Drawn(NamedTuple):
    """Rows, classes, numeric target, and weights or None."""

    X: Any
    classes: Any
    numeric: Any
    weights: Any


@st.composite
def drawn_datasets(draw):
    """Draw small datasets with ties, constant and duplicate columns, and any magnitude."""
    n_rows, n_columns = draw(st.integers(2, 24)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(n_rows, n_columns))
    if draw(st.booleans()):
        X = np.round(X)  # ties
    for j in range(n_columns):
        X[:, j] = _changed(draw, X, j)
    kind = draw(st.sampled_from(["f8", "f8", "f8", "f4", "f2", "i8", "i1", "?"]))
    with np.errstate(all="ignore"):
        X = X.astype(kind)
    if X.dtype.kind == "f":
        X = np.nan_to_num(X, nan=0.0, posinf=np.finfo(X.dtype).max, neginf=0)
    if draw(st.integers(0, 4)) == 0:
        X = X[rng.integers(0, max(1, n_rows // 4), n_rows)]  # equal rows
    n_classes = draw(st.integers(1, 4))
    labels = rng.integers(0, n_classes, n_rows)
    names = draw(
        st.sampled_from([np.arange(4), np.array(["a", "b", "c", "d"]), np.arange(4) - 9.0])
    )
    numeric = rng.normal(size=n_rows) * 10.0 ** draw(st.integers(-160, 160))
    return Drawn(X, names[labels], numeric, _weights(draw, rng, n_rows))


def _changed(draw, X, j):
    how = draw(
        st.sampled_from(["unchanged"] * 3 + ["constant", "copy", "scaled", "far", "outlier"])
    )
    column = X[:, j].copy()
    if how == "constant":
        column[:] = draw(st.sampled_from([0.0, 1.0, -1e300, 1e-300, 5e-324]))
    elif how == "copy":
        column = X[:, 0].copy()
    elif how == "scaled":
        column *= 10.0 ** draw(st.integers(-300, 300))
    elif how == "far":
        column += 10.0 ** draw(st.integers(0, 300))
    elif how == "outlier":
        column[0] = 10.0 ** draw(st.integers(0, 308))
    return column


def _weights(draw, rng, n_rows):
    how = draw(st.sampled_from(["none", "none", "some", "zeros", "scaled"]))
    if how == "none":
        return None
    weights = rng.uniform(0.1, 3.0, n_rows)
    if how == "zeros":
        weights[rng.random(n_rows) < 0.5] = 0.0
    if how == "scaled":
        weights *= 10.0 ** draw(st.integers(-300, 300))
    return weights
