"""Means over folds whose training sets overlap."""

import numpy as np
import pytest
from scipy.stats import t as student

from ensemblage.methods._overlap import corrected_error, corrected_pvalue, inflation


def test_the_corrected_test_by_hand():
    gaps = np.array([1.0, 2.0, 3.0])
    # s² = 1, J = 3, k = 3: sqrt(1/3 + 1/2)
    assert corrected_error(gaps, 1 / 3) == pytest.approx(np.sqrt(5 / 6))
    assert corrected_pvalue(gaps, 1 / 3) == pytest.approx(2 * student.sf(2 / np.sqrt(5 / 6), 2))
    assert corrected_pvalue(np.zeros(3), 1 / 3) == 1.0
    assert corrected_pvalue(np.ones(3), 1 / 3) == 0.0


def test_a_share_of_half_the_rows_is_two_folds():
    assert inflation(4, 1 / 2) == 1 / 4 + 1


def test_a_fold_that_failed_has_no_value():
    assert corrected_error([1.0, None], 1 / 3) is None
    assert corrected_error([1.0, None, 3.0], 1 / 2) == pytest.approx(np.sqrt((1 / 2 + 1) * 2))
