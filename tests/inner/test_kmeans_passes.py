import numpy as np

from ensemblage.blocks import Block
from ensemblage.inner._kmeans_passes import assign_pass, bounded_pass, farthest_rows, label_pass

ROWS = np.array([[0.0, 0.0], [1.0, 0.0], [8.0, 0.0], [8.0, 6.0]])
CENTERS = np.array([[0.0, 0.0], [8.0, 0.0]])
BLOCK = Block(0, ROWS, np.array([1.0, 2.0, 1.0, 3.0]))
EVERYTHING = np.ones((1, 2))


def test_a_pass_adds_up_each_clusters_rows():
    carry, found = assign_pass(BLOCK, CENTERS, EVERYTHING, fresh=True)
    assert carry["label"].tolist() == [0, 0, 1, 1]
    np.testing.assert_array_equal(found.sums, [[2.0, 0.0], [32.0, 18.0]])
    np.testing.assert_array_equal(found.totals, [3.0, 4.0])
    assert (found.n_changed, found.n_evaluated) == (4, 4)


def test_rows_far_from_the_border_are_skipped():
    carry, _ = bounded_pass(BLOCK, CENTERS, EVERYTHING, True, np.zeros(2))
    again = BLOCK._replace(carry=carry)
    after, found = bounded_pass(again, CENTERS, EVERYTHING, False, np.array([1.0, 1.0]))
    assert after["label"].tolist() == [0, 0, 1, 1]
    assert (found.n_changed, found.n_evaluated) == (0, 0)


def test_labels_come_with_the_views_that_agree_and_the_inertia():
    views = np.array([[1.0, 0.0], [0.0, 1.0]])
    labels, agreement, inertia = label_pass(BLOCK, CENTERS, EVERYTHING, views)
    assert labels.tolist() == [0, 0, 1, 1]
    # the second feature is the same in both centres, so its view votes for the first
    assert agreement.tolist() == [1.0, 1.0, 0.5, 0.5]
    assert inertia == 2.0 * 1.0 + 3.0 * 36.0


def test_the_farthest_row_of_positive_weight_is_offered_first():
    carry, _ = assign_pass(BLOCK, CENTERS, EVERYTHING, fresh=True)
    light = BLOCK._replace(carry=carry, weights=np.array([1.0, 2.0, 1.0, 0.0]))
    offers = farthest_rows(light, CENTERS, 1)
    assert (offers.distances.tolist(), offers.labels.tolist()) == ([1.0], [0])
