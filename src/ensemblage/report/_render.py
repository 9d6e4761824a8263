"""Pages through templates: one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import re
from itertools import count
from typing import Any

from ensemblage import __version__
from ensemblage.messages import visible
from ensemblage.pages import Page, pieces_of
from ensemblage.report._axis import bar_axis, rank_axis
from ensemblage.report._extras import need
from ensemblage.report._map_pictures import map_pictures
from ensemblage.report._network_pictures import network_pictures
from ensemblage.report._svg import drawn_svg, numbered
from ensemblage.report._tree_pictures import tree_pictures

POLICY = (
    "default-src 'none'; script-src {script}; style-src {style}; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)

EXPONENT = re.compile(r"(\de)-(?=\d)")
SIGNED = re.compile(r"(?:±|\bp =) (?=[\d.])")


def render(page: Page) -> str:
    """Write a page as HTML.

    Parameters
    ----------
    page : Page
        What to say.

    Returns
    -------
    str
        The whole file. It asks for nothing from elsewhere: styles, script and pictures are inside,
        and its security policy allows these and no others. Every text is escaped.
    """
    jinja2 = need("jinja2")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("ensemblage.report", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_with_whole_numbers,
    )
    environment.globals |= {
        "bar_axis": bar_axis, "anchors": _anchors, "network_pictures": network_pictures,
        "map_pictures": map_pictures, "tree_pictures": tree_pictures,
        "rank_axis": rank_axis,
    }  # fmt: skip
    environment.tests["block"] = _is_block
    environment.filters["breakable"] = _breakable
    style, script = (_source(environment, name) for name in ("page.css", "page.js"))
    markup = need("markupsafe").Markup
    numbers = count(1)
    # drawn by this package, which has escaped what the user wrote
    environment.globals["drawn"] = lambda block: markup(numbered(drawn_svg(block), next(numbers)))
    text: str = environment.get_template("page.html.j2").render(
        page=page,
        sections=[section for section in page.sections if section.blocks],
        version=__version__,
        policy=POLICY.format(script=_allowed(script), style=_allowed(style)),
        # both are files of this package, without a word of the user's
        style=markup(style),
        script=markup(script),
    )
    return visible(text)


def _breakable(text: str) -> Any:
    """Let a long name break between its words, inside them only if they are too long."""
    markupsafe = need("markupsafe")
    return markupsafe.Markup("<wbr>").join(markupsafe.escape(part) for part in pieces_of(text))


def _source(environment: Any, name: str) -> str:
    text: str = environment.loader.get_source(environment, name)[0]
    return text.replace("\r\n", "\n")


def _allowed(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _with_whole_numbers(value: Any) -> Any:
    """Let no line end inside 3.4e-05, ± 0.12 or p = 0.03; what is markup stays as it is."""
    if type(value) is not str:
        return value
    whole = EXPONENT.sub("\\1\N{NON-BREAKING HYPHEN}", value)
    return SIGNED.sub(lambda found: found[0].replace(" ", "\N{NO-BREAK SPACE}"), whole)


def _is_block(block: Any, kind: str) -> bool:
    return type(block).__name__ == kind


def _anchors(count: int) -> list[str]:
    return [f"section-{number}" for number in range(1, count + 1)]
