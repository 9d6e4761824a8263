"""Names inside a figure."""

from ensemblage.pages import printable


def test_what_xml_cannot_hold_is_replaced():
    assert printable("a\x00b\tc") == "a\N{REPLACEMENT CHARACTER}b\tc"
