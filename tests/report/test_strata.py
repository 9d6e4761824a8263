import json

import msgspec
import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from ensemblage._core import Heading
from ensemblage.datasets import make_multi_source
from ensemblage.report import described_strata, explain_model
from ensemblage.report._blocks import FigureBlock
from ensemblage.report._contributions import RowExplanation, class_contrast
from ensemblage.report._explanation import ModelContext
from ensemblage.report._linear import linear_part
from ensemblage.report._strata import (
    NO_ROWS,
    NOT_DESCRIBED,
    NOT_LINEAR,
    StrataDocument,
    StrataMemberDocument,
    _sentences,
    learned,
    member_table,
    members_table,
    outlined_strata,
    strata_map,
    stratum_reasons,
)
from ensemblage.sources import SourceStrata
from ensemblage.strata import (
    HISS,
    BootstrapStrata,
    ColumnDifference,
    StrataDescription,
    StrataDisplay,
    StrataEnsembleClassifier,
    StrataEnsembleRegressor,
    StratumDescription,
)
from report.documents import total_of

pytestmark = pytest.mark.filterwarnings("ignore:.*hold one class only")

COLUMNS = [f"column {j}" for j in range(4)]
AGE = ColumnDifference("age", "numeric", None, 60.0, 40.0, 1.0)
SITE = ColumnDifference("site", "categorical", "Basel", 0.9, 0.3, 1.3)
LAB = ColumnDifference("lab", "missing", None, 0.8, 0.2, 1.3)
SEEN = ColumnDifference("seen", "date", None, 18628.0, 18000.0, 0.5)
DESCRIBED = StrataDescription((StratumDescription(0, "x", 0.5, None, (SITE, LAB, AGE, SEEN)),), 9)
MEMBER = StrataMemberDocument("0", "age high (61)", "SVC", 50, ["a", "b"], None, 0.9, 0.6)
DOCUMENT = StrataDocument(
    "HISS", "Gate", 2, 0.3, "training",
    [MEMBER,
     msgspec.structs.replace(
         MEMBER, member="1", name="1", classes=["a"], dominant_in=0.4, constant=True),
     msgspec.structs.replace(MEMBER, member="anchor", name=None, dominant_in=None)],
)  # fmt: skip
ROW = msgspec.convert({
    "row": 7, "prediction": "a", "classes": ["a", "b"], "scores": [0.75, 0.25],
    "member_predictions": [
        {"member": "0", "name": "age low (20)",
         "membership": 0.2, "scores": [0.5, 0.5], "weight": 0.25},
        {"member": "1", "name": "age high (61)", "reasons": ["age 63 (stratum 61, all rows 54)"],
         "membership": 1.0, "scores": [0.8, 0.2], "weight": 0.75},
        {"member": "2", "membership": 0.0, "scores": [0.0, 1.0], "weight": 0.0},
    ],
}, RowExplanation)  # fmt: skip
ROWS = np.random.default_rng(0).normal(size=(60, 3))
NAMES = [f"stratum {k}" for k in range(9)]


@pytest.fixture(scope="module")
def data():
    return make_multi_source(3, 240, 4, random_state=0, return_sources=True)


@pytest.fixture(scope="module")
def regression():
    return make_multi_source(3, 240, 4, task="regression", random_state=0)


def fitted(X, y, strata, **options):
    ensemble = StrataEnsembleClassifier(strata, random_state=0, **options)
    return make_pipeline(StandardScaler(), ensemble).fit(X, y)


def document_of(model, X=None):
    return explain_model(model, X, columns=COLUMNS).document


def row_of(model, X, row):
    return explain_model(model, X, columns=COLUMNS, row=row).document


def test_the_nearest_columns_come_first():
    fields = {"age": 65.0, "site": "Basel", "lab": 3.0, "seen": 18628.0}
    assert stratum_reasons(DESCRIBED, 0, fields) == [
        "site = Basel",
        "age 65 (stratum 60, all rows 40)",
        "seen 2021-01-01 (stratum 2021-01-01, all rows 2019-04-14)",
    ]


def test_columns_in_which_the_row_is_like_all_rows_are_no_reasons():
    fields = {"age": 41.0, "site": "Bern", "lab": None, "seen": None}
    assert stratum_reasons(DESCRIBED, 0, fields) == ["lab missing"]


def test_without_a_description_there_are_no_reasons():
    assert stratum_reasons(None, 0, {}) == stratum_reasons(DESCRIBED, None, {}) == []


def test_the_sentences_count_constant_members():
    assert _sentences(DOCUMENT) == [
        "2 strata found by HISS, each with 30% of the rows; fusion: gate.",
        "1 stratum holds rows of one class only: their member is constant.",
    ]


def test_an_estimator_shared_by_all_members_is_named_once():
    document = msgspec.structs.replace(DOCUMENT, members=[MEMBER, MEMBER], fusion="AnchoredGate")
    (sentence,) = _sentences(document)
    assert sentence.endswith("each with 30% of the rows; members: SVC; fusion: anchored gate.")
    assert [column.name for column in members_table(document).columns] == [
        "stratum", "rows", "accuracy", "dominant in",
    ]  # fmt: skip


def test_columns_without_values_are_left_out():
    table = members_table(DOCUMENT)
    names = [column.name for column in table.columns]
    assert "weight" not in names
    assert "dominant in" in names
    assert [field.text for field in table.rows[1]][:4] == ["1", "constant", "50", "a only"]
    assert "weight" not in table.legend
    assert "accuracy: out-of-fold, on rows of the stratum" in table.legend


def test_members_of_a_row_by_weight_and_the_fused_prediction():
    table, left = member_table(ROW)
    assert [row[0].text for row in table.rows] == ["1 age high (61)", "0 age low (20)", "fused"]
    assert [field.text for field in table.rows[-1]] == ["fused", "", "", "0.750", "0.250"]
    assert left == "Not shown: 1 member without weight."


def test_only_the_members_of_the_largest_weights_are_listed():
    many = [msgspec.structs.replace(ROW.member_predictions[0], weight=0.05)] * 20
    table, left = member_table(msgspec.structs.replace(ROW, member_predictions=many))
    assert len(table.rows) == 9
    assert left == "Not shown: 12 members with 60.0% of the weight."


def test_of_many_classes_the_most_probable_are_shown():
    shares = [0.02, 0.4, 0.01, 0.1, 0.03, 0.2, 0.04, 0.2]
    members = [msgspec.structs.replace(each, scores=shares) for each in ROW.member_predictions]
    row = msgspec.structs.replace(
        ROW, classes=list("abcdefgh"), scores=shares, member_predictions=members, prediction="b"
    )
    table, _ = member_table(row)
    assert [column.name for column in table.columns][3:] == list("bdefgh")
    assert [field.text for field in table.rows[-1]][3:5] == ["0.400", "0.100"]


def test_strata_are_described_where_rows_are_given(data):
    X, y, _ = data
    model = StrataEnsembleClassifier(HISS(3, 0.3), random_state=0).fit(X, y)
    assert explain_model(model).sections[0].blocks == [NOT_DESCRIBED]
    explained = explain_model(model, X)
    description = explained.document.strata
    assert explained.sections[0].blocks == [description.block]
    assert description.block in explained.text()
    bars = explained.sections[2].blocks[0].bars
    assert [bar.label for bar in bars] == [f"{k}: {description.names[k]}" for k in range(3)]


def test_an_anchor_is_dominant_in_nothing(data):
    X, y, _ = data
    explained = explain_model(fitted(X, y, HISS(2, 0.4), anchor=SVC()))
    bars = explained.sections[2].blocks[0].bars
    assert [bar.label for bar in bars] == ["stratum 0", "stratum 1"]


def test_few_strata_are_all_outlined_in_their_order():
    few = HISS(3, 0.3, random_state=0).fit(ROWS)
    block = strata_map(ModelContext(few, X=ROWS), NAMES)
    assert isinstance(block, FigureBlock)
    assert "Map of 60 rows" in block.alt
    assert "the 3 strata: stratum 0; stratum 1; stratum 2." in block.caption


def test_of_many_strata_those_of_the_row_come_first():
    strata = HISS(9, 0.3, random_state=0).fit(ROWS)
    block = strata_map(ModelContext(strata, X=ROWS, row=7), NAMES)
    assert "6 of the 9 strata, those of the row first" in block.caption
    assert "The ring marks row 7." in block.caption
    own = np.flatnonzero(strata.transform(ROWS)[7] >= 0.5).tolist()
    shown = outlined_strata(StrataDisplay.of_model(strata, ROWS), 7)
    assert set(shown[: len(own)]) == set(own[: len(shown)])


def test_no_map_where_there_is_none():
    alike = BootstrapStrata(3, random_state=0).fit(ROWS)
    text = strata_map(ModelContext(alike, X=ROWS), NAMES)
    assert text.startswith("BootstrapStrata has the same affinity")
    narrow = HISS(2, 0.4, random_state=0).fit(ROWS[:, :1])
    assert "at least two columns" in strata_map(ModelContext(narrow, X=ROWS[:, :1]), NAMES)


def test_the_document_is_the_row_if_one_is_named(data):
    X, y, _ = data
    model = fitted(X, y, HISS(3, 0.4))
    assert document_of(model).rows == "training"
    assert document_of(model, X).rows == "given"
    explained = explain_model(model, X, row=3)
    assert explained.document.row == 3
    assert explained.text()[0].startswith("Row 3: predicted ")
    assert [section.title for section in explained.row_sections] == ["Row 3"]
    assert [section.title for section in explained.sections] == [
        "Strata",
        "Map of the strata",
        "Members",
    ]


@pytest.mark.parametrize(
    ("picture", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_the_map_is_a_picture(data, picture, start):
    pytest.importorskip("matplotlib")
    X, y, _ = data
    assert explain_model(fitted(X, y, HISS(3, 0.4)), X, y).draw(picture).startswith(start)


def test_a_map_without_rows_is_refused(data):
    X, y, _ = data
    explained = explain_model(fitted(X, y, HISS(3, 0.4)))
    with pytest.raises(ValueError, match="needs rows: give `X`"):
        explained.draw()
    assert explained.sections[1].blocks == [NO_ROWS]


def test_training_summary_by_hand(data):
    X, y, _ = data
    model = StrataEnsembleClassifier(HISS(2, 0.5), fusion="mean", random_state=0).fit(X, y)
    model.stratifier_.memberships_ = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.6]])
    assert list(learned(model, ())) == [
        "2 strata with 120 of 4 rows each",
        "a row is in 0 to 2 strata; 1 row is in none",
        "one scaled logistic regression per stratum, fused by mean",
    ]
    model.stratifier_.memberships_ = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert list(learned(model, ()))[1] == "every row is in one stratum"


@pytest.mark.parametrize("fusion", ["gate", "log_linear", "mean"])
def test_columns_add_up_to_the_prediction_of_a_regression(regression, fusion):
    X, y = regression
    model = StrataEnsembleRegressor(HISS(3, 0.4), fusion=fusion, random_state=0).fit(X, y)
    row = explain_model(model, X, y, row=3).document
    mean, std = model.predict(X[3:4], return_std=True)
    assert row.decision.value == pytest.approx(mean[0])
    assert total_of(row.decision) == pytest.approx(mean[0])
    assert row.scores == pytest.approx([mean[0], std[0]])
    assert row.classes == []
    errors = [each["rmse"] for each in model.member_report_]
    assert [each.scores[1] for each in row.member_predictions] == pytest.approx(errors)


def test_a_regression_is_described_in_full(regression):
    X, y = regression
    model = StrataEnsembleRegressor(HISS(3, 0.4), random_state=0).fit(X, y)
    explained = explain_model(model, X, y)
    assert [each.score for each in explained.document.members] == [
        each["score"] for each in model.member_report_
    ]
    strata = explained.document.strata
    assert (strata.error, strata.is_classification) == (model.out_of_fold_error_, False)
    assert isinstance(explained.sections[1].blocks[0], FigureBlock)
    row = explain_model(model, X, row=3)
    assert row.text()[2].columns[-2:] == [
        Heading("prediction", numeric=True), Heading("std", numeric=True)
    ]  # fmt: skip
    predicted = f"Row 3: predicted {row.document.prediction}, with a standard deviation of "
    assert row.text()[0].startswith(predicted)


def test_a_stacked_regression_does_not_add_up(regression):
    X, y = regression
    model = StrataEnsembleRegressor(HISS(3, 0.4), fusion="stacking", random_state=0).fit(X, y)
    assert explain_model(model, X, row=0).document.decision is None


def test_strata_with_one_value_have_constant_members(regression):
    X, y = regression
    y = np.where(X[:, 0] > np.quantile(X[:, 0], 0.3), 5.0, y)
    with pytest.warns(UserWarning, match="one value of the target only"):
        model = StrataEnsembleRegressor(HISS(4, 0.2), random_state=0).fit(X, y)
    constant = len(model.constant_strata_)
    assert list(learned(model, ()))[-1] == f"{constant} of 4 strata hold one value only"
    assert "one value only" in explain_model(model).sentences[1]


def test_members_of_a_stacked_ensemble(data):
    X, y, _ = data
    model = fitted(X, y, HISS(3, 0.25), fusion="stacking")
    document = document_of(model)
    assert (document.stratifier, document.fusion, document.n_strata) == ("HISS", "Stacking", 3)
    members = document.members
    assert [each.member for each in members] == ["0", "1", "2"]
    assert {each.estimator for each in members} == {"ScaledLogisticRegression"}
    assert [each.n_rows for each in members] == [60, 60, 60]
    assert sum(each.weight for each in members) == pytest.approx(1)
    assert all(0 <= each.score <= 1 for each in members)
    memberships = model[-1].stratifier_.memberships_
    assert sum(each.dominant_in for each in members) == pytest.approx(
        (memberships.max(axis=1) > 0).mean()
    )


def test_shares_of_dominant_strata_by_hand(data):
    X, y, _ = data
    model = fitted(X, y, HISS(2, 0.5), fusion="mean")
    model[-1].stratifier_.memberships_ = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.5]])
    assert [each.dominant_in for each in document_of(model).members] == [0.375, 0.375]


def test_rows_that_are_given_are_counted_instead(data):
    X, y, _ = data
    document = document_of(fitted(X, y, make_pipeline(PCA(2), HISS(3, 0.4))), X[:1])
    assert document.rows == "given"
    # a single row has one dominant stratum, or shares it, or has none
    assert sum(each.dominant_in for each in document.members) == pytest.approx(1, abs=1)


def test_anchor_and_constant_members_have_their_names(data):
    X, y, sources = data
    model = fitted(X, np.where(sources == 0, 2, y), HISS(6, 0.1), anchor=SVC())
    members = document_of(model).members
    assert members[-1].member == "anchor"
    assert members[-1].estimator == "SVC"
    assert members[-1].dominant_in is None
    constant = [each for each in members if len(each.classes) == 1]
    assert {(each.estimator, *each.classes) for each in constant} == {("DummyClassifier", "2")}


def test_one_row_by_hand(data):
    X, y, _ = data
    model = fitted(X, y, HISS(3, 0.4), fusion="mean")
    row = row_of(model, X, 5)
    assert row.row == 5
    assert row.prediction == str(model.predict(X[5:6])[0])
    members = row.member_predictions
    np.testing.assert_allclose(row.scores, np.mean([each.scores for each in members], axis=0))
    expected = model[-1].stratifier_.transform(model[0].transform(X[5:6]))[0]
    assert [each.membership for each in members] == pytest.approx(expected.tolist())
    json.dumps(msgspec.to_builtins(row), allow_nan=False)


def test_weights_of_a_gate_are_those_of_the_row(data):
    X, y, _ = data
    row = row_of(fitted(X, y, HISS(3, 0.4)), X, 0)
    assert sum(each.weight for each in row.member_predictions) == pytest.approx(1)


def test_known_sources_have_their_names(data):
    X, y, sources = data
    places = np.array(["Basel", "Bern", "Genf"])[sources]
    model = StrataEnsembleClassifier(SourceStrata(), random_state=0).fit(X, y, sources=places)
    assert [each.member for each in document_of(model).members] == ["Basel", "Bern", "Genf"]


def test_a_row_that_is_not_there_is_named(data):
    X, y, _ = data
    model = fitted(X, y, HISS(3, 0.4))
    with pytest.raises(ValueError, match="no row 240: the data have rows 0 to 239"):
        explain_model(model, X, row=240)
    with pytest.raises(ValueError, match="`row` = 3 is a row of the data: give `X`"):
        explain_model(model, row=3)


@pytest.mark.parametrize("anchor", [None, SVC(kernel="linear")])
@pytest.mark.parametrize("fusion", ["gate", "mean", "log_linear"])
def test_columns_add_up_to_the_weighted_log_odds(data, anchor, fusion):
    X, y, _ = data
    model = fitted(X, y, HISS(3, 0.4), anchor=anchor, fusion=fusion)
    ensemble = model[-1]
    for row in (0, 17):
        decision = row_of(model, X, row).decision
        assert total_of(decision) == pytest.approx(decision.value, abs=1e-12)
        scaled = model[0].transform(X[row : row + 1])
        weights = ensemble.explain_row(scaled)["weights"]
        label = int(ensemble.predict(scaled)[0])
        sign = 1 if label == 1 else -1
        members = [*ensemble.estimators_, *ensemble.anchors_]
        odds = [sign * member.decision_function(scaled)[0] for member in members]
        assert decision.value == pytest.approx(float(weights @ odds), abs=1e-10)
        assert decision.label == str(label)


def test_columns_add_up_for_three_classes(data):
    X, y, _ = data
    model = fitted(X, np.where(X[:, 0] > 0.3, 2, y), HISS(2, 0.6))
    ensemble, scaled = model[-1], model[0].transform(X[:1])
    decision = row_of(model, X, 0).decision
    parts = [linear_part(each, np.arange(3)) for each in ensemble.estimators_]
    weights = ensemble.explain_row(scaled)["weights"]
    value = sum(
        w * class_contrast(coef @ scaled[0] + intercept, int(decision.label))
        for w, (coef, intercept) in zip(weights, parts, strict=True)
    )
    assert decision.value == pytest.approx(float(value), abs=1e-10)


def test_contributions_are_given_where_members_and_fusion_are_linear(data):
    X, y, _ = data
    stacked = explain_model(fitted(X, y, HISS(2, 0.5), fusion="stacking"), X, row=0)
    assert stacked.document.decision is None
    assert stacked.text()[-1] == NOT_LINEAR
    curved = StrataEnsembleClassifier(HISS(2, 0.5), SVC(), fusion="mean", random_state=0)
    model = make_pipeline(StandardScaler(), curved).fit(X, y)
    assert row_of(model, X, 0).decision is None
    half = explain_model(fitted(X, y, HISS(2, 0.5), anchor=SVC()), X, row=0)
    assert 0 < half.document.decision.explained_weight < 1
    assert "the linear members have" in half.text()[-1]


def test_strata_have_names_and_rows_reasons(data):
    X, y, _ = data
    model = fitted(X, y, HISS(3, 0.3))
    document = document_of(model, X)
    assert [each.name for each in document.members] == document.strata.names
    explained = explain_model(model, X, columns=COLUMNS, row=0)
    best = max(explained.document.member_predictions, key=lambda each: each.membership)
    assert best.reasons
    assert all(reason.startswith("column ") for reason in best.reasons)
    text = f"Similar to stratum {best.member} {best.name} in: {'; '.join(best.reasons)}."
    assert text in explained.text()


def test_what_was_noted_after_the_fit_comes_first(data):
    X, y, _ = data
    model = fitted(X, y, HISS(2, 0.4))
    described = described_strata(model, X, y, columns=COLUMNS, kinds=())
    noted = {"strata": msgspec.to_builtins(described)}
    # without rows, and with few of them, the names are those of the training
    assert explain_model(model, columns=COLUMNS, details=noted).document.strata == described
    row = explain_model(model, X[:1], columns=COLUMNS, row=0, details=noted).document
    assert [each.name for each in row.member_predictions] == described.names
    assert row.decision is not None
    assert document_of(model).strata is None


def test_errors_on_training_rows_are_called_so(data):
    X, y, _ = data

    def error_rows(**options):
        model = fitted(X, y, HISS(2, 0.4), **options)
        return described_strata(model, X, y, columns=COLUMNS, kinds=()).error_rows

    assert error_rows(fusion="mean") == "training"
    assert error_rows() == "out-of-fold"
