import pytest

from ensemblage.evaluation._feature_labels import feature_labels


def test_names_and_numbers():
    assert feature_labels(("a", "b"), 2) == ["a", "b"]
    assert feature_labels(None, 2) == ["0", "1"]


def test_one_name_per_feature():
    with pytest.raises(ValueError, match="feature_names has 1 entries for 2 features; give one"):
        feature_labels(["a"], 2)
