"""Strata in words and tables, of made-up facts."""

import msgspec

from ensemblage.explain._strata_blocks import (
    closest_bars,
    members_table,
    members_text,
    row_blocks,
    row_text,
    strata_summary,
)
from ensemblage.explain._strata_facts import MemberFacts, RowFacts, StrataFacts

MEMBER = MemberFacts("0", "SVC", 50, ["a", "b"], None, 0.9, 0.6)
FACTS = StrataFacts(
    "HISS", "Gate", 2, 0.3, "training",
    [MEMBER, msgspec.structs.replace(MEMBER, member="1", classes=["a"], closest=0.4),
     msgspec.structs.replace(MEMBER, member="anchor", closest=None)],
)  # fmt: skip
STORY = msgspec.convert({
    "row": 7, "prediction": "a", "classes": ["a", "b"], "scores": [0.75, 0.25],
    "members": [
        {"member": "0", "membership": 0.2, "outputs": [0.5, 0.5], "weight": 0.25},
        {"member": "1", "membership": 1.0, "outputs": [0.8, 0.2], "weight": 0.75},
        {"member": "2", "membership": 0.0, "outputs": [0.0, 1.0], "weight": 0.0},
    ],
}, RowFacts)  # fmt: skip


def test_the_summary_counts_constant_members():
    assert strata_summary(FACTS) == [
        "2 strata by HISS, each 30% of the rows; their members are fused by Gate.",
        "1 stratum holds rows of one class only, and its member is constant.",
    ]


def test_columns_without_a_number_are_left_out():
    table = members_table(FACTS)
    names = [column.name for column in table.columns]
    assert "weight" not in names
    assert "closest" in names
    assert [field.text for field in table.rows[1]][:4] == ["1", "constant", "50", "a only"]
    assert "Weight" not in table.legend


def test_a_terminal_gets_the_same_table_with_its_own_legend():
    first, table, legend = members_text(FACTS)
    assert first == "2 strata by HISS, each 30% of the rows; fused by Gate"
    assert table.rows == members_table(FACTS).rows
    assert legend.startswith("accuracy: on rows of the stratum that the member had not seen; ")


def test_an_anchor_is_closest_to_nothing():
    assert [bar.label for bar in closest_bars(FACTS).bars] == ["stratum 0", "stratum 1"]


def test_one_rows_way():
    text, table = row_blocks(STORY)
    assert text.paragraphs == ["Predicted: a. All members together say a 0.750, b 0.250."]
    assert [row[0].text for row in table.rows] == ["1", "0"]
    assert table.legend.endswith("Left out: 1 member without a part.")


def test_one_rows_way_in_a_terminal_ends_in_the_fused_answer():
    first, table, _, left = row_text(STORY)
    assert first == "Row 7: predicted a"
    assert [field.text for field in table.rows[-1]] == ["fused", "", "", "0.750", "0.250"]
    assert left == "Left out: 1 member without a part in it."
