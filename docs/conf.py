"""How the documentation is built."""

import re
import sys
from pathlib import Path

import ensemblage

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "Ensemblage"
author = "The Ensemblage developers"
copyright = "the Ensemblage developers"  # noqa: A001
version = release = ensemblage.__version__

extensions = [
    "mathml",
    "myst_parser",
    "numpydoc",
    "outside",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_ext", "gallery/**/*.ipynb", "gallery/**/*.py"]
templates_path = ["_templates"]

html_theme = "furo"
html_title = "Ensemblage"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = html_logo = "_static/mark.svg"
html_math_renderer = "mathml"

autosummary_generate = True
autosummary_imported_members = True
autodoc_typehints = "none"  # the docstrings say it better
numpydoc_show_class_members = False

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
myst_dmath_double_inline = True

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_\w+\.py$",
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "generated/examples",
    "doc_module": ("ensemblage",),
    "reference_url": {"ensemblage": None},
    "download_all_examples": False,
    "show_signature": False,
    "capture_repr": (),
    "remove_config_comments": True,
    "abort_on_example_error": False,
    "only_warn_on_example_error": True,
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "write_computation_times": False,
    "min_reported_time": 30,
}


def mend_types(app, what, name, obj, options, lines):  # noqa: ARG001
    """Help reStructuredText with types: a line continued by a backslash, names like ``n_iter_``."""
    joined = re.sub(r" \\\n\s*", " ", "\n".join(lines)).split("\n")
    for number, line in enumerate(joined):
        parameter, colon, kind = line.partition(" : ")
        # a trailing underscore would make a link
        joined[number] = parameter + colon + re.sub(r"(?<![`\w])(\w+_)(?![`\w])", r"``\1``", kind)
    lines[:] = joined


def mend_page(app, name, source):  # noqa: ARG001
    """Leave out the empty line that doctest needs after an example; link the names on the map."""
    source[0] = source[0].replace("\n\n```\n", "\n```\n")
    if name == "map":
        source[0] = re.sub(r"(`ensemblage\.(?!kernels)[\w.]+`)", r"{py:obj}\1", source[0])


def setup(app):
    """Run before numpydoc, which listens to the same event."""
    app.connect("source-read", mend_page)
    app.connect("autodoc-process-docstring", mend_types, priority=400)
