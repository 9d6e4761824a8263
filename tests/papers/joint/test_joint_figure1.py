import pytest

from ensemblage.papers import paper_experiment
from ensemblage.papers.joint._joint_figure1 import ROWS
from ensemblage.papers.joint._joint_literal import BASE, GAINS, LOGISTIC, UNTRAINED
from ensemblage.runs import CellResult


def test_a_row_is_a_size():
    experiment = paper_experiment("joint-figure1", scale="quick", datasets=["100 per class"])
    assert {cell.params["rows_per_class"] for cell in experiment.cells} == {100}
    values = dict.fromkeys((*GAINS, UNTRAINED, LOGISTIC), 66.0) | {BASE: 60.0}
    gains, accuracies = experiment.summarise([CellResult(experiment.cells[0], values, 0.1)])
    assert {row.row for row in gains.rows} == {"100 per class"}
    assert all(row.ours == pytest.approx(10.0) for row in gains.rows)
    assert [row.ours for row in accuracies.rows] == [60.0, 66.0]
    # of one value there is no standard error
    assert gains.summary[0].endswith("tuned logistic regression +10.00.")
    assert gains.rows[0].note == "The paper draws this figure and prints no numbers."


def test_the_quick_scale_has_two_sizes():
    with pytest.raises(ValueError, match="no dataset '10 per class'; it has: 20 per class, 100"):
        paper_experiment("joint-figure1", scale="quick", datasets=["10 per class"])
    assert ROWS["10 per class"] == 10
