import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.kernels._tables import (
    add_log_likelihood,
    cell_weights,
    log_probabilities,
    refine,
)


def test_configurations_are_numbered_in_order():
    refined, step, count = refine(
        np.array([0, 1, 1, 0], dtype=np.int32), 2, np.array([2, 0, 0, 1], dtype=np.int32), 3
    )
    assert count == 3
    assert refined.tolist() == [1, 2, 2, 0]
    assert step.tolist() == [-1, 0, 1, 2, -1, -1]


def test_counts_and_smoothed_probabilities_by_hand():
    zero = np.zeros(4, dtype=np.int32)
    counts = cell_weights(
        zero, 1, np.array([0, 0, 1, 1], dtype=np.int32), 2,
        np.array([0, 0, 0, 1], dtype=np.int32), 2, np.array([1.0, 1.0, 2.0, 1.0]),
    )  # fmt: skip
    assert counts.tolist() == [[[2, 0], [2, 1]]]
    expected = [[[2.5 / 5, 0.5 / 2], [2.5 / 5, 1.5 / 2], [0.5 / 5, 0.5 / 2]]]
    np.testing.assert_allclose(np.exp(log_probabilities(counts, 0.5)), expected)


@given(st.integers(0, 1000))
def test_probabilities_add_up(seed):
    counts = np.random.default_rng(seed).gamma(0.3, size=(4, 3, 2))
    sums = np.exp(log_probabilities(counts, 0.5))[:, :-1].sum(axis=1)
    np.testing.assert_allclose(sums, 1.0)


def look_up_slowly(columns, node, parents, sizes, steps, offsets, table, row):
    g = 0
    for j, parent in enumerate(parents):
        code = columns[parent, row]
        if code >= sizes[parent]:
            return np.zeros(table.shape[2])
        g = steps[offsets[j] + g * sizes[parent] + code]
        if g < 0:
            return np.zeros(table.shape[2])
    return table[g, min(columns[node, row], sizes[node])]


@given(st.integers(0, 1000))
def test_look_up_equals_the_plain_walk(seed):
    rng = np.random.default_rng(seed)
    sizes = np.array([2, 3, 2, 2])
    columns = np.array([rng.integers(0, size + 1, 15) for size in sizes], dtype=np.int32)
    first = rng.permutation(np.array([0, 1, -1], dtype=np.int32))
    second = np.array([0, -1, 1, 2], dtype=np.int32)
    steps, offsets = np.concatenate([first, second]), np.array([0, 3])
    table = np.log(rng.uniform(0.1, 1, size=(3, 3, 2)))
    arguments = (columns, 3, np.array([1, 2]), sizes, steps, offsets, table)
    for kernel in (add_log_likelihood, add_log_likelihood.python):
        out = np.zeros((15, 2))
        kernel(*arguments, out)
        for row in range(15):
            expected = look_up_slowly(columns, 3, [1, 2], sizes, steps, offsets, table, row)
            np.testing.assert_allclose(out[row], expected)


def test_forged_steps_lead_nowhere():
    columns = np.array([[0], [0], [1]], dtype=np.int32)
    table = np.zeros((1, 3, 2))
    for steps in (np.array([10**6, 10**6], dtype=np.int32), np.array([0], dtype=np.int32)):
        out = np.zeros((1, 2))
        add_log_likelihood(
            columns, 1, np.array([2]), np.array([2, 2, 2]), steps, np.array([0]), table, out
        )
        assert out.tolist() == [[0, 0]]
