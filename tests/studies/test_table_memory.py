import pytest

from ensemblage.studies import is_large_parquet, memory_note

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A file that counts as large and takes 24 bytes in each of ten million rows."""
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.table({"x": pa.nulls(10_000_000, pa.float64())}), path)
    monkeypatch.setattr("ensemblage.datasets._parquet.ALWAYS_FINE", 0)
    return path


def free(monkeypatch, n_bytes):
    monkeypatch.setattr("ensemblage.studies._train.free_memory", lambda: n_bytes)


def test_the_memory_of_a_table_is_noted(path, monkeypatch):
    free(monkeypatch, 480_000_000)
    assert memory_note(path, "auto") == (
        "The method 'auto' reads the table into memory: about 0.2 GB, and about as much again for "
        "the fit."
    )


def test_a_table_larger_than_memory_is_refused(path, monkeypatch):
    free(monkeypatch, 479_999_999)
    with pytest.raises(ValueError, match=r"fit; 0\.5 GB are free\. Use `method` strata, which"):
        memory_note(path, "auto")


def test_other_files_have_no_note(tmp_path, monkeypatch):
    free(monkeypatch, 0)
    (tmp_path / "rows.csv").write_text("a\n1\n")
    parquet.write_table(pa.table({"x": [1.0]}), tmp_path / "small.parquet")
    for name in ("rows.csv", "small.parquet"):
        assert memory_note(tmp_path / name, "auto") is None
    assert memory_note("iris", "auto") is None


def test_large_files(tmp_path, monkeypatch):
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.table({"x": [1.0]}), path)
    assert not is_large_parquet(path)
    monkeypatch.setattr("ensemblage.datasets._parquet.ALWAYS_FINE", 0)
    assert is_large_parquet(path)
    assert not is_large_parquet("-")
    (tmp_path / "rows.csv").write_text("a\n1\n")
    assert not is_large_parquet(tmp_path / "rows.csv")
