import numpy as np

from ensemblage.evaluation._map_geometry import (
    NO_STRATUM,
    outline_strata,
    project,
    push_apart,
    strongest_stratum,
)


def test_two_columns_stay_as_they_are():
    rows = np.array([[0.0, 1.0], [2.0, 3.0]])
    assert project(rows, None).axis_names == ("column 0", "column 1")
    found = project(rows, np.array(["age", "pay"]))
    assert found.points is rows
    assert found.axis_names == ("age", "pay")


def test_columns_on_a_line_have_one_component():
    rows = np.outer([0.0, 1.0, 2.0], [1.0, 2.0, 2.0])
    found = project(rows, None)
    np.testing.assert_allclose(np.abs(found.points), [[3, 0], [0, 0], [3, 0]], atol=1e-9)
    assert found.axis_names[0] == "component 1 (100% of the variance)"


def test_outlines_by_hand():
    points = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 9.0]])
    found = outline_strata(points, np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.5]]))
    np.testing.assert_array_equal(found.centres, [[1, 0], [1, 9]])
    np.testing.assert_array_equal(found.covariances[0], [[1, 0], [0, 0]])


def test_a_row_without_memberships_has_no_stratum():
    memberships = np.array([[0.0, 0.0], [0.2, 0.4], [1.0, 1.0]])
    affinity = np.array([[9.0, 0.0], [9.0, 0.0], [-2.0, -1.0]])
    assert strongest_stratum(memberships, affinity).tolist() == [NO_STRATUM, 1, 1]
    assert strongest_stratum(memberships, None).tolist() == [NO_STRATUM, 1, 0]


def test_equal_places_part():
    places = np.zeros((5, 2))
    parted = push_apart(places, 0.1)
    apart = np.linalg.norm(parted[:, None] - parted, axis=2) + np.eye(5)
    assert apart.min() > 0.09
    far = np.array([[0.0, 0.0], [1.0, 1.0]])
    np.testing.assert_allclose(push_apart(far, 0.1), far, atol=1e-3)
