import numpy as np
import pytest

from ensemblage.papers import paper_experiment
from ensemblage.papers._paper_table import find_table
from ensemblage.papers.hiss._hiss_errors import (
    PENDIGITS_ROWS,
    STAND_IN,
    BinaryProblem,
    binary_problem,
    make_methods,
    split_error,
)


def test_every_column_has_a_method_and_a_figure_of_the_paper():
    methods = make_methods(0, 100)
    for table in map(find_table, ("hiss-table2", "hiss-table3")):
        for column in table.columns:
            assert column in methods
            # the paper has no such column
            figures = [table.printed.value(row, column) for row in table.printed.rows]
            assert all((each is None) == (column in table.own_columns) for each in figures)


def test_the_most_frequent_class_against_the_rest(shared):
    X, y = binary_problem("pendigits", str(shared / "data"))
    assert X.shape == (2000, 16)
    assert set(np.unique(y)) == {0, 1}
    assert 0.08 < y.mean() < 0.13


@pytest.mark.parametrize("method", make_methods(0, 100))
def test_each_method_beats_the_coin_on_a_split(shared, method):
    X, y = binary_problem("vehicle", str(shared / "data"))
    assert split_error(BinaryProblem(X[:400], y[:400]), method, seed=0) < 0.4


@pytest.mark.parametrize(("name", "width"), [("indoor-stand-in", 190), ("outdoor-stand-in", 126)])
def test_stand_ins_are_generated(name, width):
    X, y = binary_problem(name)
    assert X.shape == (3500, width)
    assert set(np.unique(y)) == {0, 1}


def test_methods_share_the_split(shared):
    experiment = paper_experiment(
        "hiss-table2", scale="quick", data_dir=shared / "data", datasets=["vehicle"]
    )
    first = [cell for cell in experiment.cells if cell.params["repeat"] == 0]
    majority = next(cell for cell in first if cell.params["method"] == "majority")
    problem = binary_problem("vehicle", str(shared / "data"))
    assert experiment.compute(majority, experiment.data_dir)["error"] == split_error(
        problem, "majority", seed=0
    )


def test_the_remarks_say_how_it_is_done():
    printed = find_table("hiss-table2").printed
    assert all(name.endswith(STAND_IN) for name in printed.stand_ins)
    assert any(f"a random {PENDIGITS_ROWS} of its rows" in note for note in printed.notes)
