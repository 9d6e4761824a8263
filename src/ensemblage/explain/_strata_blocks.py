"""Strata in words, tables and a map: for a terminal and for a page."""

from __future__ import annotations

from collections.abc import Sequence

from ensemblage.explain._decision import (
    decision_bars,
    decision_table,
    leading,
    predicted,
    scores_text,
)
from ensemblage.explain._strata_cards import UNDESCRIBED, strata_names
from ensemblage.explain._strata_facts import MemberVoice, RowFacts, StrataFacts
from ensemblage.messages import count, plain_name, write_number
from ensemblage.pages import (
    NOTHING,
    Bar,
    BarsBlock,
    Block,
    Column,
    Field,
    TableBlock,
    TextBlock,
    count_field,
    number_field,
    share_field,
)

# What would be printed as 0.0 % is no part.
SMALLEST_PART = 0.0005
MOST_VOICES = 8
MOST_REASONED = 3
"""So many strata are told with the reasons for which the row is in them."""
UNMOVED = (
    "Which columns moved the decision cannot be told exactly: members or fusion are not linear."
)
WEIGHT = "the member's share in this decision; then what it says of each class"
SHARE = "the member's share in this decision; then its number, and how far that may be off"


def strata_summary(facts: StrataFacts) -> list[str]:
    """Say what was found, and which members are constant."""
    told = [f"{_made_of(facts)}."]
    constant = sum(each.constant for each in facts.members)
    value = "class" if any(each.classes for each in facts.members) else "value"
    if constant == 1:
        told.append(f"1 stratum holds rows of one {value} only, and its member is constant.")
    elif constant:
        told.append(
            f"{constant} strata hold rows of one {value} only, and their members are constant."
        )
    return told


def members_text(facts: StrataFacts) -> list[str | TableBlock]:
    """List the members for a terminal, with a legend of the columns that are there."""
    table = _members(facts, most_classes=4)
    legend = {
        "weight": "share in the fusion",
        "accuracy": "on rows of the stratum that the member had not seen",
        "R²": "on rows of the stratum that the member had not seen, and its spread there",
        "closest": f"share of the {facts.rows} rows whose strongest stratum it is",
    }
    names = {column.name for column in table.columns}
    told: list[str | TableBlock] = [
        _made_of(facts),
        table,
        "; ".join(f"{name}: {text}" for name, text in legend.items() if name in names),
    ]
    if facts.described is None:
        return [*told, UNDESCRIBED]
    return ["What the strata are", facts.described.block, facts.described.legend, "", *told]


def members_table(facts: StrataFacts) -> TableBlock:
    """List the members for a page."""
    table = _members(facts, most_classes=6)
    names = {column.name for column in table.columns}
    score = "R², and the root of the mean squared error" if "R²" in names else "Accuracy"
    legend = (
        f"Rows: what the member learned from. {score}: on rows of the stratum that the member had "
        f"not seen. Closest: share of the {facts.rows} rows whose strongest stratum it is."
    )
    if "weight" in names:
        legend += " Weight: share in the fusion."
    return TableBlock(table.columns, table.rows, "The members of the ensemble", legend)


def _members(facts: StrataFacts, most_classes: int) -> TableBlock:
    members = facts.members
    score = "accuracy" if any(each.classes for each in members) else "R²"
    columns = {
        Column("stratum"): [Field(_named(each.member, each.name)) for each in members],
        Column("member"): [
            Field("constant" if each.constant else plain_name(each.estimator)) for each in members
        ],
        Column("rows", numeric=True): [count_field(each.n_rows) for each in members],
        Column("classes"): [Field(_classes(each.classes, most_classes)) for each in members],
        Column("weight", numeric=True): [share_field(each.weight) for each in members],
        Column(score, numeric=True): [number_field(each.score, 3) for each in members],
        Column("spread", numeric=True): [_number(each.spread) for each in members],
        Column("closest", numeric=True): [share_field(each.closest) for each in members],
    }
    # a gate has no weights but per row, and an in-sample fusion no held-out score
    shown = {
        column: fields
        for column, fields in columns.items()
        if set(fields) != {NOTHING} and not (_may_go(column) and len(set(fields)) == 1)
    }
    return TableBlock(list(shown), list(zip(*shown.values(), strict=True)), "")


def _may_go(column: Column) -> bool:
    """Whether a column tells nothing where all its fields are alike."""
    return column.name in {"member", "classes"}


def _made_of(facts: StrataFacts) -> str:
    """Say what the ensemble is; also what all members are, as their table then does not."""
    size = "" if facts.stratum_size is None else f", each {facts.stratum_size:.0%} of the rows"
    kinds = {"" if each.constant else each.estimator for each in facts.members}
    (kind,) = kinds if len(kinds) == 1 else ("",)
    alike = f"; on each of them: {plain_name(kind)}" if kind else ""
    fusion = plain_name(facts.fusion)
    return f"{facts.n_strata} strata by {facts.stratifier}{size}{alike}; fused by {fusion}"


def closest_bars(facts: StrataFacts) -> BarsBlock:
    """Count how many rows each stratum is the strongest of."""
    shares = [each.closest for each in facts.members if each.closest is not None]
    bars = [
        Bar(name, share, f"{share:.1%}", strong=True)
        for name, share in zip(strata_names(facts), shares, strict=True)
    ]
    caption = f"Share of the {facts.rows} rows whose strongest stratum is the member's."
    return BarsBlock(bars, caption, percent=True, from_zero=True)


def voices_text(story: RowFacts) -> list[str | TableBlock]:
    """Tell one row's way for a terminal; the last line of the table is the fused answer."""
    table, left_out = _voices(story)
    fused = [Field("fused"), Field(""), Field(""), *_outputs(story, story.scores)]
    if story.spread is not None:
        fused[3:] = [Field(story.prediction), _number(story.spread)]
    said: list[str | TableBlock] = [
        predicted(story),
        TableBlock(table.columns, [*table.rows, fused], ""),
        f"weight: {WEIGHT if story.classes else SHARE}",
    ]
    if left_out:
        said.append(left_out)
    return [*said, *_why(story), *_moved(story)]


def _why(story: RowFacts) -> list[str]:
    """Say why the row is where it is, for the strata that it is closest to."""
    near = [each for each in _by_weight(story) if each.why and (each.membership or 0) >= 0.5]
    return [f"In {each.name}: {'; '.join(each.why)}" for each in near[:MOST_REASONED]]


def _moved(story: RowFacts) -> list[str | TableBlock]:
    if story.decision is None:
        return [UNMOVED]
    table = decision_table(story.decision)
    return [table, table.legend]


def voices_blocks(story: RowFacts) -> list[Block]:
    """Tell one row's way for a page."""
    table, left_out = _voices(story)
    legend = f"Weight: {WEIGHT if story.classes else SHARE}. {left_out}".rstrip()
    said = f"All members together say {scores_text(story)}."
    if story.spread is not None:
        said = f"Its standard deviation: {write_number(story.spread)}."
    return [
        TextBlock([f"Predicted: {story.prediction}. {said}"]),
        TableBlock(table.columns, table.rows, f"Who decided about row {story.row}", legend),
        *([TextBlock([f"{line}." for line in _why(story)])] if _why(story) else []),
        TextBlock([UNMOVED]) if story.decision is None else decision_bars(story.decision),
    ]


def _voices(story: RowFacts) -> tuple[TableBlock, str]:
    """List who had the largest parts in a decision, and say who is left out."""
    columns = [
        Column("stratum"),
        Column("membership", numeric=True),
        Column("weight", numeric=True),
        *(Column(name, numeric=True) for name in _heads(story)),
    ]
    members = _by_weight(story)
    shown = [each for each in members if _has_part(each)][:MOST_VOICES]
    rows = [
        [
            Field(_named(each.member, each.name)),
            number_field(each.membership, 3),
            share_field(each.weight),
            *_outputs(story, each.outputs),
        ]
        for each in shown
    ]
    n_others = len(members) - len(shown)
    if n_others == 0:
        return TableBlock(columns, rows, ""), ""
    weight = sum(each.weight or 0 for each in members) - sum(each.weight or 0 for each in shown)
    part = f"with {weight:.1%} of the weight" if weight >= SMALLEST_PART else "without a part in it"
    return TableBlock(columns, rows, ""), f"Left out: {count(n_others, 'member')} {part}."


def _heads(story: RowFacts) -> list[str]:
    """Name what a member says: the classes to show, or a number and its spread."""
    if not story.classes:
        return ["number", "spread"]
    return [story.classes[k] for k in leading(story.scores)]


def _outputs(story: RowFacts, outputs: Sequence[float]) -> list[Field]:
    """Write what a member says under these names."""
    if not story.classes:
        return [_number(each, 6) for each in outputs]
    return [number_field(outputs[k], 3) for k in leading(story.scores)]


def _number(value: float | None, digits: int = 4) -> Field:
    return NOTHING if value is None else Field(write_number(value, digits), value)


def _by_weight(story: RowFacts) -> list[MemberVoice]:
    """Put first who weighs most, or else is closest."""
    return sorted(story.members, key=lambda each: (-(each.weight or 0), -(each.membership or 0)))


def _named(member: str, name: str | None) -> str:
    return member if name in {None, member} else f"{member} {name}"


def _has_part(voice: MemberVoice) -> bool:
    weight, membership = voice.weight, voice.membership or 0
    return weight is None or weight >= SMALLEST_PART or membership >= SMALLEST_PART


def _classes(labels: Sequence[str], most: int) -> str:
    only = " only" if len(labels) == 1 else ""
    return f"{', '.join(labels)}{only}" if len(labels) <= most else f"{len(labels)} classes"
