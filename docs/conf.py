"""How the documentation is built."""

import re

import ensemblage

project = "Ensemblage"
author = "The Ensemblage developers"
copyright = "the Ensemblage developers"  # noqa: A001
version = release = ensemblage.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"Ensemblage {release}"
html_show_sourcelink = False
templates_path = ["_templates"]

autosummary_generate = True
autosummary_imported_members = True
autodoc_typehints = "none"  # the docstrings say it better
numpydoc_show_class_members = False

myst_enable_extensions = ["amsmath", "deflist", "dollarmath"]
myst_heading_anchors = 3
myst_dmath_double_inline = True


def mend_types(app, what, name, obj, options, lines):  # noqa: ARG001
    """Help reStructuredText with types: a line continued by a backslash, names like ``n_iter_``."""
    joined = re.sub(r" \\\n\s*", " ", "\n".join(lines)).split("\n")
    for number, line in enumerate(joined):
        parameter, colon, kind = line.partition(" : ")
        # a trailing underscore would make a link
        joined[number] = parameter + colon + re.sub(r"(?<![`\w])(\w+_)(?![`\w])", r"``\1``", kind)
    lines[:] = joined


def setup(app):
    """Run before numpydoc, which listens to the same event."""
    app.connect("autodoc-process-docstring", mend_types, priority=400)
