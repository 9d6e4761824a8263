"""What a dataset holds, as a section of a report."""

from __future__ import annotations

from collections.abc import Sequence

from ensemblage._core import MINUS, NOTHING, Field, Heading, TableBlock, count, count_field
from ensemblage.datasets import ColumnSummary, DataSummary, range_text
from ensemblage.report._blocks import Bar, BarsBlock, Block, Section

MAX_BARS = 12
"""Classes or sources that are drawn; of more, the rarest together."""
MAX_COLUMNS = 200


def subject_of(target: str | None, dataset: str) -> str:
    """Name what a report is about: a target in its dataset, as far as they are known."""
    return dataset if target is None else f"{target} in {dataset}"


def data_section(card: DataSummary | None) -> list[Section]:
    """Show what the data hold; nothing where that is not known."""
    if card is None:
        return []
    blocks: list[Block] = [_data_facts(card)]
    if card.classes:
        blocks.append(_shares(card.classes, f"Rows per class (target: {card.target})."))
    if card.sources:
        blocks.append(_shares(card.sources, "Rows per source."))
    blocks.append(_columns(card))
    notes = [*([card.task_reason] if card.has_numeric_target else []), *card.notes]
    return [Section("Data", [*blocks, notes] if notes else blocks)]


def datasets_section(cards: Sequence[DataSummary]) -> list[Section]:
    """Show what several datasets hold, each in a line."""
    if len(cards) < 2:
        return data_section(cards[0] if cards else None)
    target = [Heading("target", wide=True)]
    if cards[0].target_summary is None:
        target = [Heading("classes", numeric=True), Heading("largest class", numeric=True)]
    rows = []
    for card in cards:
        fields = [Field(card.name)]
        fields += map(count_field, (card.n_rows, len(card.columns), card.n_missing))
        if card.target_summary is None:
            largest = max(card.class_shares.values())
            fields += [count_field(len(card.classes)), Field(f"{largest:.0%}", largest)]
        else:
            fields.append(Field(_range(card.target_summary)))
        rows.append(fields)
    heads = [Heading(name, numeric=True) for name in ("rows", "columns", "missing")]
    table = TableBlock([Heading("dataset"), *heads, *target], rows, "Datasets")
    notes = [f"{card.name}: {text}" for card in cards for text in card.notes]
    return [Section("Data", [table, notes] if notes else [table])]


def _data_facts(card: DataSummary) -> dict[str, str]:
    missing = "none"
    if card.n_missing:
        share = card.n_missing / (card.n_rows * len(card.columns))
        missing = f"{share:.1%} of values, in {count(card.n_incomplete, 'column')}"
    facts = {
        "data": card.name,
        "rows": f"{card.n_rows:,}",
        "columns": ", ".join(f"{n:,} {kind}" for kind, n in card.kinds.items()),
        "missing values": missing,
    }
    if card.target_summary is not None:
        facts[f"target {card.target}"] = _range(card.target_summary)
    categorical = [each for each in card.columns if each.kind == "categorical"]
    if categorical:
        most = max(categorical, key=lambda each: each.n_unique)
        facts["highest cardinality"] = f"{most.n_unique:,} in {most.name}"
    return facts


def _shares(counts: dict[str, int], caption: str) -> BarsBlock:
    total = sum(counts.values())
    order = sorted(counts, key=lambda name: -counts[name])
    shown = order if len(order) <= MAX_BARS else order[: MAX_BARS - 1]
    pairs = [(name, counts[name]) for name in shown]
    rest = order[len(shown) :]
    if rest:
        pairs.append((f"{len(rest)} others", sum(counts[name] for name in rest)))
    bars = [Bar(name, number, f"{number:,} ({number / total:.1%})") for name, number in pairs]
    return BarsBlock(bars, caption, from_zero=True)


def _columns(card: DataSummary) -> TableBlock:
    heads = (
        Heading("column"), Heading("type"), Heading("missing", numeric=True),
        Heading("unique", numeric=True), Heading("distribution", wide=True),
    )  # fmt: skip
    rows = []
    for each in card.columns[:MAX_COLUMNS]:
        missing, values = NOTHING, each.top_categories.items()
        if each.missing:
            share = f"({each.missing / card.n_rows:.0%})"
            missing = Field(f"{each.missing:,}", each.missing, share)
        common = ", ".join(f"{value} ({rows / card.n_rows:.0%})" for value, rows in values)
        rows.append(
            [
                Field(each.name), Field(each.kind), missing,
                count_field(each.n_unique), Field(common if each.min is None else _range(each)),
            ]
        )  # fmt: skip
    left = len(card.columns) - len(rows)
    legend = "Distribution: minimum, median and maximum, or the most frequent categories."
    if left:
        legend += f" {left:,} more columns are not shown."
    caption = f"Summary of {count(len(card.columns), 'column')}"
    return TableBlock(heads, rows, caption, legend, folded=True)


def _range(column: ColumnSummary) -> str:
    text = range_text(column)
    return text.replace("-", MINUS) if column.kind == "numeric" else text
