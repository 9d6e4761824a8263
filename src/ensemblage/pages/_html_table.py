"""A table as HTML for a notebook."""

from __future__ import annotations

from html import escape

from ensemblage.pages._page_parts import Column, Field, TableBlock


def html_table(table: TableBlock) -> str:
    """Write a table, its caption above it and its legend below."""
    head = "".join(_cell("th", each, each.name) for each in table.columns)
    rows = "".join(
        f"<tr>{''.join(_field(*pair) for pair in zip(table.columns, row, strict=True))}</tr>"
        for row in table.rows
    )
    caption = f"<caption>{escape(table.caption)}</caption>" if table.caption else ""
    legend = f"<p>{escape(table.legend)}</p>" if table.legend else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{legend}"


def _field(column: Column, field: Field) -> str:
    return _cell("td", column, " ".join(filter(None, (field.text, field.quiet, field.tag))))


def _cell(tag: str, column: Column, text: str) -> str:
    side = "right" if column.numeric else "left"
    return f'<{tag} style="text-align: {side}">{escape(text)}</{tag}>'
