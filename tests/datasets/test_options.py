import pytest

from ensemblage.datasets import ReadOptions


def test_options_of_the_command_line():
    options = ["separator=tab", "decimal=comma", "thousands=.", "header=no", "sheet= Two "]
    expected = ReadOptions(separator="\t", decimal=",", thousands=".", header=False, sheet="Two")
    assert ReadOptions.from_options(options) == expected
    assert ReadOptions.from_options(["thousands=none", "dates=day-first"]).thousands == ""
    assert ReadOptions.from_options(["separator=pipe", "thousands=space"]) == ReadOptions(
        separator="|", thousands=" "
    )


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (
            "decimals=,",
            r"NAME=VALUE.* got 'decimals=,'\. Did you mean 'decimal'\? The names are: sep",
        ),
        ("decimal", "NAME=VALUE, such as decimal=comma, got 'decimal'"),
        ("decimal=x", r"`decimal` must be one of '\.', ',', got 'x'"),
        ("separator=ab", "`separator` must be one character such as ';' or a tab, got 'ab'"),
        ('separator="', "`separator` must be one character"),
        ("dates=year", "`dates` must be one of 'day-first', 'month-first', 'text', got 'year'"),
        ("header=maybe", "`header` must be one of True, False, got 'maybe'"),
        ("encoding=klingon", "`encoding` 'klingon' is unknown; use for example utf-8"),
        ("encoding=base64", "`encoding` 'base64' is unknown"),
    ],
)
def test_invalid_options_are_refused(option, message):
    with pytest.raises(ValueError, match=message):
        ReadOptions.from_options([option])


def test_decimal_and_thousands_must_differ():
    with pytest.raises(ValueError, match="must differ, got ',' for both"):
        ReadOptions(decimal=",", thousands=",")
