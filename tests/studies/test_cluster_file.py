"""Clustering of files read in blocks, locally and by Dask workers."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from ensemblage.blocks import BLOCK_ROWS
from ensemblage.studies import cluster

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

N = 3 * BLOCK_ROWS // 2


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    X, truth = make_blobs(N, 3, centers=4, cluster_std=0.5, random_state=3)
    table = pa.table({"a": X[:, 0], "b": 100 * X[:, 1], "c": X[:, 2], "truth": truth})
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    parquet.write_table(table, path, row_group_size=5000)
    return path


def labelled(path, **options):
    labels, shares = [], []
    found = cluster(
        path, 4, drop=("truth",), **options,
        write=lambda own, agreed: (labels.append(own), shares.append(agreed)),
    )  # fmt: skip
    return found, np.concatenate(labels), np.concatenate(shares)


def test_clusters_are_found_and_labels_written_block_by_block(path):
    found, labels, shares = labelled(path)
    truth = parquet.read_table(path)["truth"].to_numpy()
    assert len(np.unique(np.c_[truth, labels], axis=0)) == 4
    assert found.n_rows == len(labels) == N
    assert found.columns == ("a", "b", "c")
    assert found.mean_agreement == pytest.approx(shares.mean())
    columns = parquet.read_table(path)
    for each in found.prototypes:
        here = labels == each.cluster
        assert each.rows == here.sum()
        for name, value in each.typical.items():
            assert value == pytest.approx(columns[name].to_numpy()[here].mean(), rel=1e-3)


def test_clusters_equal_those_of_the_table_in_memory(path):
    from ensemblage.datasets import read_table

    found, labels, _ = labelled(path, method="inner-paper", seed=1)
    whole = cluster(read_table(path), 4, method="inner-paper", target="truth", seed=1)
    assert len(np.unique(np.c_[whole.labels, labels], axis=0)) == len(found.prototypes)


def test_invalid_input_raises(path, tmp_path):
    with pytest.raises(ValueError, match="method='mcla' needs all rows in memory"):
        cluster(path, 2, method="mcla")
    with pytest.raises(ValueError, match="has no column 'height': choose among"):
        cluster(path, 2, drop=("height",))
    with pytest.raises(ValueError, match="No column is left"):
        cluster(path, 2, drop=("a", "b", "c", "truth"))
    parquet.write_table(pa.table({"job": ["cook", "smith"]}), tmp_path / "text.parquet")
    with pytest.raises(ValueError, match=r"Column 'job' of .*text\.parquet is string"):
        cluster(tmp_path / "text.parquet", 2)


@pytest.mark.filterwarnings("default")
def test_workers_read_the_file_and_give_the_same_labels(path, scheduler):
    there, labels, shares = labelled(path, scheduler=scheduler)
    here, own, agreed = labelled(path)
    assert there == here
    np.testing.assert_array_equal(labels, own)
    np.testing.assert_array_equal(shares, agreed)


@pytest.mark.parametrize("address", ["tcp//x", "tcp://", "tcp://x"])
def test_an_address_is_checked(address):
    with pytest.raises(ValueError, match=f"{address!r} is not an address such as tcp://host:8786"):
        cluster("rows.parquet", 2, scheduler=address)
