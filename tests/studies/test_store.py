"""The file of results: what goes in comes out, and what does not belong is refused."""

import sqlite3
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage import __version__
from ensemblage.studies import Cell, CellResult, ResultStore, ResultStoreError, plain_values

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def cell(x=1, **more):
    return Cell("thirds", {"x": x, **more}, version=2, data="abc")


def result(x=1, error="", **values):
    return CellResult(cell(x), values, seconds=0.25, error=error)


@pytest.fixture
def store(tmp_path):
    with ResultStore(tmp_path / "r.sqlite") as made:
        yield made


def test_a_result_comes_back_as_it_was(store):
    store.put(result(third=1 / 3))
    found = store.get([cell().key, "no such key"])
    assert found == {cell().key: result(third=1 / 3)}
    assert found[cell().key].cell.key == cell().key


@given(st.dictionaries(st.text(), PLAIN, max_size=4))
def test_any_plain_values_come_back_bit_by_bit(values):
    with ResultStore(":memory:") as store:
        store.put(CellResult(cell(2), values, 0.0))
        back = store.get([cell(2).key])[cell(2).key].values
    assert back == values
    assert repr(back) == repr(values)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_keep_every_bit(number):
    with ResultStore(":memory:") as store:
        store.put(CellResult(cell(), {"v": number}, 0.0))
        back = store.get([cell().key])[cell().key].values["v"]
    assert struct.pack("<d", back) == struct.pack("<d", number)


def test_values_are_never_replaced_but_errors_are(store):
    store.put(result(error="ValueError: no"))
    assert store.get([cell().key])[cell().key].error == "ValueError: no"
    store.put(result(third=2.0))
    store.put(result(third=3.0))
    store.put(result(error="ValueError: again"))
    assert store.get([cell().key])[cell().key] == result(third=2.0)
    assert len(store) == 1


def test_arrays_keep_every_bit_and_their_missing_values(store):
    arrays = store.arrays()
    assert arrays.get("k") is None
    made = np.array([[1 / 3, np.nan, -0.0], [5e-324, 1e308, 0.1]])
    arrays["k"] = made
    with ResultStore(store.path) as other:
        back = other.arrays().get("k")
    assert back.dtype == np.float64
    assert back.tobytes() == made.tobytes()
    arrays["k"] = made[:1]  # unlike a result it is replaced
    assert arrays.get("k").tobytes() == made[:1].tobytes()
    with pytest.raises(ValueError, match="is inf; give a finite number"):
        arrays["k"] = np.array([np.inf])
    assert (len(store), arrays.get("other")) == (1, None)


@pytest.mark.parametrize(
    "text",
    ["{broken", "[]", "{}", '{"array": [[1], [1, 2]]}', '{"array": "x"}', '{"array": {"a": 1}}',
     '{"array": 1' + 400 * "0" + "}", "[" * 100_000],
)  # fmt: skip
def test_a_damaged_array_is_none_and_can_be_replaced(store, text):
    arrays = store.arrays()
    arrays["k"] = np.ones(2)
    store._connection.execute("UPDATE cells SET cell_values = ?", (text,))
    assert arrays.get("k") is None
    arrays["k"] = np.zeros(2)
    assert arrays.get("k").tolist() == [0, 0]


def test_more_keys_than_a_statement_takes(store):
    for x in range(3):
        store.put(result(x, v=x))
    keys = [cell(x).key for x in range(1700)]
    assert set(store.get(keys)) == set(keys[:3])


def test_iteration_gives_every_result(store):
    for x in range(5):
        store.put(result(x, v=x))
    assert {each.values["v"] for each in store} == set(range(5))


def test_another_connection_sees_a_cell_at_once(store):
    store.put(result(v=1))
    with sqlite3.connect(store.path) as other:
        row = other.execute("SELECT experiment, params, version, data, library FROM cells")
        assert row.fetchone() == ("thirds", '{"x":1}', 2, "abc", __version__)
    other.close()
    # one file at rest, so that it can be copied
    assert [path.name for path in store.path.parent.iterdir()] == ["r.sqlite"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (float("nan"), r"values\['v'\] is nan; give a finite number, or None"),
        (np.float64("inf"), r"values\['v'\] is inf"),
        ([1.0, float("-inf")], r"values\['v'\]\[1\] is -inf"),
        ({"a": float("nan")}, r"values\['v'\]\['a'\] is nan"),
        ({1: 2}, "keys must be text"),
        (object(), "of type object; give text, numbers"),
        (b"bytes", "of type bytes"),
    ],
)
def test_what_json_does_not_hold_is_refused(store, value, message):
    with pytest.raises((TypeError, ValueError), match=message):
        store.put(result(v=value))
    assert len(store) == 0


def test_numpy_becomes_plain():
    given_values = {"a": np.float32(0.5), "b": np.arange(3), "c": np.bool_(True), "d": (1, None)}
    plain = plain_values(given_values)
    assert plain == {"a": 0.5, "b": [0, 1, 2], "c": True, "d": [1, None]}
    assert type(plain["c"]) is bool


def test_values_must_have_names():
    with pytest.raises(TypeError, match="must return a dict of values, got list"):
        plain_values([1, 2])


def test_a_file_that_is_no_database(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,pay\n" * 200, encoding="utf-8")
    with pytest.raises(ResultStoreError, match=r"people\.csv is not a results file"):
        ResultStore(path)
    assert path.read_text(encoding="utf-8").startswith("age,pay")


def test_a_database_of_something_else(tmp_path):
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE cells (a)")
    other.close()
    with pytest.raises(ResultStoreError, match="not an Ensemblage results file"):
        ResultStore(path)


def test_a_newer_schema(tmp_path):
    path = tmp_path / "r.sqlite"
    ResultStore(path).close()
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA user_version = 7")
    other.close()
    with pytest.raises(
        ResultStoreError, match=r"newer Ensemblage .schema 7; version .* supports 1"
    ):
        ResultStore(path)


def test_an_empty_file_becomes_a_store(tmp_path):
    # what a kill between making the file and the first commit leaves
    path = tmp_path / "r.sqlite"
    path.touch()
    with ResultStore(path) as store:
        assert len(store) == 0


def test_places_that_cannot_be(tmp_path):
    with pytest.raises(ResultStoreError, match="it is a folder; name a file"):
        ResultStore(tmp_path)
    with pytest.raises(ResultStoreError, match="there is no folder"):
        ResultStore(tmp_path / "nowhere" / "r.sqlite")


def test_a_file_in_use_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("ensemblage.studies._store.LOCK_SECONDS", 0.05)
    with ResultStore(tmp_path / "r.sqlite") as store:
        other = sqlite3.connect(store.path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(ResultStoreError, match="locked by another program"):
            store.put(result(v=1))
        other.execute("ROLLBACK")
        other.close()
        store.put(result(v=1))


def test_a_damaged_file_says_so(tmp_path):
    path = tmp_path / "r.sqlite"
    with ResultStore(path) as store:
        for x in range(200):
            store.put(result(x, v="x" * 50))
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with ResultStore(path) as store, pytest.raises(ResultStoreError, match="is damaged"):
        list(store)
