import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.evaluation import nmi_score, purity_score

labels = st.lists(st.integers(0, 3), min_size=2, max_size=30)


def test_purity_is_the_share_of_the_largest_class():
    assert purity_score(["a", "a", "b", "b", "b"], [0, 0, 0, 1, 1]) == pytest.approx(0.8)


def test_nmi_divides_by_the_root_of_the_entropies():
    # joint: I = 3/4 log 4/3 ... written out over the three pairs (a0 .5, b0 .25, b1 .25)
    entropy = [np.log(2), 0.75 * np.log(4 / 3) + 0.25 * np.log(4)]
    shared = 0.5 * np.log(0.5 / 0.375) + 0.25 * np.log(0.25 / 0.375) + 0.25 * np.log(0.25 / 0.125)
    expected = shared / np.sqrt(entropy[0] * entropy[1])
    assert nmi_score(["a", "a", "b", "b"], [0, 0, 0, 1]) == pytest.approx(expected)


@given(labels)
def test_a_clustering_by_class_is_perfect(classes):
    assert purity_score(classes, classes) == 1
    assert nmi_score(classes, [7 - each for each in classes]) == pytest.approx(1)


@given(labels, st.randoms())
def test_scores_lie_between_zero_and_one(classes, random):
    clusters = [random.randint(0, 2) for _ in classes]
    assert 0 < purity_score(classes, clusters) <= 1
    assert 0 <= nmi_score(classes, clusters) <= 1 + 1e-12


@pytest.mark.parametrize("score", [purity_score, nmi_score])
def test_a_label_per_row(score):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        score([0, 1], [0, 1, 2])
