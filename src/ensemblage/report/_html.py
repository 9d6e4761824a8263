"""Pages as one HTML file."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from ensemblage import __version__
from ensemblage._core import MINUS, pieces_of, visible
from ensemblage.report._audit import audit_page
from ensemblage.report._blocks import BarsBlock, Page, RanksBlock
from ensemblage.report._comparison import comparison_page
from ensemblage.report._experiment import experiment_page
from ensemblage.report._explanation import Explanation
from ensemblage.report._glossary import glossary_of
from ensemblage.report._pages import clustering_page, explanation_page
from ensemblage.report._svg import drawings, drawn_svg, need, numbered, panel_svg
from ensemblage.studies import AuditDocument, ClusteringDocument, Comparison, RunDocument

FAR_FROM_ZERO = 0.4
"""Bars that all end beyond this share of the largest are drawn as points."""
MAX_LABEL = 4
"""A tick's text of so many characters does not reach beyond the figure."""
MAX_TICKS = 10
"""Ranks that are written on an axis."""
POLICY = (
    "default-src 'none'; script-src {script}; style-src {style}; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)
EXPONENT = re.compile(r"(\de)-(?=\d)")
UNBREAKABLE = re.compile(r"(?:±|\bp =) (?=[\d.])|(?<=\d) (?=%)")


@dataclass(frozen=True)
class Axis:
    """An axis between two round numbers, its ticks written with ``digits`` after the point.

    Values are drawn as bars from zero if ``bars``, otherwise as points.
    """

    low: float
    high: float
    ticks: tuple[float, ...]
    digits: int
    bars: bool
    percent: bool = False

    def place(self, value: float) -> str:
        """Give a value's position in per cent of the axis, cut at its ends."""
        share = (value - self.low) / (self.high - self.low)
        return f"{100 * min(max(share, 0.0), 1.0):.2f}".rstrip("0").rstrip(".")

    def span(self, value: float) -> tuple[str, str]:
        """Give a bar's left end and length, from zero or the nearer end, in per cent."""
        start, end = sorted(float(self.place(each)) for each in (0.0, value))
        return f"{start:.2f}".rstrip("0").rstrip("."), f"{end - start:.2f}".rstrip("0").rstrip(".")

    def anchor(self, tick: float) -> str:
        """Which part of a tick's text is at its place; long ones stay inside at the ends."""
        if len(self.label(tick)) <= MAX_LABEL:
            return "middle"
        return {self.ticks[0]: "start", self.ticks[-1]: "end"}.get(tick, "middle")

    def label(self, tick: float) -> str:
        """Write a tick."""
        if self.percent:
            return f"{tick:.{max(self.digits - 2, 0)}%}"
        return f"{tick + 0.0:.{self.digits}f}".replace("-", MINUS)


def bar_axis(block: BarsBlock) -> Axis:
    """Choose an axis: from zero if the values come near it, else from a round number below."""
    low, high = _extent(block)
    if block.percent and all((bar.value or 0.0) <= 1 for bar in block.bars):
        high = min(high, 1.0)  # a share above 1 is impossible, an error bar beyond it is cut
    if block.signed:
        low, high = min(low, 0.0), max(high, 0.0)
    if high <= low:
        low, high = min(low, 0.0), max(high, low + 1.0)
    near = 1.0 if block.from_zero else FAR_FROM_ZERO
    bars = not block.signed and 0 <= low <= high * near
    ticks = _round_ticks(0.0 if bars else low, high)
    if block.signed:
        bars = all(bar.error is None for bar in block.bars)
    digits = next(
        (d for d in range(12) if all(abs(round(t, d) - t) < 1e-9 * (high - low) for t in ticks)), 12
    )
    return Axis(ticks[0], ticks[-1], tuple(ticks), digits, bars, block.percent)


def _extent(block: BarsBlock) -> tuple[float, float]:
    values = [bar.reference for bar in block.bars if bar.reference is not None]
    for bar in block.bars:
        if bar.value is not None:
            # a negative value is impossible, an error bar below zero is cut
            least = -np.inf if block.signed else min(bar.value, 0.0)
            error = bar.error or 0.0
            values += [max(bar.value - error, least), bar.value + error]
    return min(values, default=0.0), max(values, default=1.0)


def rank_axis(block: RanksBlock) -> Axis:
    """Choose an axis from the first rank to the last."""
    last = max(len(block.methods), 2)
    step = 1 if last <= MAX_TICKS else -(-last // MAX_TICKS)
    ticks = tuple(float(rank) for rank in range(1, last + 1, step))
    return Axis(1.0, float(last), ticks, 0, bars=False)


def _round_ticks(low: float, high: float) -> list[float]:
    rough = (high - low) / 5
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * min((f for f in (1, 2, 2.5, 5, 10) if f * power >= rough), default=10)
    first, last = np.floor(low / step + 1e-9), np.ceil(high / step - 1e-9)
    count = int(max(last - first, 1))
    return [float(np.round((first + k) * step, 12)) for k in range(count + 1)]


def render(result: Any, *, name: str = "") -> str:
    """Write a result as one HTML file.

    Parameters
    ----------
    result : Explanation, Comparison, AuditDocument, ClusteringDocument or RunDocument
        What :func:`explain_model`, :func:`ensemblage.studies.compare` and the other studies give,
        and what the commands print with ``--json``.
    name : str, default=""
        Of the model that is explained, or of the data that are clustered.

    Returns
    -------
    str
        The whole file. It loads nothing from elsewhere: styles, script and figures are inside,
        and its security policy allows these and no others. Every text is escaped.

    Examples
    --------
    >>> from ensemblage.datasets import load_dataset
    >>> from ensemblage.report import render
    >>> from ensemblage.studies import compare
    >>> result = compare(load_dataset("iris"), methods=["majority", "logistic"], n_splits=3)
    >>> "Method comparison: class in iris" in render(result)
    True
    """
    page = result if isinstance(result, Page) else _page_of(result, name)
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
        "bar_axis": bar_axis, "rank_axis": rank_axis, "drawings": drawings,
        "panel_svg": panel_svg,
        "glossary_of": glossary_of,
    }  # fmt: skip
    environment.tests["block"] = lambda block, kind: type(block).__name__ == kind
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
        # both are files of this package, without any text of the user's
        style=markup(style),
        script=markup(script),
    )
    return visible(text)


def _page_of(result: Any, name: str) -> Page:
    if isinstance(result, Explanation):
        return explanation_page(result, name=name or "the model")
    if isinstance(result, ClusteringDocument):
        return clustering_page(result, name=name or "the data", label=result.method)
    if isinstance(result, Comparison):
        return comparison_page(result)
    if isinstance(result, AuditDocument):
        return audit_page(result)
    if isinstance(result, RunDocument):
        return experiment_page(result)
    raise TypeError(
        f"result of type {type(result).__name__} has no report; give an Explanation, or what "
        "compare, audit, cluster or run print with --json."
    )


def _breakable(text: str) -> Any:
    """Let a long name break between its words, and inside a word only if it is too long."""
    markupsafe = need("markupsafe")
    return markupsafe.Markup("<wbr>").join(markupsafe.escape(part) for part in pieces_of(text))


def _source(environment: Any, name: str) -> str:
    text: str = environment.loader.get_source(environment, name)[0]
    return text.replace("\r\n", "\n")


def _allowed(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _with_whole_numbers(value: Any) -> Any:
    """Let no line end inside 3.4e-05, ± 0.12, p = 0.03 or 95 %; markup stays as it is."""
    if type(value) is not str:
        return value
    whole = EXPONENT.sub("\\1\N{NON-BREAKING HYPHEN}", value)
    return UNBREAKABLE.sub(lambda found: found[0].replace(" ", "\N{NO-BREAK SPACE}"), whole)
