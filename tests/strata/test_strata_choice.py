import numpy as np
import pytest

from ensemblage.fusion import FusionContext, Gate, Mean
from ensemblage.strata import HISS, MixtureStrata
from ensemblage.strata._strata_choice import candidates, fused_error


def test_a_stratifier_without_a_size():
    assert candidates(MixtureStrata(), None, "auto", 1000) == [
        {"n_strata": 10}, {"n_strata": 20}, {"n_strata": 40},
    ]  # fmt: skip
    with pytest.raises(ValueError, match=r"stratum_size=0.3 was given, but MixtureStrata has no"):
        candidates(MixtureStrata(), 0.3, None, 1000)


def test_few_rows_get_few_strata_that_hold_ten_rows():
    assert candidates(HISS(), "auto", "auto", 20) == [{"n_strata": 2, "stratum_size": 0.5}]
    assert candidates(HISS(), "auto", 2, 15) == [{"n_strata": 2, "stratum_size": 10 / 15}]


def test_the_error_of_a_fusion_is_itself_out_of_fold():
    y = np.arange(20) % 2
    right = np.where(y[:, None] == [0, 1], 1.0, 0.0)
    folds = [(np.arange(10, 20), np.arange(10)), (np.arange(10), np.arange(10, 20))]
    assert fused_error(Mean(), np.stack([right, right]), y, folds) == 0.0
    assert fused_error(Mean(), np.stack([1 - right]), y, folds) == 1.0
    unknown = np.full((1, 20, 2), np.nan)
    assert fused_error(Mean(), unknown, y, folds) == np.inf


def test_the_error_of_a_fusion_leaves_out_rows_in_no_fold():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    outputs = rng.dirichlet([1, 1], size=(3, 60))
    affinity, weights = rng.normal(scale=5, size=(60, 3)), rng.integers(0, 3, 60)
    known = np.arange(20, 60)
    folds = [(np.arange(20), np.arange(20, 40)), (np.arange(40), np.arange(40, 60))]
    moved = [(train, test - 20) for train, test in folds]
    alone = fused_error(
        Gate(), outputs[:, known], y[known], moved, FusionContext(affinity[known]),
        sample_weight=weights[known],
    )  # fmt: skip
    outputs[:, :20] = np.nan
    assert alone == fused_error(
        Gate(), outputs, y, folds, FusionContext(affinity), sample_weight=weights
    )  # fmt: skip
