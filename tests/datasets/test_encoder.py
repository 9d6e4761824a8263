import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.datasets import load_dataset, table_encoder


def test_by_hand():
    X = np.array([[1.0, "a"], [3.0, None], [np.nan, "a"], [2.0, "b"]], dtype=object)
    encoded = table_encoder(["number", "word"]).fit_transform(X)
    # 1, 3, median 2, 2: mean 2, variance 1/2; then the mark of the missing cell; a, b, missing
    root = np.sqrt(2)
    np.testing.assert_allclose(encoded[:, 0], [-root, root, 0, 0], atol=1e-12)
    assert encoded[2, 1] > 0 > encoded[0, 1]
    np.testing.assert_array_equal(encoded[:, 2:], [[1, 0, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0]])


def test_new_categories_and_newly_missing_cells_are_harmless():
    encoder = table_encoder(["number", "word"])
    encoder.fit(np.array([[1.0, "a"], [2.0, "b"]], dtype=object))
    new = encoder.transform(np.array([[np.nan, "c"], [1.5, None]], dtype=object))
    np.testing.assert_allclose(new, [[0, 0, 0], [0, 0, 0]], atol=1e-12)


def test_empty_and_constant_columns_are_harmless():
    X = np.array([[np.nan, None, 7.0], [np.nan, None, 7.0]], dtype=object)
    encoded = table_encoder(["number", "word", "number"]).fit_transform(X)
    assert np.isfinite(encoded).all()


def test_rare_categories_are_put_together():
    X = np.array([[f"name {i}"] for i in range(500)], dtype=object)
    assert table_encoder(["word"], max_categories=10).fit_transform(X).shape == (500, 10)


def test_unknown_kind():
    with pytest.raises(ValueError, match="'word' or 'date', got 'name'"):
        table_encoder(["number", "name"])


def test_real_mixed_data_gives_finite_numbers(shared):
    data = load_dataset("labor", shared / "data")
    encoded = table_encoder(data.kinds).fit_transform(data.X)
    assert encoded.dtype == np.float64
    assert np.isfinite(encoded).all()


cells = st.tuples(
    st.one_of(st.just(np.nan), st.floats(-1e50, 1e50)),
    st.one_of(st.none(), st.text(max_size=3)),
)


@given(st.lists(cells, min_size=1, max_size=8))
def test_output_is_finite_and_repeatable(rows):
    X = np.empty((len(rows), 2), dtype=object)
    X[:] = rows
    encoder = table_encoder(["number", "word"])
    first = encoder.fit_transform(X)
    assert np.isfinite(first).all()
    np.testing.assert_array_equal(first, encoder.transform(X))
