"""Strata in words and tables, of made-up facts."""

import msgspec

from ensemblage.explain._strata_blocks import (
    closest_bars,
    members_table,
    members_text,
    strata_summary,
    voices_blocks,
    voices_text,
)
from ensemblage.explain._strata_facts import MemberFacts, RowFacts, StrataFacts
from ensemblage.strata import StrataDescription, StratumDescription

MEMBER = MemberFacts("0", "age high (61)", "SVC", 50, ["a", "b"], None, 0.9, 0.6)
FACTS = StrataFacts(
    "HISS", "Gate", 2, 0.3, "training",
    [MEMBER,
     msgspec.structs.replace(
         MEMBER, member="1", name="1", classes=["a"], closest=0.4, constant=True),
     msgspec.structs.replace(MEMBER, member="anchor", name=None, closest=None)],
)  # fmt: skip
STORY = msgspec.convert({
    "row": 7, "prediction": "a", "classes": ["a", "b"], "scores": [0.75, 0.25],
    "decision": {
        "label": "a", "measure": "log odds", "base": 0.5, "value": 1.25, "share": 0.9,
        "contributions": [{"column": "age", "value": "63", "amount": 0.75}],
    },
    "members": [
        {"member": "0", "name": "age low (20)", "why": [],
         "membership": 0.2, "outputs": [0.5, 0.5], "weight": 0.25},
        {"member": "1", "name": "age high (61)", "why": ["age 63 (stratum 61, all rows 54)"],
         "membership": 1.0, "outputs": [0.8, 0.2], "weight": 0.75},
        {"member": "2", "name": None, "why": [],
         "membership": 0.0, "outputs": [0.0, 1.0], "weight": 0.0},
    ],
}, RowFacts)  # fmt: skip


def test_the_summary_counts_constant_members():
    assert strata_summary(FACTS) == [
        "2 strata by HISS, each 30% of the rows; fused by gate.",
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
    first, table, legend, undescribed = members_text(FACTS)
    assert first == "2 strata by HISS, each 30% of the rows; fused by gate"
    assert table.rows == members_table(FACTS).rows
    assert legend.startswith("accuracy: on rows of the stratum that the member had not seen; ")
    assert undescribed.startswith("What the strata are needs rows to tell")


def test_what_all_members_share_is_said_once():
    facts = msgspec.structs.replace(FACTS, members=[MEMBER, MEMBER], fusion="AnchoredGate")
    first, table, *_ = members_text(facts)
    assert first.endswith("each 30% of the rows; on each of them: SVC; fused by anchored gate")
    assert [column.name for column in table.columns] == ["stratum", "rows", "accuracy", "closest"]


def test_what_the_strata_are_stands_first():
    described = StrataDescription((StratumDescription(0, "age high (61)", 0.5, None, ()),), 10)
    facts = msgspec.structs.replace(FACTS, described=described)
    assert members_text(facts)[:2] == ["What the strata are", described.block]


def test_an_anchor_is_closest_to_nothing():
    assert [bar.label for bar in closest_bars(FACTS).bars] == [
        "0: age high (61)", "stratum 1",
    ]  # fmt: skip


def test_one_rows_way():
    text, table, why, moved = voices_blocks(STORY)
    assert text.paragraphs == ["Predicted: a. All members together say a 0.750, b 0.250."]
    assert [row[0].text for row in table.rows] == ["1 age high (61)", "0 age low (20)"]
    assert table.legend.endswith("Left out: 1 member without a part in it.")
    assert why.paragraphs == ["In age high (61): age 63 (stratum 61, all rows 54)."]
    assert moved.caption.startswith("Which columns moved the decision")


def test_one_rows_way_in_a_terminal_ends_in_the_fused_answer():
    first, table, _, left, why, moved, legend = voices_text(STORY)
    assert first == "Row 7: predicted a (a 0.750, b 0.250)"
    assert [field.text for field in table.rows[-1]] == ["fused", "", "", "0.750", "0.250"]
    assert left == "Left out: 1 member without a part in it."
    assert why == "In age high (61): age 63 (stratum 61, all rows 54)"
    assert [field.text for field in moved.rows[1]] == ["age", "63", "+0.750"]
    assert legend == (
        "For a: log odds; members with 90% of the weight are linear and counted here."
    )


def test_where_nothing_is_linear_that_is_said():
    story = msgspec.structs.replace(STORY, decision=None)
    assert voices_text(story)[-1].startswith("Which columns moved the decision cannot be told")


def test_only_the_loudest_voices_are_listed():
    many = [msgspec.structs.replace(STORY.members[0], weight=0.05)] * 20
    _, table, _, left, *_ = voices_text(msgspec.structs.replace(STORY, members=many))
    assert len(table.rows) == 9
    assert left == "Left out: 12 members with 60.0% of the weight."


def test_of_many_classes_the_most_probable_are_shown():
    shares = [0.02, 0.4, 0.01, 0.1, 0.03, 0.2, 0.04, 0.2]
    members = [msgspec.structs.replace(each, outputs=shares) for each in STORY.members]
    story = msgspec.structs.replace(
        STORY, classes=list("abcdefgh"), scores=shares, members=members, prediction="b"
    )
    said, table, *_ = voices_text(story)
    assert said == (
        "Row 7: predicted b (b 0.400, d 0.100, e 0.030, f 0.200, g 0.040, h 0.200, 2 others 0.030)"
    )
    assert [column.name for column in table.columns][3:] == list("bdefgh")
    assert [field.text for field in table.rows[-1]][3:5] == ["0.400", "0.100"]
    assert voices_blocks(story)[0].paragraphs[0].endswith("h 0.200, 2 others 0.030.")
