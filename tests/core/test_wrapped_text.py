import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage._core import longest_part, pieces_of, printable, text_width, wrapped


def test_what_xml_cannot_hold_is_replaced():
    assert printable("a\x00b\tc") == "a\N{REPLACEMENT CHARACTER}b\tc"


def test_widths_by_hand():
    assert text_width("il m") == pytest.approx(3 * 0.3 + 1.05)
    assert text_width("漢") == 1.3
    assert longest_part("il_mm") == pytest.approx(2 * 1.05)


@pytest.mark.parametrize(
    ("name", "width", "lines"),
    [
        ("sepal length (cm)", 6, ("sepal", "length", "(cm)")),
        ("bloodPressureSystolic", 6, ("blood", "Pressure", "Systolic")),
        ("feature_number_12", 6, ("feature_", "number_12")),
        ("age", 6, ("age",)),
        ("against AdaBoost", 6, ("against", "AdaBoost")),
    ],
)
def test_names_are_broken_between_words(name, width, lines):
    assert wrapped(name, width) == (lines, True)


def test_names_that_do_not_fit_are_truncated():
    lines, whole = wrapped("a" * 40, 6)
    assert lines[0].endswith("…")
    assert text_width(lines[0]) <= 6
    assert not whole
    lines, whole = wrapped("one two three four five six seven", 3.2, most=3)
    assert len(lines) == 3
    assert lines[-1].endswith("…")
    assert not whole


@given(st.text(max_size=60), st.integers(2, 20))
def test_a_whole_name_loses_no_letter_and_no_line_is_too_wide(name, width):
    lines, whole = wrapped(name, width)
    assert all(text_width(line) <= width for line in lines)
    if whole:
        assert "".join("".join(lines).split()) == "".join(name.split())


def test_numbers_are_not_broken_and_long_words_are():
    assert pieces_of("0.3526") == ["0.3526"]
    assert pieces_of("a file.csv") == ["a ", "file.", "csv"]
    assert pieces_of("x" * 25) == ["x" * 12, "x" * 12, "x"]
