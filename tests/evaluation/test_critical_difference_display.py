import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.evaluation import CriticalDifferenceDisplay, compare_methods
from ensemblage.evaluation._critical_difference_display import stack_bars

NAMES = [f"a rather long method name {j}" for j in range(12)]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def scores(n_methods, n_datasets=20):
    rng = np.random.default_rng(n_methods)
    return rng.normal(size=(n_datasets, n_methods)) + np.linspace(0, 2, n_methods)


@pytest.mark.parametrize("n_methods", range(2, 13))
def test_names_do_not_run_into_each_other(n_methods):
    display = CriticalDifferenceDisplay.from_scores(scores(n_methods), names=NAMES[:n_methods])
    display.figure_.canvas.draw()
    boxes = [text.get_window_extent() for text in display.text_]
    assert len(boxes) == n_methods
    for i in range(n_methods):
        assert boxes[i].x0 >= 0
        assert boxes[i].x1 <= display.figure_.bbox.x1
        assert not any(boxes[i].overlaps(boxes[j]) for j in range(i))


def test_it_shows_the_comparison():
    found = compare_methods(scores(5), names=list("abcde"))
    display = CriticalDifferenceDisplay.from_comparison(found)
    shown = [text.get_text() for text in display.text_]
    for name, text in zip(found.ranking(), shown, strict=True):
        assert name in text
        assert f"{found.mean_ranks[name]:.2f}" in text
    assert len(display.bars_) == len(found.cliques())
    texts = [text.get_text() for text in display.ax_.texts]
    assert f"critical difference {found.critical_difference:.2f}" in texts


def test_a_bar_spans_its_group():
    found = compare_methods(scores(6, 8))
    display = CriticalDifferenceDisplay.from_comparison(found)
    for bar, group in zip(display.bars_, found.cliques(), strict=True):
        left, right = bar.get_xdata()
        inside = [display._across(found.mean_ranks[name]) for name in group]
        assert left < min(inside) <= max(inside) < right


def test_a_difference_wider_than_the_axis_says_so():
    display = CriticalDifferenceDisplay.from_scores(scores(3, 2))
    assert any("wider than the axis" in text.get_text() for text in display.ax_.texts)


def test_errors_and_given_axes():
    ax = plt.figure().add_subplot()
    table = np.array([[1.0, 2.0], [1.0, 3.0], [2.0, 5.0]])
    display = CriticalDifferenceDisplay.from_scores(
        table, greater_is_better=False, names=["low $", "high"], ax=ax
    )
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert display.text_[0].get_text() == r"low \$  1.00"


def test_bars_by_hand():
    assert stack_bars([(0.1, 0.5), (0.2, 0.6), (0.7, 0.8)], 0.02) == [0, 1, 0]


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.5)), max_size=8))
def test_bars_on_one_level_do_not_touch(pairs):
    spans = sorted((left, left + width) for left, width in pairs)
    levels = stack_bars(spans, 0.02)
    for i in range(len(spans)):
        for j in range(i):
            assert levels[i] != levels[j] or spans[j][1] < spans[i][0]


def test_highlighted_methods_have_a_mark_and_a_colour():
    display = CriticalDifferenceDisplay.from_scores(
        scores(3), names=["a", "b", "c"], highlight=["b"]
    )
    marked = [text for text in display.text_ if "\N{BLACK DIAMOND}" in text.get_text()]
    assert ["b" in text.get_text() for text in marked] == [True]
    others = {text.get_color() for text in display.text_ if text not in marked}
    assert marked[0].get_color() not in others
