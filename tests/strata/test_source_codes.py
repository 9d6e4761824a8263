import numpy as np
import pytest

from ensemblage.parallel import deal_folds
from ensemblage.strata._source_codes import find_sources, number_sources, source_classes


def test_numbers_follow_the_sorted_names():
    names, codes = number_sources(["b", "a", "b"], np.zeros((3, 1)))
    assert names.tolist() == ["a", "b"]
    assert codes.tolist() == [1, 0, 1]
    assert find_sources(["a", "new", None, float("nan"), "b"], names, 5).tolist() == [
        0,
        -1,
        -1,
        -1,
        1,
    ]
    assert find_sources(None, names, 2).tolist() == [-1, -1]


def test_what_cannot_be_a_source_is_refused():
    X = np.zeros((3, 1))
    with pytest.raises(ValueError, match="missing for 1 of 3 rows: give these a source"):
        number_sources(np.array(["a", None, "b"], dtype=object), X)
    with pytest.raises(TypeError, match="mixes values of type int and str: make them all text"):
        number_sources(np.array(["a", 1, "b"], dtype=object), X)
    with pytest.raises(ValueError, match=r"sources must tell of each row .* got shape \(\)"):
        number_sources(None, X)
    with pytest.raises(ValueError, match=r"in one column; got shape \(3, 2\)"):
        number_sources([["a", "b"]] * 3, X)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        number_sources(["a"], X)
    with pytest.raises(ValueError, match="sources has 1 entries, but there are 3 rows"):
        find_sources(["a"], np.array(["a"]), 3)


def test_a_class_that_is_rare_in_every_source_is_in_every_fold():
    # five rows of each source, one of them of the second class
    codes, labels = np.repeat(np.arange(20), 5), np.tile([0, 0, 0, 0, 1], 20)
    for _, test in deal_folds(source_classes(codes, labels), 5, np.random.default_rng(0)):
        assert labels[test].sum() == 4
        assert len(set(codes[test].tolist())) >= 16
    unknown = source_classes(np.array([-1, 0, 0]), np.array([1, 0, 1]))
    assert sorted(unknown.tolist()) == [0, 1, 2]
