import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.datasets import ReadOptions
from ensemblage.datasets._options import Request
from ensemblage.datasets._text import (
    decode,
    decompress,
    detect_piecewise,
    parse_delimited,
    split_text,
    table_from_lines,
)

TEXT = "naïve,œuvre,Straße\n1,2,3\n"
ROWS = [(["a", "b"], 1), (["1", "x"], 2), (["2,5", "y"], 3)]


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (TEXT.encode(), "UTF-8"),
        (TEXT.encode("utf-8-sig"), "UTF-8"),
        (TEXT.encode("utf-16"), "UTF-16"),
        (TEXT.encode("utf-16-le"), "UTF-16"),
        (TEXT.encode("utf-16-be"), "UTF-16"),
        (TEXT.encode("utf-32"), "UTF-32"),
        (TEXT.encode("cp1252"), "Windows-1252"),
    ],
)
def test_encodings_are_found(data, encoding):
    assert decode(data, "a.csv") == (TEXT, encoding)


def test_windows_1252_and_latin_1():
    assert decode("é".encode("latin-1"), "a.csv") == ("é", "Latin-1")
    assert decode("é€".encode("cp1252"), "a.csv") == ("é€", "Windows-1252")


def test_line_endings_become_line_feeds():
    assert decode(b"a\r\nb\rc\n\x1a", "a.csv")[0] == "a\nb\nc\n"


def test_given_encoding():
    assert decode("é".encode("cp850"), "a.csv", "cp850") == ("é", "cp850")
    with pytest.raises(
        ValueError, match=r"Line 2 of a\.csv is not UTF-8 text \(byte 0xe9\): set `enc"
    ):
        decode(b"x\n\xe9\n", "a.csv", "utf-8")
    with pytest.raises(ValueError, match="is not Windows-1252 text"):
        decode(b"x\n\xe9\x81\n", "a.csv")


@pytest.mark.parametrize(
    "data", [b"\x89PNG\r\n\x00\x00\x00\rIHDR", b"\x01\x02\x03\xff" * 50, b"a,b\n\x00,1\n"]
)
def test_binary_files_are_refused(data):
    with pytest.raises(ValueError, match=r"a\.csv is not a text file"):
        decode(data, "a.csv")


def test_gzip_is_decompressed_or_refused():
    compressed = gzip.compress(b"x,y\n1,2\n" * 100)
    assert decompress(compressed, "a.csv.gz") == b"x,y\n1,2\n" * 100
    assert decompress(b"x,y", "a.csv") == b"x,y"
    for damaged in (compressed[:-9], compressed[:20] + b"x" + compressed[21:]):
        with pytest.raises(ValueError, match=r"a\.csv\.gz is truncated or damaged"):
            decompress(damaged, "a.csv.gz")
    with pytest.raises(ValueError, match="unpacks to more than 100 times its size"):
        decompress(gzip.compress(bytes(65 * 2**20)), "a.csv.gz")


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "latin-1"])
def test_encoding_from_chunks(size, encoding):
    data = TEXT.replace("œ", "o" if encoding == "latin-1" else "œ").encode(encoding)
    # the first chunk is long enough for a byte-order mark
    chunks = [data[:4], *(data[i : i + size] for i in range(4, len(data), size))]
    assert detect_piecewise(chunks) == encoding


def test_encodings_that_need_the_whole_text():
    assert detect_piecewise([TEXT.encode("utf-16-le")]) is None
    assert detect_piecewise([bytes(range(1, 256))]) is None
    assert detect_piecewise(["ö".encode()[:1]]) == "latin-1"


@pytest.mark.parametrize(
    ("arguments", "note"),
    [
        ((), "Read with decimal mark ','."),
        ((";",), "Read with separator ';' and decimal mark ','."),
        (
            ("\t", "Latin-1"),
            "Read with separator tab, decimal mark ',' and encoding Latin-1.",
        ),
    ],
)
def test_format_note(arguments, note):
    table = table_from_lines(ROWS, Request("a.csv"), *arguments)
    assert table.column("a").tolist() == [1.0, 2.5]
    assert table.notes == (note,)


def test_default_format_has_no_note():
    table = table_from_lines([(["a"], 1), (["1"], 2)], Request("a.csv"))
    assert table.notes == ()


def parse(text, *, tabs=False, **options):
    request = Request("a.csv", options=ReadOptions(**options))
    return parse_delimited(text, "UTF-8", request, tabs=tabs)


def test_quotes_spaces_and_line_endings():
    table = parse('x , y\r\n 1 ,"a, ""b"""\r\n\r\n2,\r\n')
    assert table.names == ("x", "y")
    assert table.column("x").tolist() == [1.0, 2.0]
    assert table.column("y").tolist() == ['a, "b"', None]


def test_line_breaks_in_values_and_names():
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
def test_separator_is_inferred(text, separator):
    assert split_text(text, "a.csv").separator == separator


def test_separator_of_long_texts():
    plain = "x;y\n" + "1,5;2\n" * 50_000
    assert split_text(plain, "a.csv").separator == ";"
    other = "x;y\n" + "1,5;2\n" * 34_000 + "1,2\n" * 50_000
    assert split_text(other, "a.csv").separator == ","
    assert split_text(";,\t|" * 60_000, "a.csv").separator == "\t"


def test_given_and_declared_separators():
    assert parse("x\ty,z\n1\t2,3\n2\t3,4\n", tabs=True).names == ("x", "y,z")
    assert parse("x,y\n1,2\n", tabs=True).names == ("x", "y")
    assert parse("sep=|\nx|y,z\n1|2\n").names == ("x", "y,z")
    assert parse("x:y\n1:2\n", separator=":").names == ("x", "y")
    assert parse("x y\n'a 1\n", separator=" ").names == ("x", "y")


def test_quoted_values_in_whitespace_separated_text():
    lines = split_text('18.0 8 "chevrolet malibu"\n15 8 "buick ""x"" 320"\n', "a.csv").lines
    assert lines == [(["18.0", "8", "chevrolet malibu"], 1), (["15", "8", 'buick "x" 320'], 2)]


def test_inch_marks_inside_quotes():
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
        ('x,y\n1,"2\n3,4\n', "Line 2 of a.csv cannot be parsed .* quotation mark"),
        ("x,y\n1," + "z" * 200_000, "Line 2 of a.csv cannot be parsed .*field larger"),
    ],
)
def test_invalid_text_names_the_line(text, message):
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
def test_number_like_text_is_a_table_or_a_value_error(text):
    try:
        table = parse(text)
    except ValueError:
        return
    assert table.n_rows > 0
