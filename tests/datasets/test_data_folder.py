import pytest

from ensemblage.datasets import load_dataset
from ensemblage.datasets._data_folder import Declared, find_folder, load_from_folder, read_manifest


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
