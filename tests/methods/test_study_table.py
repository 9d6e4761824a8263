"""The table of a study."""

from ensemblage.methods._splits import Splits
from ensemblage.methods._study import MethodPoint, Study
from ensemblage.methods._study_table import summarise_study
from ensemblage.runs import CellResult

POINTS = (MethodPoint("majority", "m", {}), MethodPoint("svm", "s", {}))


def test_rows_by_hand():
    study = Study("s", "S", ("d",), POINTS, Splits(folds=2), measure="log_loss")
    cells = study.cells({"d": ""})
    values = {"accuracy": 1.0, "balanced_accuracy": 1.0, "warnings": []}
    losses = [0.5, None, 0.7, None]
    results = [CellResult(cell, values | {"log_loss": loss}, 0.1)
               for cell, loss in zip(cells, losses, strict=True)]  # fmt: skip
    (table,) = summarise_study(results, study)
    first, second = table.rows
    assert (first.ours, first.repeats, first.note) == (0.6, 2, "")
    assert (second.ours, second.note) == (None, "gives no probabilities")
    assert table.greater_is_better is False
    assert table.notes[0].startswith("2 stratified folds, drawn 1 times")
