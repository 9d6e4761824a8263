import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.bayes import (
    BayesNetClassifier,
    BayesNetwork,
    NetworkFormatError,
    ProbabilityTable,
)
from ensemblage.bayes._bif import escape_name, unescape_name

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
        ("  (y) 0.1, 0.9;\n", "", "Line 13: the table of 'b' lacks a row"),
        ("(y)", "(z)", "Line 15: .*z.* are not states of"),
        ("0.1, 0.9", "0.1, 0.8", "Line 13: .* does not add up to 1"),
        ("table 0.25, 0.75", "table 0.25", "Line 10: the table of 'a' has 1 numbers"),
        ("( b | a )", "( b | c )", "Line 13: a table names 'c'"),
        ("0.9;\n}\n", "0.9;\n", "Line 16: the document ends too early"),
        ("0.5, 0.5", '0.5, "', "Line 14: cannot read"),
        ("(y) 0.1", "/*/ (y) 0.1", "Line 15: the comment that begins here has no end"),
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
def test_escaped_names_are_words_and_come_back(name):
    word = escape_name(name)
    assert word.isascii()
    assert word.isidentifier() or word.replace("_", "0").isalnum()
    assert unescape_name(word) == name


def many_parents(n: int) -> str:
    """A node whose table a few words declare, with two states for each of so many parents."""
    variables = "".join(
        f"variable v{i} {{ type discrete [ 2 ] {{ x, y }}; }}\n" for i in range(n + 1)
    )
    given = ", ".join(f"v{i}" for i in range(1, n + 1))
    roots = "".join(f"probability ( v{i} ) {{ table 0.5, 0.5; }}\n" for i in range(1, n + 1))
    return f"{variables}{roots}probability ( v0 | {given} ) {{ default 0.25, 0.75; }}\n"


def test_a_table_that_few_words_declare_is_refused_before_it_is_gone_through():
    assert BayesNetwork.from_bif(many_parents(3)).table("v0").shape == (2, 2, 2, 2)
    with pytest.raises(NetworkFormatError, match="a table of 536870912 numbers, in a document of"):
        BayesNetwork.from_bif(many_parents(28))


@pytest.mark.parametrize("parent", ["a", "b"])
def test_cycles_are_refused(parent):
    cyclic = BIF.replace("probability ( a ) {\n  table", f"probability ( a | {parent} ) {{ default")
    with pytest.raises(NetworkFormatError, match="form a cycle"):
        BayesNetwork.from_bif(cyclic)


def test_open_comments_take_no_time():
    # each was once looked for the end of
    with pytest.raises(NetworkFormatError, match="comment that begins here has no end"):
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
