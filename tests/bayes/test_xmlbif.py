import pytest

from ensemblage.bayes import BayesNetwork, NetworkFormatError

XML = """<?xml version="1.0"?>
<BIF VERSION="0.3"><NETWORK><NAME>n</NAME>
<VARIABLE TYPE="nature"><NAME>a</NAME><OUTCOME>x</OUTCOME><OUTCOME>y</OUTCOME></VARIABLE>
<DEFINITION><FOR>a</FOR><TABLE>0.25 0.75</TABLE></DEFINITION>
</NETWORK></BIF>
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0.25 0.75", "0.25", "Line 4: the table of 'a' has 1 numbers, expected 2"),
        ("0.25 0.75", "0.25 often", "Line 4: expected a probability, got 'often'"),
        ("0.25 0.75", "0.5 1.5", "Line 4: a probability lies between 0 and 1"),
        ("0.25 0.75", "0.25 0.25", "Line 4: .* does not add up to 1"),
        ("0.25 0.75", "nan nan", "Line 4: a probability lies between 0 and 1"),
        ("<FOR>a", "<FOR>b", "Line 4: .* names 'b', which is no variable"),
        ("<FOR>a</FOR>", "", "Line 4: a DEFINITION needs exactly one FOR"),
        ("</NETWORK>", "", "Line 5: not well-formed"),
        ("NETWORK", "NETWARK", "expected a BIF document with one NETWORK, got 0"),
        ("<OUTCOME>y</OUTCOME>", "<OUTCOME>x</OUTCOME>", "Line 3: variable 'a' needs states"),
        (XML[XML.index("<DEF") : XML.index("</NETW")], "", r"no table for \['a'\]"),
    ],
)  # fmt: skip
def test_damaged_xml_is_named_with_its_line(old, new, message):
    assert BayesNetwork.from_xmlbif(XML).table("a").tolist() == [0.25, 0.75]
    with pytest.raises(NetworkFormatError, match=message):
        BayesNetwork.from_xmlbif(XML.replace(old, new))


def test_entities_are_refused():
    bomb = XML.replace("<BIF V", '<!DOCTYPE BIF [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>\n<BIF V')
    with pytest.raises(NetworkFormatError, match="Line 2: the document declares the entity 'a'"):
        BayesNetwork.from_xmlbif(bomb)
    harmless = XML.replace("<BIF V", "<!DOCTYPE BIF [<!ELEMENT BIF (NETWORK)*>]>\n<BIF V")
    assert BayesNetwork.from_xmlbif(harmless).nodes == ["a"]


def test_long_names_take_no_time():
    # a third of a million lines, each of which was once added to all before it
    long = XML.replace("<NAME>a</NAME>", "<NAME>" + "a\n" * 300_000 + "</NAME>")
    with pytest.raises(NetworkFormatError, match="no variable") as caught:
        BayesNetwork.from_xmlbif(long)
    assert len(str(caught.value)) < 500
