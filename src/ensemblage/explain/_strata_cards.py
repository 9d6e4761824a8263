"""What the strata are, a card for each."""

from __future__ import annotations

from ensemblage.explain._strata_facts import MemberFacts, StrataFacts
from ensemblage.pages import Block, Card, CardsBlock, TextBlock
from ensemblage.strata import ColumnDifference, StrataDescription, StratumDescription

UNDESCRIBED = "What the strata are needs rows to tell: name a file after the model."


def strata_section(facts: StrataFacts) -> list[Block]:
    """Tell what the strata are, for a page."""
    described = facts.described
    if described is None:
        return [TextBlock([UNDESCRIBED])]
    cards = [_card(each, described.written_error(each.error)) for each in described.strata]
    return [CardsBlock(cards, _caption(described))]


def strata_names(facts: StrataFacts) -> list[str]:
    """Name the strata by number and, where they are described, in words; anchors are none."""
    return [_title(each) for each in facts.members if each.closest is not None]


def _title(member: MemberFacts) -> str:
    name = member.name
    return f"stratum {member.member}" if name in {None, member.member} else (
        f"{member.member}: {name}"
    )  # fmt: skip


def _card(stratum: StratumDescription, error: str) -> Card:
    text = f"{stratum.share:.1%} of the rows"
    if stratum.error is not None:
        text += f", error {error}"
    lines = [_line(each) for each in stratum.differences]
    return Card(f"{stratum.stratum}: {stratum.name}", text, lines)


def _line(difference: ColumnDifference) -> tuple[str, str]:
    what = {"word": f" = {difference.category}", "missing": " missing"}.get(difference.kind, "")
    own, everywhere = map(difference.written, (difference.stratum, difference.all_rows))
    return f"{difference.column}{what}", f"{own} (all rows {everywhere})"


def _caption(described: StrataDescription) -> str:
    said = (
        "For each stratum its share of the rows, of which one may be in several, and the columns "
        "in which it differs most from all rows: its median or share beside that of all."
    )
    return said if described.error is None else f"{said} {described.error_sentence}"
