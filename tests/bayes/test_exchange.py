import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayes.networks import table
from ensemblage.bayes import (
    BayesNetClassifier,
    BayesNetwork,
    EntryCapError,
    NetworkFormatError,
    ProbabilityTable,
)
from ensemblage.bayes._exchange import escape_name, unescape_name


@pytest.mark.parametrize("form", ["xmlbif", "bif"])
def test_round_trips_are_exact(form, iris, sprinkler):
    for network in (iris.graph(), sprinkler):
        text = getattr(network, f"to_{form}")()
        again = getattr(BayesNetwork, f"from_{form}")(text)
        assert again == network
        assert getattr(again, f"to_{form}")() == text


NAMES = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zs", "Zl", "Zp")), min_size=1,
    max_size=6,
)  # fmt: skip


@settings(max_examples=60)
@given(
    st.lists(NAMES, min_size=2, max_size=2, unique=True),
    st.lists(NAMES, min_size=2, max_size=3, unique=True),
    st.floats(0, 1),
)
def test_round_trips_are_exact_for_any_names_and_numbers(names, states, chance):
    first, second = names
    rest = [1 - chance, *[0.0] * (len(states) - 2)]
    network = BayesNetwork(
        {first: states, second: ["a b", "_x5f_"]},
        {
            first: table([], [[]], [[chance, *rest]]),
            second: table([first], np.arange(len(states)), [[chance, 1 - chance]] * len(states)),
        },
    )
    assert BayesNetwork.from_bif(network.to_bif()) == network
    assert BayesNetwork.from_xmlbif(network.to_xmlbif()) == network


def test_a_table_too_large_to_write_out_is_named():
    states = {f"n{i}": [str(j) for j in range(100)] for i in range(5)}
    tables = {name: table([], [[]], [[0.01] * 100]) for name in states}
    tables["n4"] = table(["n0", "n1", "n2", "n3"], [[0] * 4], [[0.01] * 100])
    with pytest.raises(EntryCapError, match="table of 'n4' given 'n0', 'n1', 'n2', 'n3'"):
        BayesNetwork(states, tables).to_xmlbif()


def peers_network(shared_frame=None):
    frame = pd.DataFrame(
        {"size": [1.0, 2.0, 8.0, 9.0] * 10, "my colour": ["r", "g", "b & w", "g"] * 10}
    )
    return BayesNetClassifier().fit(frame, pd.Series([0, 0, 1, 1] * 10, name="verdict"))


def test_pgmpy_reads_our_files(tmp_path):
    readwrite = pytest.importorskip("pgmpy.readwrite", reason="pgmpy is not installed")
    network = peers_network().graph()
    (tmp_path / "n.bif").write_text(network.to_bif())
    (tmp_path / "n.xml").write_text(network.to_xmlbif())
    for reader in (
        readwrite.BIFReader(str(tmp_path / "n.bif")),
        readwrite.XMLBIFReader(str(tmp_path / "n.xml")),
    ):
        assert len(reader.get_model().edges()) == len(network.edges)


def test_pyagrum_reads_our_files(tmp_path):
    gum = pytest.importorskip("pyagrum", reason="pyAgrum is not installed")
    network = peers_network().graph()
    for form in ("bif", "bifxml"):
        path = tmp_path / f"n.{form}"
        path.write_text(network.to_bif() if form == "bif" else network.to_xmlbif())
        assert len(gum.loadBN(str(path)).arcs()) == len(network.edges)


BIF = """network unknown {
}
variable a {
  type discrete [ 2 ] { x, y };
}
variable b {
  property position = (1, 2) ;
  type discrete [ 2 ] { x, y };
}
probability ( a ) {
  table 0.25, 0.75;
}
probability ( b | a ) { // a comment
  (x) 0.5, 0.5;
  (y) 0.1, 0.9;
}
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[ 2 ] { x, y };\n}\nvariable b", "[ 3 ] { x, y };\n}\nvariable b", "Line 4: 3 states"),
        ("variable a", "varying a", "Line 3: expected network or variable or probability"),
        ("  (y) 0.1, 0.9;\n", "", "Line 13: the table of 'b' has a missing row"),
        ("(y)", "(z)", "Line 15: .*z.* are not states of"),
        ("0.1, 0.9", "0.1, 0.8", "Line 13: .* does not sum to 1"),
        ("table 0.25, 0.75", "table 0.25", "Line 10: the table of 'a' has 1 values"),
        ("( b | a )", "( b | c )", "Line 13: a table names 'c'"),
        ("0.9;\n}\n", "0.9;\n", "Line 16: unexpected end"),
        ("0.5, 0.5", '0.5, "', "Line 14: cannot read"),
        ("(y) 0.1", "/*/ (y) 0.1", "Line 15: unclosed comment"),
        ("( b | a )", "( a )", r"Line 14: \(x\) are not states of \[\]"),
    ],
)  # fmt: skip
def test_damaged_bif_is_named_with_its_line(old, new, message):
    assert BayesNetwork.from_bif(BIF).table("b").tolist() == [[0.5, 0.5], [0.1, 0.9]]
    assert old in BIF
    with pytest.raises(NetworkFormatError, match=message):
        BayesNetwork.from_bif(BIF.replace(old, new))


def test_one_table_for_all_parents_and_default_rows_are_read():
    one = BIF.replace("(x) 0.5, 0.5;\n  (y) 0.1, 0.9;", "table 0.5, 0.1, 0.5, 0.9;")
    assert BayesNetwork.from_bif(one) == BayesNetwork.from_bif(BIF)
    default = BIF.replace("(y) 0.1, 0.9;", "default 0.1, 0.9;")
    assert BayesNetwork.from_bif(default) == BayesNetwork.from_bif(BIF)


@given(st.text(alphabet="_x05f2 a-é", max_size=9))
def test_escaped_names_are_identifiers_and_can_be_unescaped(name):
    word = escape_name(name)
    assert word.isascii()
    assert word.isidentifier() or word.replace("_", "0").isalnum()
    assert unescape_name(word) == name


def many_parents(n: int) -> str:
    """A small document that declares a node with this number of parents, all with two states."""
    variables = "".join(
        f"variable v{i} {{ type discrete [ 2 ] {{ x, y }}; }}\n" for i in range(n + 1)
    )
    given = ", ".join(f"v{i}" for i in range(1, n + 1))
    roots = "".join(f"probability ( v{i} ) {{ table 0.5, 0.5; }}\n" for i in range(1, n + 1))
    return f"{variables}{roots}probability ( v0 | {given} ) {{ default 0.25, 0.75; }}\n"


def test_a_huge_table_in_a_small_document_is_refused_before_it_is_read():
    assert BayesNetwork.from_bif(many_parents(3)).table("v0").shape == (2, 2, 2, 2)
    with pytest.raises(NetworkFormatError, match="a table of 536870912 values in a document of"):
        BayesNetwork.from_bif(many_parents(28))


@pytest.mark.parametrize("parent", ["a", "b"])
def test_cycles_are_refused(parent):
    cyclic = BIF.replace("probability ( a ) {\n  table", f"probability ( a | {parent} ) {{ default")
    with pytest.raises(NetworkFormatError, match="form a cycle"):
        BayesNetwork.from_bif(cyclic)


def test_unclosed_comments_are_fast():
    # each was once looked for the end of
    with pytest.raises(NetworkFormatError, match="unclosed comment"):
        BayesNetwork.from_bif("variable a { " + "/* " * 300_000)


def test_nodes_of_one_state_are_written_with_a_second_that_never_occurs():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.full(40, "a"), rng.choice(["b", "c"], 40), np.full(40, "_xx_")])
    y = (X[:, 1] == "b").astype(int)
    graph = BayesNetClassifier(init="empty", criterion="k2").fit(X, y).graph()
    constant = ProbabilityTable(["x0", "x1"], np.array([[0, 0], [0, 1]]), np.ones((2, 1)))
    graph = BayesNetwork(graph.states, {**graph.tables, "x2": constant})
    text = graph.to_bif()
    assert "type discrete [ 1 ]" not in text
    assert "  (a, b) 1.0, 0.0;\n  (a, c) 1.0, 0.0;\n  (_xx_, b) 1.0, 0.0;" in text
    assert graph.states["x2"] == ["_xx_"]
    assert BayesNetwork.from_bif(text) == graph


XML = """<?xml version="1.0"?>
<BIF VERSION="0.3"><NETWORK><NAME>n</NAME>
<VARIABLE TYPE="nature"><NAME>a</NAME><OUTCOME>x</OUTCOME><OUTCOME>y</OUTCOME></VARIABLE>
<DEFINITION><FOR>a</FOR><TABLE>0.25 0.75</TABLE></DEFINITION>
</NETWORK></BIF>
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0.25 0.75", "0.25", "Line 4: the table of 'a' has 1 values, expected 2"),
        ("0.25 0.75", "0.25 often", "Line 4: expected a probability, got 'often'"),
        ("0.25 0.75", "0.5 1.5", "Line 4: a probability must be between 0 and 1"),
        ("0.25 0.75", "0.25 0.25", "Line 4: .* does not sum to 1"),
        ("0.25 0.75", "nan nan", "Line 4: a probability must be between 0 and 1"),
        ("<FOR>a", "<FOR>b", "Line 4: .* names 'b', which is not a variable"),
        ("<FOR>a</FOR>", "", "Line 4: a DEFINITION must have exactly one FOR"),
        ("</NETWORK>", "", "Line 5: not well-formed"),
        ("NETWORK", "NETWARK", "expected a BIF document with one NETWORK, got 0"),
        ("<OUTCOME>y</OUTCOME>", "<OUTCOME>x</OUTCOME>", "Line 3: variable 'a' must be declared"),
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


def test_long_names_are_fast():
    # a third of a million lines, each of which was once added to all before it
    long = XML.replace("<NAME>a</NAME>", "<NAME>" + "a\n" * 300_000 + "</NAME>")
    with pytest.raises(NetworkFormatError, match="not a variable") as caught:
        BayesNetwork.from_xmlbif(long)
    assert len(str(caught.value)) < 500
