"""Axes between round numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.pages import Bar, BarsBlock, Ranked, RanksBlock
from ensemblage.report._axis import bar_axis, rank_axis

numbers = st.floats(-1e6, 1e6).map(lambda value: round(value, 3))


def axis_of(*values, **options):
    return bar_axis(BarsBlock([Bar("a", value, "") for value in values], "", **options))


def test_bars_start_at_zero_if_the_numbers_come_near_it():
    axis = axis_of(0.08, 0.31)
    assert axis.bars
    assert axis.ticks == (0.0, 0.1, 0.2, 0.3, 0.4)
    assert [axis.label(tick) for tick in axis.ticks] == ["0.0", "0.1", "0.2", "0.3", "0.4"]
    assert axis.place(0.1) == "25"


def test_points_on_a_range_otherwise():
    axis = axis_of(0.93, 0.98)
    assert not axis.bars
    assert (axis.low, axis.high) == (0.93, 0.98)
    assert axis.label(axis.low) == "0.93"


def test_counts_start_at_zero_whatever_they_are():
    assert axis_of(95, 98, from_zero=True).low == 0


def test_shares_are_written_in_per_cent():
    axis = axis_of(0.1, 1.0, percent=True)
    assert [axis.label(tick) for tick in axis.ticks] == ["0%", "20%", "40%", "60%", "80%", "100%"]


def test_errors_and_references_are_on_the_axis():
    bar = Bar("a", 0.5, "", error=0.2, reference=1.4)
    axis = bar_axis(BarsBlock([bar, Bar("b", None, "failed")], ""))
    assert axis.low <= 0.3
    assert axis.high >= 1.4


def test_differences_have_zero_on_the_axis_and_room_for_their_errors():
    bars = [Bar("a", 0.02, "", error=0.05), Bar("b", 0.04, "", error=0.01)]
    axis = bar_axis(BarsBlock(bars, "", signed=True))
    assert not axis.bars
    assert axis.low <= -0.03
    assert axis.high >= 0.07
    assert axis_of(0.2, 0.3, signed=True).low == 0.0
    assert axis_of(-0.3, -0.2, signed=True).high == 0.0


@pytest.mark.parametrize("values", [(), (None,), (0.0,), (7.0, 7.0), (-3.0,)])
def test_there_is_an_axis_for_next_to_nothing(values):
    axis = axis_of(*values)
    assert axis.low < axis.high


@given(st.lists(numbers, min_size=1, max_size=20))
def test_every_number_is_on_the_axis_and_ticks_ascend(values):
    axis = axis_of(*values)
    slack = 1e-6 * (axis.high - axis.low)
    assert axis.low - slack <= min(values)
    assert axis.high + slack >= max(values)
    assert list(axis.ticks) == sorted(set(axis.ticks))
    assert 2 <= len(axis.ticks) <= 7
    assert all(0 <= float(axis.place(value)) <= 100 for value in values)
    assert len({axis.label(tick) for tick in axis.ticks}) == len(axis.ticks)


def test_ranks_run_from_one_to_the_last_and_not_every_one_is_written():
    few = RanksBlock([Ranked("a", 1.0, ours=False, ties=())] * 3, 1.0, "", "")
    assert rank_axis(few).ticks == (1.0, 2.0, 3.0)
    many = RanksBlock([Ranked("a", 1.0, ours=False, ties=())] * 30, 1.0, "", "")
    assert rank_axis(many).ticks == (1, 4, 7, 10, 13, 16, 19, 22, 25, 28)
    assert rank_axis(many).place(30) == "100"


def test_differences_without_errors_are_bars_from_zero_to_both_sides():
    axis = axis_of(-1.0, 3.0, signed=True)
    assert axis.bars
    assert axis.ticks == (-1.0, 0.0, 1.0, 2.0, 3.0)
    assert (axis.span(-1.0), axis.span(3.0)) == (("0", "25"), ("25", "75"))
    errors = BarsBlock([Bar("a", 1.0, "", error=0.5)], "", signed=True)
    assert not bar_axis(errors).bars


def test_shares_end_at_one_whatever_their_errors():
    bars = [Bar("a", 1.0, "100%", error=0.02), Bar("b", 0.6, "60%")]
    assert bar_axis(BarsBlock(bars, "", percent=True, from_zero=True)).high == 1.0
    bars.append(Bar("c", 1.2, "120%"))
    assert bar_axis(BarsBlock(bars, "", percent=True, from_zero=True)).high > 1.0


def test_long_texts_at_the_ends_stay_inside():
    axis = bar_axis(BarsBlock([Bar("a", 180000.0, "180000"), Bar("b", 100000.0, "100000")], ""))
    assert [axis.anchor(tick) for tick in axis.ticks][-1] == "end"
    assert axis.anchor(axis.ticks[1]) == "middle"
    shares = bar_axis(BarsBlock([Bar("a", 0.5, "50%")], "", percent=True, from_zero=True))
    assert {shares.anchor(tick) for tick in shares.ticks} == {"middle"}
