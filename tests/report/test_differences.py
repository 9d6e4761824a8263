"""The differences that the verdict uses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from ensemblage.methods import Design
from ensemblage.pages import TextBlock
from ensemblage.report._differences import difference_blocks, differences
from report.documents import comparison, method

FOLDS = 3


def compared(**accuracy):
    return comparison(*(method(name, list(values)) for name, values in accuracy.items()))


def found(document):
    return differences(document.methods, document.choice, Design("accuracy", 1 / FOLDS, 1500))


def test_two_methods_by_hand():
    document = compared(good=[0.9, 0.8, 0.95], bad=[0.8, 0.75, 0.9])
    (each,) = found(document)
    assert each.label == "bad"
    assert each.mean == pytest.approx(-0.2 / 3)
    # gaps -0.1, -0.05, -0.05: variance 1/1200, times 1/3 + 1/2
    error = np.sqrt((1 / 3 + 1 / 2) / 1200)
    assert each.reach == pytest.approx(student.ppf(1 - 0.025 / 2, 2) * error)
    assert not each.apart


def test_methods_that_never_differ_and_that_always_do():
    document = compared(good=[0.9, 0.9, 0.9], same=[0.9, 0.9, 0.9], bad=[0.5, 0.5, 0.5])
    same, bad = found(document)
    assert (same.mean, same.reach, same.apart) == (0.0, 0.0, False)
    assert (bad.mean, bad.apart) == (pytest.approx(-0.4), True)
    # 1500 rows that are right or wrong leave some error, though the folds agree
    error = np.sqrt((0.4 - 0.16) / 1500)
    assert bad.reach == pytest.approx(student.ppf(1 - 0.0125 / 2, 2) * error)


def test_groups_say_in_words_who_is_told_apart():
    document = compared(good=[0.9, 0.91, 0.9], near=[0.9, 0.92, 0.88], far=[0.1, 0.11, 0.1])
    (block,) = difference_blocks(document)
    assert [(bar.label, bar.group) for bar in block.bars] == [
        ("near", "not told apart"), ("far", "told apart from the best"),
    ]  # fmt: skip
    assert [bar.reference for bar in block.bars] == [0.0, 0.0]
    assert block.signed


scores = st.lists(st.integers(0, 100).map(lambda k: k / 100), min_size=FOLDS, max_size=FOLDS)


@given(st.lists(scores, min_size=2, max_size=6))
def test_an_interval_leaves_out_zero_where_the_verdict_tells_apart(rows):
    document = compared(**{f"m{k}": row for k, row in enumerate(rows)})
    for each in found(document):
        # on the very border rounding decides
        slack = 1e-9 * (1 + abs(each.mean))
        if each.apart:
            assert abs(each.mean) >= each.reach - slack
        else:
            assert abs(each.mean) <= each.reach + slack


def test_nothing_without_a_choice():
    assert difference_blocks(compared(alone=[0.5, 0.5, 0.5])) == []


def test_methods_left_out_are_counted():
    broken = [method(name, [None, 0.5, 0.5], failures={0: "No."}) for name in "xy"]
    whole = [method("a", [0.9, 0.8, 0.9]), method("b", [0.5, 0.6, 0.7])]
    _, said = difference_blocks(comparison(*whole, *broken))
    assert said == TextBlock(["2 methods without a score on every fold are left out here."])
