"""Links to names of scikit-learn, whose pages are called after them: no inventory is needed."""

from docutils import nodes

PAGES = "https://scikit-learn.org/stable/modules/generated/{}.html"


def link(app, env, node, contnode):  # noqa: ARG001
    """Give the page of a name that this documentation does not have."""
    target = node.get("reftarget", "")
    if not target.startswith("sklearn."):
        return None
    return nodes.reference("", "", contnode, refuri=PAGES.format(target), internal=False)


def setup(app):
    """Listen for names that nobody knows."""
    app.connect("missing-reference", link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
