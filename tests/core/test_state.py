from types import SimpleNamespace

import numpy as np
import pytest

from ensemblage._core import DamagedStateError, expect, expect_array, expect_fitted


def owner(**attributes):
    return SimpleNamespace(**attributes)


def test_valid_arrays_pass():
    expect(True, "never shown")
    expect_array(owner(a=np.array([[0.0, 1.0]])), "a", (None, 2), low=0, high=1)
    expect_array(owner(a=np.array([], dtype=np.int32)), "a", (0,), "integer", low=0)
    expect_array(owner(a=np.array([True])), "a", (1,), "truth")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (None, "a is no array of float values"),
        (np.array([1, 2]), "a is no array of float values"),
        (np.zeros(3), r"a has shape \(3,\), not \(2,\)"),
        (np.zeros((2, 1)), r"a has shape \(2, 1\), not \(2,\)"),
        (np.array([0.0, np.nan]), "not finite"),
        (np.array([0.0, np.inf]), "not finite"),
        (np.array([0.0, -0.5]), "a holds -0.5, below 0"),
        (np.array([0.0, 1.5]), "a holds 1.5, above 1"),
    ],
)
def test_invalid_arrays_are_named(array, message):
    with pytest.raises(DamagedStateError, match=message):
        expect_array(owner(a=array), "a", (2,), low=0, high=1)


def test_what_is_missing_is_named():
    with pytest.raises(DamagedStateError, match="a is no array"):
        expect_array(owner(), "a", (2,))


RULES = {
    "n": "count 1..9",
    "x": "float (rows, columns) 0..1",
    "y": "integer (rows) 0..<columns",
    "names": "strings (columns)",
    "labels": "labels (rows)",
    "scale": "number",
    "done": "flag",
    "note": "optional string",
}


def whole():
    return {
        "n": 3, "x": np.full((2, 3), 0.5), "y": np.array([0, 2]), "names": ["a", "b", "c"],
        "labels": np.array(["u", "v"]), "scale": 1.5, "done": True, "note": None,
    }  # fmt: skip


def test_rules_that_are_met_pass():
    expect_fitted(owner(**whole()), RULES)
    expect_fitted(owner(**whole()), RULES, columns=3)


@pytest.mark.parametrize(
    ("name", "forged"),
    [
        ("n", 2.0), ("n", 2**60), ("n", 0), ("n", True), ("x", np.full((2, 3), 2.0)), ("x", None),
        ("y", np.array([0, 3])), ("y", np.array([-1, 0])), ("names", ["a", "b"]),
        ("names", ["a", "b", 3]), ("names", "abc"), ("labels", np.array(["u", "u"])),
        ("labels", ["u", "v"]), ("labels", np.array([1.0, np.nan])), ("scale", np.nan),
        ("scale", "1"), ("done", 1), ("note", 3),
    ],
)  # fmt: skip
def test_rules_that_are_not_met_are_refused(name, forged):
    with pytest.raises(DamagedStateError, match=name):
        expect_fitted(owner(**(whole() | {name: forged})), RULES)
