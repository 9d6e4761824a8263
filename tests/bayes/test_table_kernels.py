import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.bayes._table_kernels import (
    CodedColumn,
    LookUp,
    add_log_likelihood,
    entry_weights,
    log_probabilities,
    refine,
)


def coded(codes, n_codes):
    return CodedColumn(np.array(codes, dtype=np.int32), n_codes)


def test_configurations_are_numbered_in_order():
    (refined, count), step = refine(coded([0, 1, 1, 0], 2), coded([2, 0, 0, 1], 3))
    assert count == 3
    assert refined.tolist() == [1, 2, 2, 0]
    assert step.tolist() == [-1, 0, 1, 2, -1, -1]


def test_counts_and_smoothed_probabilities_by_hand():
    counts = entry_weights(
        coded([0, 0, 0, 0], 1), coded([0, 0, 1, 1], 2), coded([0, 0, 0, 1], 2),
        np.array([1.0, 1.0, 2.0, 1.0]),
    )  # fmt: skip
    assert counts.tolist() == [[[2, 0], [2, 1]]]
    expected = [[[2.5 / 5, 0.5 / 2], [2.5 / 5, 1.5 / 2], [0.5 / 5, 0.5 / 2]]]
    np.testing.assert_allclose(np.exp(log_probabilities(counts, 0.5)), expected)


@given(st.integers(0, 1000))
def test_probabilities_add_up(seed):
    counts = np.random.default_rng(seed).gamma(0.3, size=(4, 3, 2))
    sums = np.exp(log_probabilities(counts, 0.5))[:, :-1].sum(axis=1)
    np.testing.assert_allclose(sums, 1.0)


def look_up_slowly(codes, node, table):
    """Walk from parent to parent, for one row."""
    g = 0
    for j, parent in enumerate(table.parents):
        if codes[parent] >= table.sizes[j]:
            return np.zeros(table.log_table.shape[2])
        g = table.steps[table.offsets[j] + g * table.sizes[j] + codes[parent]]
        if g < 0:
            return np.zeros(table.log_table.shape[2])
    return table.log_table[g, min(codes[node], table.log_table.shape[1] - 1)]


@given(st.integers(0, 1000))
def test_look_up_equals_the_plain_walk(seed):
    rng = np.random.default_rng(seed)
    sizes = np.array([2, 3, 2, 2])
    columns = np.array([rng.integers(0, size + 1, 15) for size in sizes], dtype=np.int32)
    first = rng.permutation(np.array([0, 1, -1], dtype=np.int32))
    second = np.array([0, -1, 1, 2], dtype=np.int32)
    log_table = np.log(rng.uniform(0.1, 1, size=(3, 3, 2)))
    steps = np.concatenate([first, second])
    table = LookUp(np.array([1, 2]), sizes[[1, 2]], steps, np.array([0, 3]), log_table)
    for kernel in (add_log_likelihood, add_log_likelihood.python):
        out = np.zeros((15, 2))
        kernel(columns, 3, table, out)
        for row in range(15):
            np.testing.assert_allclose(out[row], look_up_slowly(columns[:, row], 3, table))


def test_forged_steps_lead_nowhere():
    codes = np.array([[0], [0], [1]], dtype=np.int32)
    honest = LookUp(
        np.array([2]), np.array([2]), np.array([0, 0], dtype=np.int32), np.array([0]),
        np.ones((1, 3, 2)),
    )  # fmt: skip
    for forged in (
        honest._replace(steps=np.array([10**6, 10**6], dtype=np.int32)),
        honest._replace(steps=np.array([0], dtype=np.int32)),
        honest._replace(offsets=np.array([-(10**6)])),
        honest._replace(offsets=np.array([10**6])),
    ):
        out = np.zeros((1, 2))
        add_log_likelihood(codes, 1, forged, out)
        assert out.tolist() == [[0, 0]]
    add_log_likelihood(codes, 1, honest, out)
    assert out.tolist() == [[1, 1]]
