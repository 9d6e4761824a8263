import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.blocks import Block, MemoryBlocks
from ensemblage.inner._kmeans_labels import Fit, clustered, inertia_of, label_all, label_pass
from ensemblage.inner._kmeans_loop import Run

ROWS = np.array([[0.0, 0.0], [1.0, 0.0], [8.0, 0.0], [8.0, 6.0]])
CENTERS = np.array([[0.0, 0.0], [8.0, 0.0]])
WEIGHTS = np.array([1.0, 2.0, 1.0, 3.0])
BLOCK = Block(0, ROWS, WEIGHTS)
EVERYTHING = np.ones((1, 2))


def test_labels_come_with_the_views_that_agree_and_the_inertia():
    views = np.array([[1.0, 0.0], [0.0, 1.0]])
    labels, agreement, inertia = label_pass(BLOCK, CENTERS, EVERYTHING, views)
    assert labels.tolist() == [0, 0, 1, 1]
    # the second feature is the same in both centres, so its view votes for the first
    assert agreement.tolist() == [1.0, 1.0, 0.5, 0.5]
    assert inertia == 2.0 * 1.0 + 3.0 * 36.0


@given(st.integers(1, 5))
def test_labels_of_all_rows_do_not_depend_on_the_blocks(block_rows):
    views = np.array([[1.0, 0.0], [0.0, 1.0]])
    fit = Fit(Run(CENTERS, 1, 4, True), views, EVERYTHING)
    source = MemoryBlocks(ROWS, WEIGHTS, block_rows)
    values, found = label_all(source, fit)
    assert values["label"].tolist() == [0, 0, 1, 1]
    assert values["vote"].tolist() == [1.0, 1.0, 0.5, 0.5]
    assert (found.inertia, found.counts.tolist()) == (110.0, [2, 2])
    assert found.weights.tolist() == [3.0, 4.0]
    assert inertia_of(source, fit) == 110.0
    assert clustered(BLOCK, CENTERS, EVERYTHING).counts.tolist() == [2, 2]
