import msgspec
import pytest

from ensemblage.studies import (
    Cell,
    CellCounts,
    CellResult,
    Choice,
    Comparison,
    MethodScores,
    ResultRow,
    ResultTable,
    SummaryRow,
    TrainingDocument,
)


def test_differences_are_there_where_they_mean_something():
    row = ResultRow("iris", "svm", 0.5, 0.75, None, 1)
    assert row.difference == 0.25
    assert msgspec.structs.replace(row, comparable=False).difference is None
    assert msgspec.structs.replace(row, paper=None).difference is None
    (shown,) = msgspec.to_builtins(ResultTable("t", "T", "error", [row]))["rows"]
    assert (shown["row"], shown["difference"], shown["standard_error"]) == ("iris", 0.25, None)


def test_cells_are_counted():
    cell = Cell("e", {"x": 1})
    results = [CellResult(cell, {}, 0.1), CellResult(cell, {}, 0.1, "ValueError: no")]
    assert CellCounts.of(results, 5) == CellCounts(total=5, done=2, failed=1)


def test_a_field_is_described_once():
    schema = msgspec.json.schema(ResultRow)["$defs"]["ResultRow"]["properties"]
    for name, field in schema.items():
        assert field["description"] in str(ResultRow.__doc__)
        assert f"{name} : " in str(ResultRow.__doc__)
    assert "repeats : int" in str(ResultRow.__doc__)


def test_a_document_refuses_what_it_does_not_know():
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        msgspec.convert({"total": 1, "done": 1, "failed": 0, "left": 0}, CellCounts)


@pytest.mark.parametrize("document", [Choice, Comparison, MethodScores, SummaryRow])
def test_every_field_is_described(document):
    schema = msgspec.json.schema(document)["$defs"][document.__name__]["properties"]
    for name, field in schema.items():
        assert field["description"]
        assert f"{name} : " in str(document.__doc__)


def test_what_is_kept_with_a_model_reads_back():
    facts = TrainingDocument(
        dataset="d", method="svm", n_rows=3, classes={"a": 1, "b": 2}, folds=2, accuracy=None,
        accuracy_se=None, balanced_accuracy=None, learned=("one",), notes=(),
    )  # fmt: skip
    assert msgspec.convert(msgspec.to_builtins(facts), TrainingDocument) == facts
