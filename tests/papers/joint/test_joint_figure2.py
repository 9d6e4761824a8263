import pytest

from ensemblage.datasets import make_quarter_circle
from ensemblage.papers.joint._joint_figure2 import N_DUMMIES, true_pair


def found_pairs(n_rows, seeds, **parameters):
    made = [
        true_pair(*make_quarter_circle(n_rows, n_dummies=N_DUMMIES, random_state=seed), seed,
                  **parameters)
        for seed in seeds
    ]  # fmt: skip
    return {name: sum(each[name] for each in made) / 100 for name in made[0]}


def test_figure_2_in_a_few_runs():
    assert found_pairs(100, range(3), n_estimators=5)["both"] >= 2


@pytest.mark.slow
@pytest.mark.parametrize(("n_rows", "least"), [(20, 90), (100, 95)])
def test_true_pair_is_found_whatever_the_column_order(n_rows, least):
    count = found_pairs(n_rows, range(1000, 1100))
    assert count["both"] >= least
    assert count["score"] >= least
