import numpy as np
import pytest

from blocks.fitted_bits import blobs
from ensemblage.blocks import MemoryBlocks, is_source, open_blocks
from ensemblage.inner import InnerKMeans
from ensemblage.strata import HISS


def test_is_source_of_paths_sources_and_arrays(tmp_path):
    source = MemoryBlocks(np.zeros((2, 1)))
    assert all(map(is_source, ["a.npy", tmp_path, [tmp_path, "b.parquet"], source]))
    assert not any(map(is_source, [[[1.0]], np.array([["a"]]), [], None, 3]))
    assert open_blocks(source) is source


def test_other_file_types_raise():
    for model in (HISS(2, 0.3), InnerKMeans(2)):
        with pytest.raises(ValueError, match=r"rows\.csv is neither a \.npy nor a Parquet file"):
            model.fit("rows.csv")


def test_a_source_is_not_modified_by_fit():
    source = MemoryBlocks(blobs(), block_rows=1000)
    model = HISS(2, 0.3, max_iter=2, tol=1e3, random_state=0)
    first = model.fit(source).memberships_
    assert list(source.map(lambda block: block.state)) == [None] * 6
    np.testing.assert_array_equal(model.fit(source).memberships_, first)
    assert set(source.weights) == {1.0}


def test_a_callable_init_needs_rows_in_memory(tmp_path):
    np.save(tmp_path / "rows.npy", blobs(100))
    with pytest.raises(ValueError, match=r"needs rows in memory: .*use 'k-means\+\+'"):
        InnerKMeans(2, init=max).fit(tmp_path / "rows.npy")


def test_row_attributes_of_an_earlier_fit_are_removed(tmp_path):
    np.save(tmp_path / "rows.npy", blobs(500))
    for model in (HISS(2, 0.3, tol=1e3), InnerKMeans(2)):
        model.fit(blobs(100)).fit(tmp_path / "rows.npy")
        assert not {"memberships_", "labels_", "votes_"} & set(vars(model))
        assert model.get_feature_names_out().tolist()[0].endswith("0")


def test_values_that_overflow_raise_on_disk(tmp_path):
    np.save(tmp_path / "rows.npy", blobs(100) * np.float32(1e30))
    with pytest.raises(ValueError, match="whose squares overflow float32"):
        HISS(2, 0.3).fit(tmp_path / "rows.npy")
    with pytest.raises(ValueError, match="squared distances overflow float32"):
        InnerKMeans(2).fit(tmp_path / "rows.npy")


def test_one_row_raises(tmp_path):
    np.save(tmp_path / "rows.npy", np.ones((1, 2)))
    with pytest.raises(ValueError, match=r"At least 2 rows are needed; there is only row 0 of"):
        HISS(1, 1.0).fit(tmp_path / "rows.npy")
