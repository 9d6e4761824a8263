import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.datasets._delimited import parse_delimited


def test_quotes_blanks_and_line_ends():
    table = parse_delimited('x , y\r\n 1 ,"a, ""b"""\r\n\r\n2,\r\n', "a.csv")
    assert table.names == ("x", "y")
    assert table.column("x").tolist() == [1.0, 2.0]
    assert table.column("y").tolist() == ['a, "b"', None]


@pytest.mark.parametrize(
    ("text", "tabs"), [("x\ty\n1\t2\n", True), ("x;y\n1;2\n", False), ("x\ty\n1\t2\n", False)]
)
def test_separators(text, tabs):
    table = parse_delimited(text, "a", tabs=tabs)
    assert table.names == ("x", "y")
    assert table.to_array().tolist() == [[1.0, 2.0]]


def test_a_column_without_a_name_gets_one():
    assert parse_delimited(",x\n0,1\n", "a.csv").names == ("column_1", "x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a.csv is empty"),
        (" \n\n", "a.csv is empty"),
        ("x,y\n", "a.csv has a header line but no rows"),
        ("x,y\n1,2\n3\n", "Line 3 of a.csv has 1 values, but the header has 2"),
        ("x,y\n1,2,3\n", "Line 2 of a.csv has 3 values"),
        ("x,x\n1,2\n", "In a.csv: Column names must differ, but 'x' occurs"),
        ('x,y\n1,"2\n3,4\n', "Line 3 of a.csv cannot be read .* quotation mark"),
        ("x,y\n1," + "z" * 200_000, "Line 2 of a.csv cannot be read .*field larger"),
    ],
)
def test_bad_text_names_the_line(text, message):
    with pytest.raises(ValueError, match=message):
        parse_delimited(text, "a.csv")


@given(st.text())
def test_any_text_is_a_table_or_a_value_error(text):
    try:
        table = parse_delimited(text, "text")
    except ValueError:
        return
    assert table.n_rows > 0
