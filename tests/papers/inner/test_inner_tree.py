import numpy as np
import pytest

from ensemblage.papers import paper_experiment
from ensemblage.papers.inner._inner_tree import CLASSES, WITH_NUMBERS, loss_sentence
from ensemblage.runs import CellResult


def test_one_cell_per_set_method_and_repeat(shared):
    experiment = paper_experiment(
        "inner-tree", data_dir=shared / "data", datasets=["iris", "regression/servo"]
    )
    assert len(experiment.cells) == 2 * (len(CLASSES) + len(WITH_NUMBERS))
    assert len({cell.data for cell in experiment.cells}) == 2


def test_a_few_cells_make_five_tables():
    experiment = paper_experiment("inner-tree", scale="quick", datasets=["iris"])
    wanted = [cell for cell in experiment.cells if cell.params["method"] in {"ours-16", "bagging"}]
    results = [CellResult(cell, experiment.compute(cell, None), 0.1) for cell in wanted]
    tables = {table.name: table for table in experiment.summarise(results)}
    assert list(tables) == [f"inner-tree-{each}" for each in
                            ("accuracy", "log-loss", "agreement", "leaves", "r2")]  # fmt: skip
    known = {row.column: row.ours for row in tables["inner-tree-accuracy"].rows
             if row.row == "iris" and row.ours is not None}  # fmt: skip
    assert set(known) == {CLASSES["ours-16"], CLASSES["bagging"]}
    assert min(known.values()) > 85
    assert tables["inner-tree-r2"].rows == []
    assert tables["inner-tree-log-loss"].greater_is_better is False


def test_an_unknown_folder_leaves_numbers_out():
    with pytest.raises(ValueError, match="regression/servo"):
        paper_experiment("inner-tree", scale="quick", datasets=["regression/servo"])


def test_losses_in_words():
    scores = np.array([[0.4, 0.5]] * 5 + [[0.5, 0.4]])
    (sentence,) = loss_sentence("a", "b", scores)
    assert sentence.startswith(
        "a against b: log loss 0.417 against 0.483 (-13.8%), lower on 5 of 6"
    )
    assert "Wilcoxon p = " in sentence
    assert loss_sentence("a", "b", scores[:0]) == []
