import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.datasets import Reading
from ensemblage.datasets._delimited import parse_delimited, split_text
from ensemblage.datasets._encoding import Decoded
from ensemblage.datasets._reading_options import Request


def parse(text, *, tabs=False, **reading):
    request = Request("a.csv", reading=Reading(**reading))
    return parse_delimited(Decoded(text, "UTF-8"), request, tabs=tabs)


def test_quotes_blanks_and_line_ends():
    table = parse('x , y\r\n 1 ,"a, ""b"""\r\n\r\n2,\r\n')
    assert table.names == ("x", "y")
    assert table.column("x").tolist() == [1.0, 2.0]
    assert table.column("y").tolist() == ['a, "b"', None]


def test_a_quoted_value_and_a_heading_may_have_lines():
    table = parse('x,"the\ny"\n1,"two\nlines"\n')
    assert table.names == ("x", "the y")
    assert table.column("the y").tolist() == ["two\nlines"]


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("x\ty\n1\t2\n", "\t"),
        ("x;y\n1;2\n", ";"),
        ("x|y\n1|2\n", "|"),
        ("size, cm;pay\n1,5;2,5\n2,5;3,5\n", ";"),
        ("1,5;2,5\n2,5;3,5\n", ";"),
        ("x,text\n1,a; b; c\n2,d; e\n", ","),
        ("x y\n1  2\n 3 4\n", " "),
        ("x, y\n1, 2\n3, 4\n", ","),
        ('x;y\n1;"a\n,b,c"\n2;"d"\n', ";"),
        ("name\nJohn Smith\nJane Doe\n", ","),
    ],
)
def test_the_separator_is_the_one_that_explains_the_rows(text, separator):
    assert split_text(text, "a.csv").separator == separator


def test_a_long_text_is_split_as_its_first_lines_are_if_all_agree():
    plain = "x;y\n" + "1,5;2\n" * 50_000
    assert split_text(plain, "a.csv").separator == ";"
    other = "x;y\n" + "1,5;2\n" * 34_000 + "1,2\n" * 50_000
    assert split_text(other, "a.csv").separator == ","
    assert split_text(";,\t|" * 60_000, "a.csv").separator == "\t"


def test_what_is_promised_or_said():
    assert parse("x\ty,z\n1\t2,3\n2\t3,4\n", tabs=True).names == ("x", "y,z")
    assert parse("x,y\n1,2\n", tabs=True).names == ("x", "y")
    assert parse("sep=|\nx|y,z\n1|2\n").names == ("x", "y,z")
    assert parse("x:y\n1:2\n", separator=":").names == ("x", "y")
    assert parse("x y\n'a 1\n", separator=" ").names == ("x", "y")


def test_blanks_keep_quoted_values_together():
    rows = split_text('18.0 8 "chevrolet malibu"\n15 8 "buick ""x"" 320"\n', "a.csv").lines.rows
    assert rows == [["18.0", "8", "chevrolet malibu"], ["15", "8", 'buick "x" 320']]


def test_inches_inside_quotes_are_no_quotation():
    table = parse('a,b\n"24" screen",1\n"12" x",2\n')
    assert table.column("a").tolist() == ['24" screen', '12" x']


def test_escaped_quotes_and_apostrophes():
    table = parse('a,b\n"say \\"hi\\", you",1\n"x",2\n')
    assert table.column("a").tolist() == ['say "hi", you', "x"]
    weka = parse("a,b\n'over, cast',1\n'x',2\n'y',3\n")
    assert weka.column("a").tolist() == ["over, cast", "x", "y"]
    assert parse("a,b\nO'Neil,1\nrock 'n' roll,2\n").column("a").tolist()[0] == "O'Neil"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a.csv is empty"),
        (" \n\n", "a.csv is empty"),
        (",,\n,,\n", "a.csv is empty"),
        ('x,y\n1,"2\n3,4\n', "Line 2 of a.csv cannot be read .* quotation mark"),
        ("x,y\n1," + "z" * 200_000, "Line 2 of a.csv cannot be read .*field larger"),
    ],
)
def test_bad_text_names_the_line(text, message):
    with pytest.raises(ValueError, match=message):
        parse(text)


@given(st.text())
def test_any_text_is_a_table_or_a_value_error(text):
    try:
        table = parse(text)
    except ValueError:
        return
    assert table.n_rows > 0


@given(st.text(alphabet="0123456789.,;'\"\t #%-/ab\n"))
def test_text_like_numbers_is_a_table_or_a_value_error(text):
    try:
        table = parse(text)
    except ValueError:
        return
    assert table.n_rows > 0
