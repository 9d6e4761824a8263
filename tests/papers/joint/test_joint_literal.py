from sklearn.datasets import load_iris

from ensemblage.papers.joint._joint_literal import (
    BASE,
    GAINS,
    LOGISTIC,
    UNTRAINED,
    Rows,
    Settings,
    literal_scores,
)
from ensemblage.papers.joint._joint_table2 import split_in_parts


def test_a_split_has_the_ensembles_and_the_controls():
    parts = split_in_parts(Rows(*load_iris(return_X_y=True)), seed=0)
    scores = literal_scores(parts, Settings("auto", 1e-4), seed=0)
    assert set(scores) == {BASE, *GAINS, UNTRAINED, LOGISTIC}
    assert all(0 <= score <= 100 for score in scores.values())
    # Theorem 1: somebody who knows the answer is never worse than a member
    assert scores[GAINS[0]] >= scores[BASE]
