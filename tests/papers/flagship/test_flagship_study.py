import numpy as np
import pytest

from ensemblage.papers import paper_experiment
from ensemblage.papers.flagship import _flagship_members
from ensemblage.papers.flagship._flagship_study import SETS, SHOWN, calibration_errors
from ensemblage.runs import CellResult
from papers.flagship.light_pool import light_pool

TABLES = ("log-loss", "accuracy", "calibration", "fusions", "fusions-accuracy", "trees", "fit",
          "predict")  # fmt: skip


def test_one_cell_per_set_and_outer_fold(shared):
    experiment = paper_experiment("flagship", data_dir=shared / "data")
    assert len(SETS) == 25
    assert len(experiment.cells) == 3 * len(SETS)
    assert [cell.params["dataset"] for cell in experiment.cells[:25]] == list(SETS)


def test_two_sets_and_two_folds_make_all_tables(monkeypatch):
    monkeypatch.setattr(_flagship_members, "resolve_pool", light_pool)
    experiment = paper_experiment("flagship", scale="quick")
    results = [CellResult(cell, experiment.compute(cell, None), 0.1) for cell in experiment.cells]
    assert len(results) == 4
    tables = experiment.summarise(results)
    assert [table.name for table in tables] == [f"flagship-{name}" for name in TABLES]
    losses = {row.column: row for row in tables[0].rows if row.row == "iris"}
    assert list(losses) == list(SHOWN)
    scores = [each.values["scores"]["full"]["log_loss"] for each in results
              if each.cell.params["dataset"] == "iris"]  # fmt: skip
    assert losses["full"].ours == pytest.approx(np.mean(scores))
    assert losses["full"].repeats == 2
    errors = [row for row in tables[2].rows if row.row == "wine"]
    assert all(row.repeats == 1 and 0 <= row.ours <= 1 for row in errors)
    assert [table.greater_is_better for table in tables] == ["accuracy" in name for name in TABLES]


def test_calibration_error_by_hand():
    scores = {"m": {"confidence": [0.9, 0.9, 0.5, 0.5], "right": [1, 0, 1, 0]}}
    cell = paper_experiment("flagship", scale="quick").cells[0]
    found = calibration_errors([CellResult(cell, {"scores": scores}, 0.1)], "m")
    assert found == [pytest.approx(0.2)]  # half of the rows are sure by 0.4 too much
    assert calibration_errors([CellResult(cell, {}, 0.1, "failed")], "m") == []
