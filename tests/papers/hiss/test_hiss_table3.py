import pytest

from ensemblage.papers import paper_experiment
from ensemblage.runs import CellResult


def test_stand_ins_are_not_compared_with_the_paper(shared):
    experiment = paper_experiment("hiss-table3", data_dir=shared / "data")
    results = [CellResult(cell, {"error": 0.25}, 0.1) for cell in experiment.cells]
    (table,) = experiment.summarise(results)
    rows = {(row.row, row.column): row for row in table.rows}
    assert rows["glass", "hiss"].difference == pytest.approx(0.25 - 0.161)
    assert rows["glass", "hiss"].repeats == 10
    assert rows["outdoor-stand-in", "hiss"].paper == 0.088
    assert rows["outdoor-stand-in", "hiss"].difference is None
    assert rows["outdoor-stand-in", "hiss"].repeats == 3
    assert rows["mean", "hiss"].repeats == 5
    assert any("nothing is reproduced there" in note for note in table.notes)
