from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayes.coded import draw, space
from ensemblage.bayes._k2_search import TREE_CRITERION, make_measure
from ensemblage.bayes._search_space import Structure
from ensemblage.bayes._tree_augmented import NEVER, best_branching, cycles_of, tree_augmented


def conditional_information(rows, i, j):
    """The sum of the definition, over classes and values."""
    codes, sizes = rows.nodes.codes, rows.nodes.n_categories
    total = 0.0
    for c, a, b in product(range(sizes[0]), range(sizes[i]), range(sizes[j])):
        here = codes[0] == c
        both = np.mean(here & (codes[i] == a) & (codes[j] == b))
        if both > 0:
            one, other = np.mean(here & (codes[i] == a)), np.mean(here & (codes[j] == b))
            total += both * np.log(both * here.mean() / (one * other))
    return total


def search(rows, within):
    measure = make_measure(TREE_CRITERION, rows, 0.5)
    return tree_augmented(partial(measure, view=np.ones(rows.n_rows)), within, lambda: False)


def brute_branching(gains):
    """Try every choice of parents that has no cycle."""
    n = len(gains)
    best, found = -np.inf, None
    for parents in product(*(range(n) for _ in range(n - 1))):
        chosen = np.array([0, *parents])
        if any(chosen[k] == k for k in range(1, n)) or cycles_of(chosen):
            continue
        total = sum(gains[chosen[k], k] for k in range(1, n))
        if total > best:
            best, found = total, chosen
    return best, found


def test_by_hand():
    gains = np.array([[0, 1, 1, 1], [0, 0, 5, 2], [0, 6, 0, 2.5], [0, 4, 0, 0]])
    # 1 and 2 would be each other's, 6 + 5; of the ways out of that 3 above 1 is the best, 4 + 5
    assert best_branching(gains).tolist() == [0, 3, 1, 0]
    assert cycles_of(np.array([0, 2, 1, 2])) == [[1, 2]]
    assert cycles_of(np.array([0, 0, 1, 2])) == []


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.booleans())
def test_branchings_are_the_best_of_all(seed, n, symmetric):
    rng = np.random.default_rng(seed)
    gains = rng.integers(1, 30, (n, n)) + rng.random((n, n)) / 100
    if symmetric:
        gains[1:, 1:] += gains[1:, 1:].T
        gains[0] = 0.0
    else:
        barred = rng.random((n, n)) < 0.3
        barred[0] = False
        gains[barred] = NEVER
    gains[np.arange(n), np.arange(n)] = NEVER
    found = best_branching(gains)
    best, _ = brute_branching(gains)
    assert not cycles_of(found)
    assert sum(gains[found[k], k] for k in range(1, n)) == pytest.approx(best)


@pytest.mark.parametrize("seed", range(5))
def test_the_tree_has_the_largest_conditional_information(seed):
    rows = draw(seed, n_rows=80, sizes=(2, 3, 2, 3))
    found = search(rows, space([2, 1, 3]))
    assert found.parents[2] == (0,)  # the first in the order is the root
    assert [len(found.others(node)) for node in (1, 3)] == [1, 1]
    total = sum(conditional_information(rows, n, *found.others(n)) for n in (1, 3))
    pairs = [(1, 2), (1, 3), (2, 3)]
    information = [conditional_information(rows, *pair) for pair in pairs]
    assert total == pytest.approx(sum(information) - min(information))


def test_rules_hold_and_a_column_that_tells_nothing_stays_alone():
    rows = draw(3, n_rows=80)
    rows.nodes.codes[3] = 0
    free = search(rows, space([1, 2, 3]))
    assert free.parents == ((), (0,), (0, 1), (0,))
    within = space([1, 2, 3])
    within.rules.possible[1, 2] = False
    assert search(rows, within).parents == ((), (0, 2), (0,), (0,))
    within.rules.possible[2, 1] = False
    assert search(rows, within) == Structure.start(3, "naive")
    assert search(rows, space([1, 2, 3], max_parents=1)) == Structure.start(3, "naive")
    required = space([1, 2, 3])
    rules = required.rules
    forced = required._replace(rules=type(rules)(rules.possible, ((), (), (), (1,)), rules.ranks))
    assert search(rows, forced).parents == ((), (0,), (0, 1), (0, 1))
