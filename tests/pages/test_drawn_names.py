"""Names inside a figure."""

from ensemblage.pages import printable, short, short_names


def test_names_are_cut_and_told_apart():
    assert short("b" * 33) == "b" * 31 + "…"
    assert short_names(["a" * 40, "a" * 41, "b"]) == ["a" * 31 + "… (1)", "a" * 31 + "… (2)", "b"]


def test_what_xml_cannot_hold_is_replaced():
    assert printable("a\x00b\tc") == "a\N{REPLACEMENT CHARACTER}b\tc"
