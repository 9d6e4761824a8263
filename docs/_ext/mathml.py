"""Formulas as MathML: browsers draw it themselves, so that no page loads a script or a font."""

from docutils import nodes
from latex2mathml.converter import convert


def inline(self, node):
    """Write a formula inside a sentence."""
    self.body.append(convert(node.astext()))
    raise nodes.SkipNode


def block(self, node):
    """Write a formula on a line of its own, which scrolls if the window is narrow."""
    formula = convert(node.astext().strip(), display="block")
    self.body.append(self.starttag(node, "div", CLASS="math") + formula + "</div>\n")
    raise nodes.SkipNode


def setup(app):
    """Register as the renderer of formulas in HTML."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
