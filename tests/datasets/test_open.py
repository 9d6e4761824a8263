import pytest

from ensemblage.datasets import list_datasets, load_dataset, open_dataset
from ensemblage.datasets._catalogue import BUNDLED
from ensemblage.datasets._open import Declared, find_folder, load_from_folder, read_manifest


def test_open_dataset_takes_names_and_files(tmp_path, table_file):
    assert open_dataset("iris").name == "iris"
    data = open_dataset(str(table_file), "class")
    assert data.feature_names == ("age", "job", "pay")
    assert open_dataset(str(table_file), "class", drop=["job"]).feature_names == ("age", "pay")
    with pytest.raises(ValueError, match=r"`target`\. The columns are: age, job, pay, class"):
        open_dataset(str(table_file))
    with pytest.raises(ValueError, match="target of the dataset 'iris' is 'class', not 'x'"):
        open_dataset("iris", "x")
    with pytest.raises(ValueError, match="left out of a file only"):
        open_dataset("iris", drop=["class"])
    with pytest.raises(ValueError, match="There is no file"):
        open_dataset(str(tmp_path / "no.csv"))


def test_a_folder_does_not_hide_a_dataset(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "iris").mkdir()
    (tmp_path / "things").mkdir()
    assert open_dataset("iris").name == "iris"
    with pytest.raises(ValueError, match="things is a folder"):
        open_dataset("things")


def test_labels_are_kept_as_written(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,01\n2,1\n", encoding="utf-8")
    assert open_dataset(str(path), "y").y.tolist() == ["01", "1"]


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


def test_the_folder_asked_for_comes_before_the_environment(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    monkeypatch.setenv("ENSEMBLAGE_DATA", str(tmp_path))
    assert find_folder(tmp_path / "mine") == tmp_path / "mine"
    assert find_folder(None) == tmp_path
    monkeypatch.delenv("ENSEMBLAGE_DATA")
    assert find_folder(None) is None


def test_a_manifest_declares_kinds_and_categories(tmp_path):
    (tmp_path / "a.csv").write_text("size,code,class\n1,1,x\n2,2,y\n", encoding="utf-8")
    text = '{"a": {"rows": 2, "categories": {"code": ["2", "1"]}, "numeric": ["size"], "by": 1}}'
    (tmp_path / "manifest.json").write_text(text, encoding="utf-8")
    expected = Declared(rows=2, numeric=("size",), categories={"code": ("2", "1")})
    assert read_manifest(tmp_path) == {"a": expected}
    data = load_from_folder(tmp_path, "a")
    assert data.kinds == ("number", "word")
    assert data.categories == {"code": ("2", "1")}
    assert data.target == "class"


def test_bad_folder_and_bad_manifest(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"`data_dir` names .* not a folder"):
        load_dataset("iris", tmp_path / "no")
    monkeypatch.setenv("ENSEMBLAGE_DATA", str(tmp_path / "no"))
    with pytest.raises(ValueError, match=r"ENSEMBLAGE_DATA names .* not a folder"):
        load_dataset("iris")
    (tmp_path / "a.csv").write_text("x,y\n1,2\n2,3\n", encoding="utf-8")
    for text, message in (("{", "not valid JSON"), ("[]", "one object per dataset")):
        (tmp_path / "manifest.json").write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=message):
            load_dataset("a", tmp_path)


def test_a_name_that_no_file_can_have_is_one_sentence():
    with pytest.raises(ValueError, match="i9999"):
        open_dataset("i" + "9" * 400)
