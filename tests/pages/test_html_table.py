"""A table for a notebook."""

from ensemblage.pages import Column, Field, TableBlock, html_table


def test_text_is_escaped_and_numbers_stand_to_the_right():
    table = TableBlock(
        [Column("a<b"), Column("n", numeric=True)],
        [[Field("<x>"), Field("1", quiet="± 2")]],
        "What & why",
    )
    assert html_table(table) == (
        "<table><caption>What &amp; why</caption><thead><tr>"
        '<th style="text-align: left">a&lt;b</th><th style="text-align: right">n</th></tr></thead>'
        '<tbody><tr><td style="text-align: left">&lt;x&gt;</td>'
        '<td style="text-align: right">1 ± 2</td></tr></tbody></table>'
    )
