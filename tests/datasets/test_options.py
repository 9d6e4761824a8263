import pytest

from ensemblage.datasets import ReadOptions


def test_options_as_they_are_typed():
    options = ["separator=tab", "decimal=comma", "thousands=.", "header=no", "sheet= Two "]
    expected = ReadOptions(separator="\t", decimal=",", thousands=".", header=False, sheet="Two")
    assert ReadOptions.from_options(options) == expected
    assert ReadOptions.from_options(["thousands=none", "dates=day-first"]).thousands == ""


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (
            "decimals=,",
            r"NAME=VALUE.* got 'decimals=,'\. Did you mean 'decimal'\? The names are: sep",
        ),
        ("decimal", "NAME=VALUE, such as decimal=, but got 'decimal'"),
        ("decimal=x", r"`decimal` must be one of '\.', ',', got 'x'"),
        ("separator=ab", "`separator` must be one character such as ';' or a tab, got 'ab'"),
        ('separator="', "`separator` must be one character"),
        ("dates=year", "`dates` must be one of 'day-first', 'month-first', 'text', got 'year'"),
        ("header=maybe", "`header` must be one of True, False, got 'maybe'"),
        ("encoding=klingon", "`encoding` 'klingon' is not known; utf-8"),
        ("encoding=base64", "`encoding` 'base64' is not known"),
    ],
)
def test_wrong_options_say_what_is_expected(option, message):
    with pytest.raises(ValueError, match=message):
        ReadOptions.from_options([option])


def test_one_mark_cannot_be_both():
    with pytest.raises(ValueError, match="cannot both be ','"):
        ReadOptions(decimal=",", thousands=",")
