"""Pages, docstrings and messages use the field's terms, not words of our own for them."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# by pattern: what to write instead
PREFERRED = {
    r"crowds?": "inner ensemble, bootstrap views",
    r"gaps?": "missing values; difference",
    r"spreads?": "standard deviation, variance, scale, range",
    r"voices?": "member predictions",
    r"told apart": "significantly different",
    r"ordinary folds": "cross-validation",
    r"nine in ten": "90 % prediction limit",
    r"leave-sources-out": "leave-source-out",
    r"wrong way round": "inverted",
    r"of words|columns? of words": "categorical",
    r"columns? of numbers|pool of numbers|number methods?": "numeric columns; regression",
    r"not met|never met": "unseen",
    r"at hand": "available, installed",
    r"at its best temperature": "after temperature scaling",
    r"held-out outputs?": "out-of-fold predictions",
    r"as good as absent": "ignored",
    r"the house|rooms?|doors?": "package, module",
    r"push(?:es)?": "contribution",
    r"whoever": "who; the model that",
}
DIALECT = re.compile(rf"\b(?:{'|'.join(PREFERRED)})\b", re.IGNORECASE)
# where such a word is the right one: the page or module, and the words around it
ALLOWED: list[tuple[str, str]] = []

PAGES = [
    ROOT / "README.md",
    *(
        page
        for page in sorted((ROOT / "docs").rglob("*.md"))
        if not {"_build", "decisions", "generated", "gallery"} & set(page.parts)
    ),
    *sorted((ROOT / "src").rglob("*.j2")),
]
MODULES = [*sorted((ROOT / "src").rglob("*.py")), *sorted((ROOT / "examples").glob("*.py"))]


def texts(path):
    """Give what a reader may see: a page, or the docstrings and messages of a module."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return [text]
    return [
        node.value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
    ]


@pytest.mark.parametrize("path", [*PAGES, *MODULES], ids=lambda path: str(path.relative_to(ROOT)))
def test_the_fields_terms(path):
    name = path.relative_to(ROOT).as_posix()
    found = []
    for text in texts(path):
        plain = " ".join(text.split())
        for allowed in (words for place, words in ALLOWED if place == name):
            plain = plain.replace(allowed, "")
        found += [
            f"... {plain[max(0, match.start() - 40) : match.end() + 40]} ..."
            for match in DIALECT.finditer(plain)
        ]
    assert found == []


def test_what_is_allowed_is_still_there():
    for place, words in ALLOWED:
        assert words in " ".join(" ".join(texts(ROOT / place)).split()), (place, words)
