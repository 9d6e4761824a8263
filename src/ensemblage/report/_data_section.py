"""The card of a dataset, as a section of a page."""

from __future__ import annotations

from collections.abc import Sequence

from ensemblage.datasets import ColumnCard, DataCard, range_text
from ensemblage.messages import count
from ensemblage.pages import (
    MINUS,
    NOTHING,
    Bar,
    BarsBlock,
    Block,
    Column,
    FactsBlock,
    Field,
    NotesBlock,
    Section,
    TableBlock,
    count_field,
)

MOST_BARS = 12
MOST_COLUMNS = 200
HEADS = (
    Column("column"),
    Column("holds"),
    Column("gaps", numeric=True),
    Column("different values", numeric=True),
    Column("typical", wide=True),
)


def data_section(card: DataCard | None) -> list[Section]:
    """Show what the data hold; nothing where that is not known."""
    return [] if card is None else [Section("Data", _card_blocks(card))]


def datasets_section(cards: Sequence[DataCard]) -> list[Section]:
    """Show what several datasets hold, each in a line."""
    if len(cards) < 2:
        return data_section(cards[0] if cards else None)
    heads = [
        Column("dataset"),
        *(Column(name, numeric=True) for name in ("rows", "columns", "gaps")),
        *_target_heads(cards[0]),
    ]
    rows = [
        [
            Field(card.name), count_field(card.n_rows), count_field(len(card.columns)),
            count_field(card.n_missing), *_target_fields(card),
        ]
        for card in cards
    ]  # fmt: skip
    notes = [f"{card.name}: {text}" for card in cards for text in card.notes]
    table = TableBlock(heads, rows, "What the datasets hold")
    return [Section("Data", [table, NotesBlock(notes)] if notes else [table])]


def _target_heads(card: DataCard) -> list[Column]:
    if card.numbers is not None:
        return [Column("numbers", wide=True)]
    return [Column("classes", numeric=True), Column("largest class", numeric=True)]


def _target_fields(card: DataCard) -> list[Field]:
    """Tell the range of the numbers, or how many classes there are and how large the largest."""
    if card.numbers is not None:
        return [Field(_range(card.numbers))]
    largest = max(card.class_shares.values())
    return [count_field(len(card.classes)), Field(f"{largest:.0%}", largest)]


def _card_blocks(card: DataCard) -> list[Block]:
    blocks: list[Block] = [FactsBlock(_facts(card))]
    if card.classes:
        blocks.append(_shares(card.classes, f"Rows of each class of {card.target}."))
    if card.sources:
        blocks.append(_shares(card.sources, "Rows of each source."))
    blocks.append(_columns(card))
    notes = (*([card.task_reason] if card.number_like else []), *card.notes)
    return [*blocks, NotesBlock(notes)] if notes else blocks


def _facts(card: DataCard) -> list[tuple[str, str]]:
    kinds = ", ".join(f"{number:,} of {kind}s" for kind, number in card.kinds.items())
    gaps = "none"
    if card.n_missing:
        share = card.n_missing / (card.n_rows * len(card.columns))
        gaps = f"{share:.1%} of values, in {count(card.n_gappy, 'column')}"
    facts = [("data", card.name), ("rows", f"{card.n_rows:,}"), ("columns", kinds), ("gaps", gaps)]
    most = max((each for each in card.columns if each.kind == "word"),
               key=lambda each: each.distinct, default=None)  # fmt: skip
    if card.numbers is not None:
        facts.append((f"numbers of {card.target}", _range(card.numbers)))
    if most is not None:
        facts.append(("most categories", f"{most.distinct:,} in {most.name}"))
    return facts


def _shares(counts: dict[str, int], caption: str) -> BarsBlock:
    """Draw counts as bars; of many, the rarest together."""
    total = sum(counts.values())
    order = sorted(counts, key=lambda name: -counts[name])
    shown = order if len(order) <= MOST_BARS else order[: MOST_BARS - 1]
    bars = [Bar(name, counts[name], f"{counts[name]:,} ({counts[name] / total:.1%})")
            for name in shown]  # fmt: skip
    rest = sum(counts[name] for name in order[len(shown) :])
    if rest:
        label = f"{len(order) - len(shown)} others"
        bars.append(Bar(label, rest, f"{rest:,} ({rest / total:.1%})"))
    return BarsBlock(bars, caption, from_zero=True)


def _columns(card: DataCard) -> TableBlock:
    rows = [
        [
            Field(each.name), Field(f"{each.kind}s"),
            NOTHING if each.missing == 0
            else Field(f"{each.missing:,}", each.missing, f"({each.missing / card.n_rows:.0%})"),
            count_field(each.distinct), Field(_typical(each, card.n_rows)),
        ]
        for each in card.columns[:MOST_COLUMNS]
    ]  # fmt: skip
    left = len(card.columns) - len(rows)
    legend = "Typical: the least, the median and the greatest number, or the most frequent words."
    if left:
        legend += f" {left:,} more columns are not shown."
    said = f"The {count(len(card.columns), 'column')}, one by one"
    return TableBlock(HEADS, rows, said, legend, folded=True)


def _typical(column: ColumnCard, n_rows: int) -> str:
    if column.low is not None:
        return _range(column)
    return ", ".join(f"{word} ({rows / n_rows:.0%})" for word, rows in column.common.items())


def _range(column: ColumnCard) -> str:
    return range_text(column).replace("-", MINUS) if column.kind == "number" else range_text(column)
