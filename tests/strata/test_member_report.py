"""Errors by stratum."""

import numpy as np

from ensemblage.strata._member_report import count_errors


def test_errors_by_hand():
    wrong = np.array([1.0, 0.0, np.nan, 1.0])
    memberships = np.array([[1.0, 0.0, 0.0], [0.5, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.2]])
    assert count_errors(wrong, memberships) == ([1 / 1.5, None, 1.0], 2 / 3)


def test_nothing_known():
    assert count_errors(np.array([np.nan]), np.ones((1, 1))) == ([None], None)
