import msgspec
import numpy as np
import pytest

from ensemblage._core import Heading as Column
from ensemblage.datasets import make_multi_source
from ensemblage.report import CardsBlock, MapBlock, TextBlock, explain_model
from ensemblage.report._blocks import Card
from ensemblage.report._explanation import Subject
from ensemblage.report._strata import (
    UNDESCRIBED,
    MemberFacts,
    RowFacts,
    StrataFacts,
    closest_bars,
    members_table,
    members_text,
    reasons,
    strata_map,
    strata_names,
    strata_section,
    strata_summary,
    voices_blocks,
    voices_text,
)
from ensemblage.strata import (
    HISS,
    BootstrapStrata,
    ColumnDifference,
    StrataDescription,
    StrataEnsembleClassifier,
    StrataEnsembleRegressor,
    StratumDescription,
)

AGE = ColumnDifference("age", "numeric", None, 60.0, 40.0, 1.0)


SITE = ColumnDifference("site", "categorical", "Basel", 0.9, 0.3, 1.3)


LAB = ColumnDifference("lab", "missing", None, 0.8, 0.2, 1.3)


SEEN = ColumnDifference("seen", "date", None, 18628.0, 18000.0, 0.5)


TOLD = StrataDescription((StratumDescription(0, "x", 0.5, None, (SITE, LAB, AGE, SEEN)),), 9)


def test_the_nearest_columns_stand_first():
    fields = {"age": 65.0, "site": "Basel", "lab": 3.0, "seen": 18628.0}
    assert reasons(TOLD, 0, fields) == [
        "site = Basel",
        "age 65 (stratum 60, all rows 40)",
        "seen 2021-01-01 (stratum 2021-01-01, all rows 2019-04-14)",
    ]


def test_columns_in_which_the_row_is_like_all_rows_are_no_reasons():
    fields = {"age": 41.0, "site": "Bern", "lab": None, "seen": None}
    assert reasons(TOLD, 0, fields) == ["lab missing"]


def test_without_a_description_there_are_none():
    assert reasons(None, 0, {}) == reasons(TOLD, None, {}) == []


def test_a_card_by_hand():
    differences = (
        ColumnDifference("age", "numeric", None, 61.0, 42.0, 0.9),
        ColumnDifference("job", "categorical", "cook", 0.5, 0.2, 0.6),
        ColumnDifference("pay", "missing", None, 0.3, 0.1, 0.5),
    )
    described = StrataDescription(
        (StratumDescription(0, "age high (61)", 0.25, 0.1, differences),), 40, 0.15, "held out"
    )
    X, y = make_multi_source(3, 90, random_state=0)
    facts = explain_model(StrataEnsembleClassifier(HISS(3, 0.3), random_state=0).fit(X, y)).facts
    assert strata_section(facts)[0].paragraphs == [UNDESCRIBED]
    assert strata_names(facts) == ["stratum 0", "stratum 1", "stratum 2"]
    (block,) = strata_section(type(facts)(**{**_fields(facts), "described": described}))
    assert isinstance(block, CardsBlock)
    assert block.cards == [
        Card(
            "0: age high (61)", "25.0% of the rows, error 10.0%",
            [("age", "61 (all rows 42)"), ("job = cook", "50% (all rows 20%)"),
             ("pay missing", "30% (all rows 10%)")],
        )
    ]  # fmt: skip
    assert block.caption.endswith("had not seen; on all of them 15.0%.")


def test_strata_have_their_names_where_rows_tell_them():
    X, y = make_multi_source(3, 90, random_state=0)
    model = StrataEnsembleClassifier(HISS(3, 0.3), random_state=0).fit(X, y)
    facts = explain_model(model, np.asarray(X)).facts
    assert [name.split(":")[0] for name in strata_names(facts)] == ["0", "1", "2"]
    assert strata_names(facts)[0].endswith(facts.described.names[0])


def _fields(facts):
    return {name: getattr(facts, name) for name in facts.__struct_fields__}


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


X = np.random.default_rng(0).normal(size=(60, 3))


NAMES = [f"stratum {k}" for k in range(9)]


@pytest.fixture(scope="module")
def strata():
    return HISS(9, 0.3, random_state=0).fit(X)


def test_few_strata_are_all_shown_in_their_order():
    few = HISS(3, 0.3, random_state=0).fit(X)
    block = strata_map(Subject(few, X=X, y=np.array(["a", "b"] * 30)), NAMES)
    assert [panel.title for panel in block.panels] == NAMES[:3]
    assert block.groups == ["a", "b"] * 30
    assert len(block.points) == 60
    assert block.mark is None
    memberships = few.transform(X)
    for k, panel in enumerate(block.panels):
        assert panel.rows == np.flatnonzero(memberships[:, k] >= 0.5).tolist()
        assert panel.text == f"{len(panel.rows)} rows"


def test_of_many_strata_the_rows_own_come_first(strata):
    block = strata_map(Subject(strata, X=X, row=7), NAMES)
    assert len(block.panels) == 6
    own = {NAMES[k] for k in np.flatnonzero(strata.transform(X)[7] >= 0.5)}
    assert {panel.title for panel in block.panels if panel.own} == own
    assert all(panel.own for panel in block.panels[: len(own)])
    assert (block.mark, block.mark_name) == (7, "row 7")
    assert "6 of the 9 strata, the row's own first" in block.caption


def test_the_stratum_that_decided_comes_before_the_others(strata):
    shares = [0.0] * 9
    decided = int(np.flatnonzero(strata.transform(X)[7] >= 0.5)[-1])
    shares[decided] = 1.0
    block = strata_map(Subject(strata, X=X, row=7), NAMES, shares)
    assert block.panels[0].title == NAMES[decided]


def test_no_map_where_there_is_none():
    alike = BootstrapStrata(3, random_state=0).fit(X)
    assert isinstance(strata_map(Subject(alike, X=X), NAMES), TextBlock)
    narrow = HISS(2, 0.4, random_state=0).fit(X[:, :1])
    said = strata_map(Subject(narrow, X=X[:, :1]), NAMES).paragraphs
    assert said == ["A map needs at least two columns; the strata see 1."]


@pytest.fixture(scope="module")
def data():
    return make_multi_source(3, 240, 4, random_state=0)


def fitted(X, y, strata, **options):
    return StrataEnsembleClassifier(strata, random_state=0, **options).fit(X, y)


def test_the_document_is_the_row_if_one_is_named(data):
    X, y = data
    model = fitted(X, y, HISS(3, 0.4))
    assert explain_model(model).document.rows == "training"
    assert explain_model(model, X).document.rows == "given"
    explained = explain_model(model, X, row=3)
    assert explained.document.row == 3
    assert explained.text()[0].startswith("Row 3: predicted ")
    assert [section.title for section in explained.page().sections] == [
        "Row 3", "What the strata are", "Map", "Members",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("picture", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_the_map_is_a_picture(data, picture, start):
    pytest.importorskip("matplotlib")
    X, y = data
    model = fitted(X, y, HISS(3, 0.4))
    assert explain_model(model, X, y).draw(picture).startswith(start)


def test_a_map_without_rows_is_refused(data):
    X, y = data
    explained = explain_model(fitted(X, y, HISS(3, 0.4)))
    with pytest.raises(ValueError, match="needs rows to show: give `X`"):
        explained.draw()
    (hint,) = explained.page().sections[1].blocks
    assert hint == TextBlock(["A map needs rows to show: name a file after the model."])


def test_what_was_learned_by_hand(data):
    X, y = data
    model = fitted(X, y, HISS(2, 0.5), fusion="mean")
    model.stratifier_.memberships_ = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.6]])
    lines = list(type(explain_model(model)).learned(model, ()))
    assert lines == [
        "2 strata of 120 of the 4 rows",
        "a row is in 0 to 2 strata; 1 row is in none",
        "one scaled logistic regression per stratum, fused by mean",
    ]
    model.stratifier_.memberships_ = np.array([[1.0, 0.0], [0.0, 1.0]])
    lines = list(type(explain_model(model)).learned(model, ()))
    assert lines[1] == "every row is in one stratum"


def test_strata_without_places_say_so(data):
    X, y = data
    explained = explain_model(fitted(X, y, BootstrapStrata(2), fusion="vote"), X, y)
    (block,) = explained.page().sections[1].blocks
    assert isinstance(block, TextBlock)
    assert block.paragraphs[0].startswith("No row is closer to one stratum of BootstrapStrata")
    drawn = explain_model(fitted(X, y, HISS(3, 0.4)), X).page().sections[1].blocks[0]
    assert isinstance(drawn, MapBlock)


NUMBER_FUSIONS = ["gate", "log_linear", "mean"]


@pytest.fixture(scope="module")
def numbers():
    return make_multi_source(3, 240, 4, task="regression", random_state=0)


@pytest.mark.parametrize("fusion", NUMBER_FUSIONS)
def test_columns_add_up_to_a_number(numbers, fusion):
    X, y = numbers
    model = StrataEnsembleRegressor(HISS(3, 0.4), fusion=fusion, random_state=0).fit(X, y)
    story = explain_model(model, X, y, row=3).document
    mean, std = model.predict(X[3:4], return_std=True)
    assert story.decision.value == pytest.approx(mean[0])
    moved = story.decision.base + sum(each.amount for each in story.decision.contributions)
    assert moved == pytest.approx(mean[0])
    assert story.spread == pytest.approx(std[0])
    assert (story.classes, story.scores) == ([], [])
    spreads = [each["spread"] for each in model.member_report_]
    assert [each.outputs[1] for each in story.members] == pytest.approx(spreads)


def test_strata_of_numbers_are_told_in_full(numbers):
    X, y = numbers
    model = StrataEnsembleRegressor(HISS(3, 0.4), random_state=0).fit(X, y)
    explained = explain_model(model, X, y)
    assert [each.score for each in explained.facts.members] == [
        each["score"] for each in model.member_report_
    ]
    described = explained.facts.described
    assert (described.error, described.of_classes) == (model.held_out_error_, False)
    texts = [each for each in explained.text() if isinstance(each, str)]
    assert any("root of the mean squared error" in text for text in texts)
    (drawn,) = explained.page().sections[1].blocks
    assert isinstance(drawn, MapBlock)
    assert drawn.groups == []
    told = explain_model(model, X, row=3)
    assert told.text()[1].columns[-2:] == [
        Column("number", numeric=True), Column("spread", numeric=True)
    ]  # fmt: skip
    sentence = told.page().sections[0].blocks[0].paragraphs[0]
    assert sentence.startswith(f"Predicted: {told.document.prediction}. Its standard deviation: ")


def test_stacked_numbers_do_not_add_up(numbers):
    X, y = numbers
    model = StrataEnsembleRegressor(HISS(3, 0.4), fusion="stacking", random_state=0).fit(X, y)
    assert explain_model(model, X, row=0).document.decision is None


def test_strata_with_one_value_have_constant_members(numbers):
    X, y = numbers
    y = np.where(X[:, 0] > np.quantile(X[:, 0], 0.3), 5.0, y)
    with pytest.warns(UserWarning, match="one value of the target only"):
        model = StrataEnsembleRegressor(HISS(4, 0.2), random_state=0).fit(X, y)
    lines = list(type(explain_model(model)).learned(model, ()))
    constant = len(model.constant_strata_)
    assert lines[-1] == f"{constant} of 4 strata hold one value only"
    assert "one value only" in explain_model(model).page().summary[1]
