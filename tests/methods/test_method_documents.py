"""What the methods tell, as typed values."""

import msgspec
import pytest

from ensemblage.methods import Choice, Comparison, MethodScores, SummaryRow, TrainingDocument


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
