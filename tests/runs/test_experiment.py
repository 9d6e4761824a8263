"""Keys and seeds of cells."""

import hashlib

from ensemblage.runs import Cell


def test_a_key_by_hand():
    cell = Cell("squares", {"x": 3, "a": "b"}, version=2, data="abc")
    text = '["squares",{"a":"b","x":3},2,"abc"]'
    assert cell.key == hashlib.sha256(text.encode()).hexdigest()
    assert cell.seed == int(cell.key[:8], 16) < 2**32


def test_the_order_of_parameters_does_not_count_but_their_values_do():
    assert Cell("e", {"a": 1, "b": 2}).key == Cell("e", {"b": 2, "a": 1}).key
    different = [
        Cell("e", {"a": 1}),
        Cell("f", {"a": 1}),
        Cell("e", {"a": 2}),
        Cell("e", {"a": 1}, 2),
    ]
    assert len({cell.key for cell in different}) == 4
