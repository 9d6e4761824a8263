import pytest

from ensemblage.blocks import BlockSource, add_fields, merge


def test_partials_are_merged_from_first_to_last():
    assert merge(iter(["a", "b", "c"]), lambda left, right: left + right) == "abc"
    assert add_fields((1, 2), (10, 20)) == (11, 22)
    with pytest.raises(ValueError, match="zip"):
        add_fields((1,), (1, 2))


def test_a_source_says_how_to_run_a_kernel():
    with pytest.raises(TypeError, match="abstract class BlockSource"):
        BlockSource()
