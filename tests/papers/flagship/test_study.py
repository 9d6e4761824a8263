import numpy as np
import pytest

from ensemblage.papers import paper_experiment
from ensemblage.papers._summaries import entry
from ensemblage.papers.flagship import _members as _flagship_members
from ensemblage.papers.flagship._members import CALIBRATED, SINGLES
from ensemblage.papers.flagship._study import (
    DATASETS,
    SHOWN,
    TUNED,
    calibration_errors,
    loss_difference,
    summarise_accuracy,
    summarise_calibration,
    summarise_cost,
    summarise_fusion_accuracy,
    summarise_fusions,
    summarise_loss,
    summarise_trees,
)
from ensemblage.studies import CellResult
from papers.flagship.light_pool import light_pool


def rows_of(**columns):
    """One entry per dataset and method, of which ``others`` stands for all single models."""
    others = columns.pop("others", None)
    columns |= {} if others is None else dict.fromkeys(SINGLES, others)
    return [
        entry(f"set{k}", column, [value])
        for column, values in columns.items()
        for k, value in enumerate(values)
    ]


def test_a_difference_in_log_loss_by_hand():
    rows = rows_of(one=[0.4, 0.2, 0.3], other=[0.5, 0.1, 0.6])
    (sentence,) = loss_difference(rows, "one", "other")
    assert sentence == (
        "one against other: log loss -0.1000 in the mean, -20.0% in the median; "
        "lower on 2 of 3 datasets."
    )
    assert loss_difference(rows, "one", "nobody") == []


def test_ranks_tests_and_differences():
    sentences = summarise_loss(rows_of(full=[0.1] * 8, lean=[0.11] * 8, others=[0.2] * 8))
    assert sentences[0].startswith("Mean ranks: full 1.00, logistic regression 5.50")
    assert sentences[2].startswith("Nemenyi's p / Wilcoxon's p after Holm, full against: logistic")
    assert f"full against {TUNED}: log loss -0.1000 in the mean, -50.0%" in sentences[3]
    assert "Wilcoxon p = 0.0078" in sentences[3]
    assert sentences[5].startswith("lean against full: log loss +0.0100")


def test_the_best_single_model_is_chosen_on_the_test_rows():
    rows = rows_of(full=[90.0, 89.0, 80.0], lean=[90.0] * 3, others=[90.0] * 3)
    rows = [row for row in rows if not (row.row == "set2" and row.column == "RBF SVM")]
    rows.append(entry("set2", "RBF SVM", [95.5]))
    sentences = summarise_accuracy(rows)
    assert sentences[-2] == (
        "full is within 1 point of the best single model, chosen on the test rows, on 2 of 3 "
        "datasets (67%); further behind on set2 (15.5)."
    )
    assert "accuracy -3.67 points in the mean; higher on 0, lower on 2 of 3" in sentences[0]


def test_models_with_a_lower_calibration_error_are_named():
    singles = {name: [0.03, 0.05] for name in CALIBRATED.values()}
    (sentence,) = summarise_calibration(rows_of(full=[0.02, 0.04], **singles))
    assert sentence == (
        "Mean calibration error of full over 2 datasets: 0.0300. No calibrated single model has a "
        "lower one."
    )
    singles[CALIBRATED["RBF SVM"]] = [0.01, 0.02]
    (sentence,) = summarise_calibration(rows_of(full=[0.02, 0.04], **singles))
    assert sentence.endswith("Lower: RBF SVM, calibrated.")


def test_cost_relative_to_tuned_boosting():
    rows = rows_of(full=[3.0, 9.0, 30.0], lean=[1.5, 1.5, 3.0], **{TUNED: [2.0, 1.0, 1.0]})
    (sentence,) = summarise_cost(rows)
    assert sentence == f"Against {TUNED}, in the median: full 9.00 times, lean 1.50 times."


def test_members_fusions_and_trees_are_compared():
    rows = rows_of(full=[0.2], standard=[0.3], **{"unweighted mean": [0.4]})
    assert [each.partition(":")[0] for each in summarise_fusions(rows)] == [
        "full against standard", "standard against unweighted mean",
        "full against unweighted mean",
    ]  # fmt: skip
    (sentence,) = summarise_fusion_accuracy(rows_of(full=[90.0], lean=[91.0]))
    assert sentence == (
        "full against lean: accuracy -1.00 points in the mean; "
        "higher on 0, lower on 1 of 1 datasets."
    )
    trees = rows_of(**{"distilled tree": [0.4], "tree fitted to labels": [0.5]})
    assert summarise_trees(trees)[0].endswith("lower on 1 of 1 datasets.")


@pytest.mark.parametrize(
    "summarise",
    [summarise_loss, summarise_accuracy, summarise_calibration, summarise_fusions, summarise_trees,
     summarise_cost, summarise_fusion_accuracy],
)  # fmt: skip
def test_no_rows_have_no_summary(summarise):
    assert summarise([]) == []


TABLES = ("log-loss", "accuracy", "calibration", "fusions", "fusions-accuracy", "trees", "fit",
          "predict")  # fmt: skip


def test_one_cell_per_dataset_and_outer_fold(shared):
    experiment = paper_experiment("flagship", data_dir=shared / "data")
    assert len(DATASETS) == 25
    assert len(experiment.cells) == 3 * len(DATASETS)
    assert [cell.params["dataset"] for cell in experiment.cells[:25]] == list(DATASETS)


def test_two_datasets_and_two_folds_make_all_tables(monkeypatch):
    monkeypatch.setattr(_flagship_members, "resolve_members", light_pool)
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
    scores = {"m": {"confidence": [0.9, 0.9, 0.5, 0.5], "correct": [1, 0, 1, 0]}}
    cell = paper_experiment("flagship", scale="quick").cells[0]
    found = calibration_errors([CellResult(cell, {"scores": scores}, 0.1)], "m")
    assert found == [pytest.approx(0.2)]  # on half of the rows the confidence is 0.4 too high
    assert calibration_errors([CellResult(cell, {}, 0.1, "failed")], "m") == []
