"""A comparison of methods as a LaTeX table."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ensemblage.evaluation._compare_methods import MethodComparison
    from ensemblage.evaluation._pairwise import MethodPair

SPECIAL = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
}  # fmt: skip
HEADINGS = ("Method", "Mean rank", "W/T/L", "Lead", "$d$", "$r$", "$p$")


def escape(text: str) -> str:
    """Write a text so that LaTeX prints it as it is."""
    return re.sub(r"[\\~^&%$#_{}]", lambda letter: SPECIAL[letter[0]], text)


def comparison_latex(found: MethodComparison, caption: str | None, label: str | None) -> str:
    """Table of the methods, best first, each beside the best one; needs the package booktabs."""
    best, *rest = found.ranking()
    lines = [_line(escape(best), f"{found.mean_ranks[best]:.2f}", *[""] * 5)]
    for name in rest:
        pair = next(each for each in found.pairwise if {each.first, each.second} == {best, name})
        cells = _beside(pair, forward=pair.first == name, alpha=found.alpha)
        lines.append(_line(escape(name), f"{found.mean_ranks[name]:.2f}", *cells))
    body = "\n".join(lines)
    table = (
        "\\begin{tabular}{lrrrrrr}\n\\toprule\n"
        f"{_line(*HEADINGS)}\n\\midrule\n{body}\n\\bottomrule\n\\end{{tabular}}\n"
    )
    if caption is None and label is None:
        return table
    above = "" if caption is None else f"\\caption{{{escape(caption)}}}\n"
    named = "" if label is None else f"\\label{{{label}}}\n"
    return f"\\begin{{table}}\n\\centering\n{above}{named}{table}\\end{{table}}\n"


def _line(*cells: str) -> str:
    return " & ".join(cells) + r" \\"


def _beside(pair: MethodPair, *, forward: bool, alpha: float) -> list[str]:
    """Wins, lead, effect sizes and p-value of a method beside the best one."""
    sign = 1 if forward else -1
    wins, losses = (pair.wins, pair.losses) if forward else (pair.losses, pair.wins)
    size = "--" if pair.cohen_d is None else _signed(sign * pair.cohen_d, 2)
    chance = "< .001" if pair.holm_pvalue < 0.001 else f"{pair.holm_pvalue:.3f}"
    return [
        f"{wins}/{pair.ties}/{losses}",
        _signed(sign * pair.advantage, 4),
        size,
        _signed(sign * pair.rank_biserial, 2),
        f"$\\mathbf{{{chance}}}$" if pair.holm_pvalue < alpha else f"${chance}$",
    ]


def _signed(value: float, digits: int) -> str:
    return f"${value:.{digits}f}$"
