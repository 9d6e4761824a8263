"""Cards on pages."""

from ensemblage.datasets import ColumnCard, DataCard
from ensemblage.pages import BarsBlock, FactsBlock, NotesBlock, TableBlock
from ensemblage.report._data_section import data_section, datasets_section

COLUMNS = (
    ColumnCard("age", "number", 5, 30, -1.5, 40.0, 52.0),
    ColumnCard("job", "word", 0, 14, common={"cook": 30, "smith": 20}),
)


def card(classes, **options):
    facts = {"name": "people", "n_rows": 100, "columns": COLUMNS, "target": "kind"}
    return DataCard(**facts, classes=classes, **options)


def test_a_card_as_a_section():
    (section,) = data_section(card({"a": 75, "b": 25}, notes=("A note.",)))
    facts, shares, columns, notes = section.blocks
    assert isinstance(facts, FactsBlock)
    assert facts.facts == [
        ("data", "people"), ("rows", "100"), ("columns", "1 of numbers, 1 of words"),
        ("gaps", "2.5% of values, in 1 column"), ("most categories", "14 in job"),
    ]  # fmt: skip
    assert isinstance(shares, BarsBlock)
    assert [bar.text for bar in shares.bars] == ["75 (75.0%)", "25 (25.0%)"]
    assert isinstance(columns, TableBlock)
    assert [row[-1].text for row in columns.rows] == [
        "\N{MINUS SIGN}1.5 to 52, half up to 40", "cook (30%), smith (20%)",
    ]  # fmt: skip
    assert notes == NotesBlock(("A note.",))


def test_the_rarest_of_many_classes_stand_together():
    (section,) = data_section(card({f"c{k}": k + 1 for k in range(20)}))
    bars = section.blocks[1].bars
    assert len(bars) == 12
    assert (bars[0].label, bars[-1].label, bars[-1].value) == ("c19", "9 others", 45)


def test_no_card_is_no_section_and_several_are_one_table():
    assert data_section(None) == datasets_section(()) == []
    two = [card({"a": 75, "b": 25}), card({"a": 50, "b": 50}, notes=("Odd.",))]
    (section,) = datasets_section(two)
    table, notes = section.blocks
    assert [row[-1].text for row in table.rows] == ["75%", "50%"]
    assert notes.notes == ["people: Odd."]
