import hashlib

import numpy as np
import pytest

from ensemblage.studies import METHODS, Cell, ResultRow, entry_notes
from ensemblage.studies._experiment import Cost, TimeLeft, usual_cost
from ensemblage.studies._methods import expected_seconds


def test_by_hand():
    costs = {"a0": Cost("a", 1.0), "b0": Cost("b", 3.0), "a1": Cost("a", 1.0), "b1": Cost("b", 3.0)}
    time = TimeLeft(costs, width=1)
    assert time.left() is None
    time.add("a0", 2.0)
    # a again 2, b twice as the prior says 3 times as much: 2 + 6 + 6
    assert time.left() == 14.0
    time.add("b0", 4.0)
    assert time.left() == 6.0
    two = TimeLeft(costs, width=2)
    two.add("a0", 2.0)
    assert two.left() == 7.0
    two.add("b0", 9.0)
    assert two.left() == 9.0  # the longest cell is not shared
    lost = TimeLeft(costs, width=None)
    lost.add("a0", 2.0)
    assert lost.left() is None


def test_cells_at_work_count_with_what_is_left_of_them():
    now = [0.0]
    costs = {name: Cost(name[0]) for name in ("a0", "b0", "a1", "b1")}
    time = TimeLeft(costs, 2, clock=lambda: now[0])
    now[0] = 6.0
    time.add("a0", 6.0)  # b0 has been at work as long, and should take as long; a1 begins
    assert time.left() == 6.0
    now[0] = 9.0
    time.add("b0", 9.0)  # b1 begins; a1 has 3 seconds left
    assert time.left() == 9.0
    now[0] = 12.0
    time.add("a1", 6.0)
    assert time.left() == 6.0
    now[0] = 20.0  # late
    assert time.left() == 0.0


def test_too_little_is_no_ground():
    costs = {str(i): Cost("a") for i in range(40)}
    time = TimeLeft(costs, 1)
    for i in range(3):
        time.add(str(i), 1.0)
        assert time.left() is None
    time.add("3", 1.0)
    assert time.left() == 36.0


def test_cells_of_one_kind_differ_in_their_place_only():
    one = {"dataset": "iris", "method": "svm", "repeat": 0, "fold": 1, "params": {"C": 1}}
    assert usual_cost(one) == usual_cost(one | {"repeat": 3, "fold": 0})
    assert usual_cost(one) != usual_cost(one | {"dataset": "wine"})


@pytest.mark.parametrize("seed", range(20))
def test_after_a_tenth_it_is_within_a_factor_of_two(seed):
    """Methods cost up to 2.5 times more or less than the priors say; cells vary by a tenth."""
    rng = np.random.default_rng(seed)
    names = [name for name in METHODS if name != "strata-sources"]
    prior = {name: expected_seconds(METHODS[name], 1000) for name in names}
    order = sorted(names, key=lambda name: -prior[name])
    factor = {name: 2.5 ** rng.uniform(-1, 1) for name in names}
    cells = [(name, fold) for fold in range(3) for name in order]
    took = {cell: prior[cell[0]] * factor[cell[0]] * rng.uniform(0.9, 1.1) for cell in cells}
    time = TimeLeft({str(cell): Cost(cell[0], prior[cell[0]]) for cell in cells}, 1)
    total, clock, told = sum(took.values()), 0.0, 0
    for cell in cells[:-1]:
        clock += took[cell]
        time.add(str(cell), took[cell])
        left = time.left()
        if left is None:
            assert clock < 0.25 * total  # silence ends soon
        elif clock >= 0.1 * total:
            told += 1
            assert 0.5 <= left / (total - clock) <= 2
    assert told >= 20


def test_a_key_by_hand():
    cell = Cell("squares", {"x": 3, "a": "b"}, version=2, data="abc")
    text = '["squares",{"a":"b","x":3},2,"abc"]'
    assert cell.key == hashlib.sha256(text.encode()).hexdigest()
    assert cell.seed == int(cell.key[:8], 16) < 2**32


def test_the_order_of_parameters_does_not_count_but_their_values_do():
    assert Cell("e", {"a": 1, "b": 2}).key == Cell("e", {"b": 2, "a": 1}).key
    different = [
        Cell("e", {"a": 1}),
        Cell("f", {"a": 1}),
        Cell("e", {"a": 2}),
        Cell("e", {"a": 1}, 2),
    ]
    assert len({cell.key for cell in different}) == 4


def entry(row, column, note):
    return ResultRow(row, column, None, 0.5, None, 1, note=note)


def test_a_note_names_rows_entries_or_all():
    grid = [entry(row, column, "Odd." if (row, column) != ("b", "y") else "Late.")
            for row in "ab" for column in "xy"]  # fmt: skip
    assert entry_notes(grid) == ["a and b (x): Odd.", "b (y): Late."]
    assert entry_notes([entry("a", "x", "Odd."), entry("a", "y", "Odd.")]) == ["All rows: Odd."]
    assert entry_notes([entry("a", "x", "")]) == []
