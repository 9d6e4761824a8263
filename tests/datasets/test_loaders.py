import pytest

from ensemblage.datasets import list_datasets, load_dataset
from ensemblage.datasets._catalogue import BUNDLED


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_datasets_have_the_listed_shape(name, monkeypatch):
    monkeypatch.delenv("ENSEMBLAGE_DATA", raising=False)
    data = load_dataset(name)
    known = BUNDLED[name]
    assert data.X.shape == (known.n_rows, known.n_features)
    assert data.origin == "scikit-learn"
    assert data.description
    assert not data.description.startswith("..")


def test_shared_folder_with_manifest(shared, monkeypatch):
    monkeypatch.setenv("ENSEMBLAGE_DATA", str(shared / "data"))
    data = load_dataset("lymph")
    assert data.X.shape == (148, 18)
    assert data.kinds.count("number") == 3
    assert data.target == "class"
    # One category of the class never occurs in some sets; declared order is kept.
    assert set(data.classes) <= set(data.categories["class"])
    listed = {info.name: info for info in list_datasets()}
    assert listed["lymph"].at_hand
    assert listed["lymph"].origin == str(shared / "data")


def test_folder_without_manifest(tmp_path):
    (tmp_path / "mine.csv").write_text("a,b\n1,x\n2,y\n", encoding="utf-8")
    data = load_dataset("mine", tmp_path)
    assert data.target == "b"
    assert next(i for i in list_datasets(tmp_path) if i.name == "mine").n_rows is None


def test_folder_comes_before_the_bundled(tmp_path):
    (tmp_path / "iris.csv").write_text("class,a\nx,1\ny,2\n", encoding="utf-8")
    assert load_dataset("iris", tmp_path).X.shape == (2, 1)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("irs", r"no dataset 'irs' at hand\. Did you mean 'iris'\?"),
        ("liver", r"not on OpenML: a folder must hold liver\.csv"),
        ("openml:x", "openml: must be followed by a number, got 'x'"),
    ],
)
def test_unknown_names(name, message, monkeypatch):
    monkeypatch.delenv("ENSEMBLAGE_DATA", raising=False)
    with pytest.raises(ValueError, match=message):
        load_dataset(name)
