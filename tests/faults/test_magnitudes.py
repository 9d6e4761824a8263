"""Values of any magnitude and dtype: finite results or a clear error, never NaN or infinity."""

import re
import warnings
from functools import partial
from itertools import product

import numpy as np
import pytest

from made_estimators import (
    MADE,
    REGRESSION,
    are_finite,
    attempt,
    fit_on,
    made_rows,
    outputs_of,
    pairs,
)

X, Y, NUMERIC = made_rows()
METHODS = ("predict", "predict_proba", "transform", "log_affinity")
SCALES = [1e-300, 1e-162, 1e-158, 1e-155, 1e-20, 1e20, 1e100, 1e155, 1e200, 1e300]
NARROW = [1e-38, 1e-20, 1e20, 1e37]
REMEDY = r"[Ss]cale|unit|too large for dtype|No member of the pool|its squares overflow|Divide"


def with_outlier(value):
    rows = X.copy()
    rows[3, 1] = value
    return rows


CASES = {
    **{f"times {scale:g}": X * scale for scale in SCALES},
    **{f"float32 times {scale:g}": (X * scale).astype(np.float32) for scale in NARROW},
    **{f"plus {offset:g}": X + offset for offset in (1e9, 1e15, 1e300)},
    "float32 plus 1e6": (X + 1e6).astype(np.float32),
    "float32 plus 1e8": (X + 1e8).astype(np.float32),
    "float16": X.astype(np.float16),
    "large float16": (X * 1e4).astype(np.float16),
    "long double": X.astype(np.longdouble),
    "int8": (X * 30).astype(np.int8),
    "uint8": np.abs(X * 30).astype(np.uint8),
    "large int64": (X * 2**60).astype(np.int64),
    "boolean": X > 0,
    "mixed": X * [1e-150, 1.0, 1e150],
    "far apart": X * [1e-300, 1.0, 1e300],
    "the largest": np.sign(X) * 1.7e308,
    "the smallest": np.sign(X) * 5e-324,
    **{f"an outlier of {value:g}": with_outlier(value) for value in (1e18, 1e200, 1e300)},
}


def finite_or_error(made, rows, truth):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model, error = attempt(lambda: fit_on(made, rows, truth))
        if error:
            return error, caught
        assert are_finite(outputs_of(model, rows))
        assert are_finite({
            name: value for name, value in vars(model).items() if isinstance(value, np.ndarray)
        })  # fmt: skip
    return "", caught


@pytest.mark.parametrize(("made", "case"), pairs(CASES))
def test_rows_of_any_magnitude(made, case):
    error, caught = finite_or_error(made, CASES[case], NUMERIC if made.kind == REGRESSION else Y)
    assert not error or re.search(REMEDY, error), error
    if case != "the largest":  # scikit-learn's check sums the values
        assert [str(each.message) for each in caught if each.category is RuntimeWarning] == []


@pytest.mark.parametrize("name", [name for name, made in MADE.items() if made.kind == REGRESSION])
@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e-160, 1e-100, 1e100, 1e150, 1e160, 1e300])
def test_numeric_targets_of_any_magnitude(name, scale):
    error, caught = finite_or_error(MADE[name], X, NUMERIC * scale)
    assert not error or re.search(REMEDY, error), error
    assert [str(each.message) for each in caught if each.category is RuntimeWarning] == []


@pytest.mark.parametrize("name", [name for name, made in MADE.items() if made.kind == REGRESSION])
def test_numeric_targets_far_from_zero(name):
    error, caught = finite_or_error(MADE[name], X, NUMERIC + 1e15)
    assert error == ""
    assert [str(each.message) for each in caught if each.category is RuntimeWarning] == []


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_new_rows_of_any_magnitude(made):
    model = fit_on(made, X)
    methods = [name for name in METHODS if hasattr(model, name)]
    for name, far in product(methods, [1e30, 1e100, 1e155, 1e300]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            output, error = attempt(partial(getattr(model, name), X * far))
        assert (
            re.search(REMEDY + "|overflow", error)
            if error
            else are_finite({name: np.asarray(output)})
        )
