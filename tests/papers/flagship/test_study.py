import numpy as np
import pytest

from ensemblage.papers import paper_experiment
from ensemblage.papers._summaries import entry
from ensemblage.papers.flagship import _members as _flagship_members
from ensemblage.papers.flagship._members import CALIBRATED, SINGLES
from ensemblage.papers.flagship._study import (
    SETS,
    SHOWN,
    TUNED,
    accuracy_verdict,
    calibration_errors,
    calibration_verdict,
    cost_verdict,
    fusion_accuracy_verdict,
    fusion_verdict,
    loss_gap,
    loss_verdict,
    tree_verdict,
)
from ensemblage.studies import CellResult
from papers.flagship.light_pool import light_pool


def rows_of(**columns):
    """One entry per set and method, of which ``others`` stands for all singles."""
    others = columns.pop("others", None)
    columns |= {} if others is None else dict.fromkeys(SINGLES, others)
    return [
        entry(f"set{k}", column, [value])
        for column, values in columns.items()
        for k, value in enumerate(values)
    ]


def test_a_gap_in_log_loss_by_hand():
    rows = rows_of(one=[0.4, 0.2, 0.3], other=[0.5, 0.1, 0.6])
    (sentence,) = loss_gap(rows, "one", "other")
    assert sentence == (
        "one against other: log loss -0.1000 in the mean, -20.0% in the median; "
        "lower on 2 of 3 sets."
    )
    assert loss_gap(rows, "one", "nobody") == []


def test_ranks_tests_and_gaps():
    sentences = loss_verdict(rows_of(full=[0.1] * 8, lean=[0.11] * 8, others=[0.2] * 8))
    assert sentences[0].startswith("Mean ranks: full 1.00, logistic regression 5.00")
    assert sentences[2].startswith("Nemenyi's p / Wilcoxon's p after Holm, full against: logistic")
    assert f"full against {TUNED}: log loss -0.1000 in the mean, -50.0%" in sentences[3]
    assert "Wilcoxon p = 0.0078" in sentences[3]
    assert sentences[5].startswith("lean against full: log loss +0.0100")


def test_the_best_single_is_chosen_afterwards():
    rows = rows_of(full=[90.0, 89.0, 80.0], lean=[90.0] * 3, others=[90.0] * 3)
    rows = [row for row in rows if not (row.row == "set2" and row.column == "RBF SVM")]
    rows.append(entry("set2", "RBF SVM", [95.5]))
    sentences = accuracy_verdict(rows)
    assert sentences[-2] == (
        "full is within 1 point of the best single chosen on test on 2 of 3 sets (67%); "
        "further behind on set2 (15.5)."
    )
    assert "accuracy -3.67 points in the mean; higher on 0, lower on 2 of 3" in sentences[0]


def test_whose_calibration_is_better_is_named():
    singles = {name: [0.03, 0.05] for name in CALIBRATED.values()}
    assert calibration_verdict(rows_of(full=[0.02, 0.04], **singles)) == [
        "Mean calibration error of full over 2 sets: 0.0300. No calibrated single is below it."
    ]
    singles[CALIBRATED["RBF SVM"]] = [0.01, 0.02]
    (sentence,) = calibration_verdict(rows_of(full=[0.02, 0.04], **singles))
    assert sentence.endswith("Below it are: RBF SVM, calibrated.")


def test_cost_in_units_of_tuned_boosting():
    rows = rows_of(full=[3.0, 9.0, 30.0], lean=[1.5, 1.5, 3.0], **{TUNED: [2.0, 1.0, 1.0]})
    (sentence,) = cost_verdict(rows)
    assert sentence == f"Against {TUNED}, in the median: full 9.00 times, lean 1.50 times."


def test_members_fusions_and_trees_are_compared():
    rows = rows_of(full=[0.2], anchors=[0.3], **{"plain mean": [0.4]})
    assert [each.partition(":")[0] for each in fusion_verdict(rows)] == [
        "full against anchors", "anchors against plain mean", "full against plain mean",
    ]  # fmt: skip
    accuracies = fusion_accuracy_verdict(rows_of(full=[90.0], lean=[91.0]))
    assert accuracies == [
        "full against lean: accuracy -1.00 points in the mean; higher on 0, lower on 1 of 1 sets."
    ]
    trees = rows_of(**{"distilled tree": [0.4], "tree of labels": [0.5]})
    assert tree_verdict(trees)[0].endswith("lower on 1 of 1 sets.")


@pytest.mark.parametrize(
    "verdict",
    [loss_verdict, accuracy_verdict, calibration_verdict, fusion_verdict, tree_verdict,
     cost_verdict, fusion_accuracy_verdict],
)  # fmt: skip
def test_nothing_is_said_of_nothing(verdict):
    assert verdict([]) == []


TABLES = ("log-loss", "accuracy", "calibration", "fusions", "fusions-accuracy", "trees", "fit",
          "predict")  # fmt: skip


def test_one_cell_per_set_and_outer_fold(shared):
    experiment = paper_experiment("flagship", data_dir=shared / "data")
    assert len(SETS) == 25
    assert len(experiment.cells) == 3 * len(SETS)
    assert [cell.params["dataset"] for cell in experiment.cells[:25]] == list(SETS)


def test_two_sets_and_two_folds_make_all_tables(monkeypatch):
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
    scores = {"m": {"confidence": [0.9, 0.9, 0.5, 0.5], "right": [1, 0, 1, 0]}}
    cell = paper_experiment("flagship", scale="quick").cells[0]
    found = calibration_errors([CellResult(cell, {"scores": scores}, 0.1)], "m")
    assert found == [pytest.approx(0.2)]  # half of the rows are sure by 0.4 too much
    assert calibration_errors([CellResult(cell, {}, 0.1, "failed")], "m") == []
