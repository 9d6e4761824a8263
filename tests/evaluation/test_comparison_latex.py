import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.evaluation import compare_methods
from ensemblage.evaluation._comparison_latex import escape


def test_table_by_hand():
    # b leads by .1, .2 and .1: mean .1333, deviation .0577; three of three is p = .25
    found = compare_methods({"a_1": [0.5, 0.6, 0.7], "b": [0.6, 0.8, 0.8]})
    assert found.to_latex().splitlines() == [
        r"\begin{tabular}{lrrrrrr}",
        r"\toprule",
        r"Method & Mean rank & W/T/L & Lead & $d$ & $r$ & $p$ \\",
        r"\midrule",
        r"b & 1.00 &  &  &  &  &  \\",
        r"a\_1 & 2.00 & 0/0/3 & $-0.1333$ & $-2.31$ & $-1.00$ & $0.250$ \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_what_is_significant_is_bold_and_what_is_small_is_small():
    found = compare_methods({"good": [*range(1, 21)], "bad": [*range(-20, 0)]})
    assert r"& $-1.00$ & $\mathbf{< .001}$ \\" in found.to_latex()


def test_equal_leads_have_no_d():
    assert "0/0/4 & $-1.0000$ & -- &" in compare_methods([[1, 0]] * 4).to_latex()


def test_caption_and_label():
    text = compare_methods([[1, 0]] * 4).to_latex(caption="50 % of it", label="tab:it")
    assert text.startswith(
        "\\begin{table}\n\\centering\n\\caption{50 \\% of it}\n\\label{tab:it}\n"
    )
    assert text.endswith("\\end{tabular}\n\\end{table}\n")


@given(st.text(alphabet="ab\\~^&%$#_{} ", max_size=8))
def test_nothing_special_is_left(text):
    left = escape(text)
    for written in (r"\textbackslash{}", r"\textasciitilde{}", r"\textasciicircum{}"):
        left = left.replace(written, "")
    for letter in "&%$#_{}":
        left = left.replace(f"\\{letter}", "")
    assert not set(left) & set("\\~^&%$#_{}")


def test_order_is_by_rank():
    found = compare_methods({"low": [1, 2, 3], "high": [5, 6, 7], "mid": [3, 3, 4]})
    lines = found.to_latex().splitlines()[4:7]
    assert [line.split(" & ")[0] for line in lines] == ["high", "mid", "low"]


@pytest.mark.parametrize("greater", [True, False])
def test_errors_have_the_sign_of_a_lead(greater):
    scores = {"good": [0.1, 0.2], "bad": [0.4, 0.5]}
    if greater:
        scores = {name: [-value for value in values] for name, values in scores.items()}
    assert "0/0/2 & $-0.3000$" in compare_methods(scores, greater_is_better=greater).to_latex()
