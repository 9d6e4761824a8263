import gzip
import hashlib
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from sklearn.datasets import _openml

from ensemblage.datasets import find_folder, list_datasets, load_dataset, open_dataset
from ensemblage.datasets._open import (
    BUNDLED,
    PAPER_DATASETS,
    Declared,
    fetch_dataset,
    read_manifest,
)

ARFF = b"""@relation small
@attribute x numeric
@attribute colour {red,green}
@attribute 'class' {a,b}
@data
1,red,a
?,green,b
3,?,a
"""
FEATURES = [("x", "numeric", "false"), ("colour", "nominal", "false"), ("class", "nominal", "true")]


def test_catalogue_agrees_with_the_shared_manifest(shared):
    manifest = json.loads((shared / "data" / "manifest.json").read_text(encoding="utf-8"))
    facts = {k: (v["openml_id"], v["rows"], v["features"]) for k, v in manifest.items()}
    assert facts == PAPER_DATASETS


def responses(port, data_id):
    features = [
        {"index": str(i), "name": n, "data_type": t, "is_target": y, "is_ignore": "false",
         "is_row_identifier": "false", "number_of_missing_values": "0"}
        for i, (n, t, y) in enumerate(FEATURES)
    ]  # fmt: skip
    description = {
        "id": str(data_id), "name": "small", "version": "1", "format": "ARFF", "status": "active",
        "description": "A small\n set.", "file_id": "7", "default_target_attribute": "class",
        "url": f"http://127.0.0.1:{port}/data/v1/download/7/small.arff",
        "md5_checksum": hashlib.md5(ARFF, usedforsecurity=False).hexdigest(),
    }  # fmt: skip
    base = "/api/v1/json/data"
    return {
        f"{base}/{data_id}": {"data_set_description": description},
        f"{base}/features/{data_id}": {"data_features": {"feature": features}},
        f"{base}/qualities/{data_id}": {
            "data_qualities": {"quality": [{"name": "NumberOfInstances", "value": "3.0"}]}
        },
    }


def point_to(monkeypatch, port):
    base = f"http://127.0.0.1:{port}/api/v1/json/data"
    monkeypatch.setattr(_openml, "_DATA_INFO", base + "/{}")
    monkeypatch.setattr(_openml, "_DATA_FEATURES", base + "/features/{}")
    monkeypatch.setattr(_openml, "_DATA_QUALITIES", base + "/qualities/{}")


@pytest.fixture
def openml(monkeypatch, tmp_path):
    """A server with dataset 61; yields the list of requested paths."""
    requested = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            requested.append(self.path)
            known = responses(self.server.server_port, 61)
            if self.path.endswith(".arff"):
                body = ARFF
            elif self.path in known:
                body = json.dumps(known[self.path]).encode()
            else:
                self.send_error(404 if "98" in self.path else 412)
                return
            body = gzip.compress(body)
            self.send_response(200)
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            """Keep the test's output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    point_to(monkeypatch, server.server_port)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "cache"))
    monkeypatch.delenv("ENSEMBLAGE_DATA", raising=False)
    yield requested
    server.shutdown()
    server.server_close()
    thread.join()


def test_fetch_decodes_categories_and_uses_the_cache(openml):
    data = load_dataset("openml:61")
    assert data.kinds == ("numeric", "categorical")
    assert data.X[:, 1].tolist() == ["red", "green", None]
    np.testing.assert_array_equal(data.X[:, 0].astype(float), [1, np.nan, 3])
    assert data.y.tolist() == ["a", "b", "a"]
    assert data.categories["colour"] == ("red", "green")
    assert data.description.startswith("A small set.")
    first = len(openml)
    assert load_dataset("openml:61").y.tolist() == ["a", "b", "a"]
    assert len(openml) == first


def test_wrong_shape_is_refused(openml):
    with pytest.raises(ValueError, match="3 rows and 2 features for 'iris', expected 150"):
        fetch_dataset("iris", 61, PAPER_DATASETS["iris"][1:])
    assert fetch_dataset("small", 61, (3, 2)).name == "small"


def test_fetched_datasets_are_available(openml, monkeypatch):
    monkeypatch.setitem(PAPER_DATASETS, "small", (61, 3, 2))
    before = {info.name: info.available for info in list_datasets()}
    load_dataset("small")
    after = {info.name: info.available for info in list_datasets()}
    assert not before["small"]
    assert after["small"]
    assert not after["vehicle"]


def test_unknown_openml_id(openml):
    with pytest.raises(ValueError, match="data_id 99 not found"):
        load_dataset("openml:99")
    with pytest.raises(
        ValueError, match=r"OpenML returned status 404 for dataset 98 \(openml:98\)"
    ):
        load_dataset("openml:98")


def test_no_network_says_what_to_do(monkeypatch, tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    point_to(monkeypatch, port)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    monkeypatch.delenv("ENSEMBLAGE_DATA", raising=False)
    with pytest.raises(
        ValueError, match=r"'vehicle' is fetched from OpenML, which cannot be.*vehicle\.csv"
    ):
        load_dataset("vehicle")


def test_abalone_is_grouped_as_in_the_papers():
    from ensemblage.datasets._open import ABALONE_ID, _labels

    labels = _labels(np.array(["1", "8", "9", "10", "11", "29"]), ABALONE_ID)
    assert labels.tolist() == ["young", "young", "mid", "mid", "old", "old"]


def test_open_dataset_by_name_and_file(tmp_path, table_file):
    assert open_dataset("iris").name == "iris"
    data = open_dataset(str(table_file), "class")
    assert data.feature_names == ("age", "job", "pay")
    assert open_dataset(str(table_file), "class", drop=["job"]).feature_names == ("age", "pay")
    with pytest.raises(ValueError, match=r"Set `target` .*The columns are: age, job, pay, class"):
        open_dataset(str(table_file))
    with pytest.raises(ValueError, match="target of the dataset 'iris' is 'class', got 'x'"):
        open_dataset("iris", "x")
    with pytest.raises(ValueError, match="`drop` is supported for files only"):
        open_dataset("iris", drop=["class"])
    with pytest.raises(ValueError, match="There is no file"):
        open_dataset(str(tmp_path / "no.csv"))


def test_folder_does_not_hide_a_dataset(tmp_path, monkeypatch):
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
    _, n_rows, n_features, _ = BUNDLED[name]
    assert data.X.shape == (n_rows, n_features)
    assert data.origin == "scikit-learn"
    assert data.description
    assert not data.description.startswith("..")


def test_shared_folder_with_manifest(shared, monkeypatch):
    monkeypatch.setenv("ENSEMBLAGE_DATA", str(shared / "data"))
    data = load_dataset("lymph")
    assert data.X.shape == (148, 18)
    assert data.kinds.count("numeric") == 3
    assert data.target == "class"
    # some categories of the class do not occur; the declared order is kept
    assert set(data.classes) <= set(data.categories["class"])
    listed = {info.name: info for info in list_datasets()}
    assert listed["lymph"].available
    assert listed["lymph"].origin == str(shared / "data")


def test_folder_without_manifest(tmp_path):
    (tmp_path / "mine.csv").write_text("a,b\n1,x\n2,y\n", encoding="utf-8")
    data = load_dataset("mine", tmp_path)
    assert data.target == "b"
    assert next(i for i in list_datasets(tmp_path) if i.name == "mine").n_rows is None


def test_folder_comes_before_bundled_datasets(tmp_path):
    (tmp_path / "iris.csv").write_text("class,a\nx,1\ny,2\n", encoding="utf-8")
    assert load_dataset("iris", tmp_path).X.shape == (2, 1)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("irs", r"no dataset 'irs'\. Did you mean 'iris'\?"),
        ("liver", r"not on OpenML: put liver\.csv into `data_dir`"),
        ("openml:x", "openml: must be followed by a dataset id, got 'x'"),
    ],
)
def test_unknown_names(name, message, monkeypatch):
    monkeypatch.delenv("ENSEMBLAGE_DATA", raising=False)
    with pytest.raises(ValueError, match=message):
        load_dataset(name)


def test_data_dir_comes_before_the_environment(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    monkeypatch.setenv("ENSEMBLAGE_DATA", str(tmp_path))
    assert find_folder(tmp_path / "mine") == tmp_path / "mine"
    assert find_folder(None) == tmp_path
    monkeypatch.delenv("ENSEMBLAGE_DATA")
    assert find_folder(None) is None


def test_manifest_declares_kinds_and_categories(tmp_path):
    (tmp_path / "a.csv").write_text("size,code,class\n1,1,x\n2,2,y\n", encoding="utf-8")
    text = '{"a": {"rows": 2, "categories": {"code": ["2", "1"]}, "numeric": ["size"], "by": 1}}'
    (tmp_path / "manifest.json").write_text(text, encoding="utf-8")
    expected = Declared(rows=2, numeric=("size",), categories={"code": ("2", "1")})
    assert read_manifest(tmp_path) == {"a": expected}
    data = load_dataset("a", tmp_path)
    assert data.kinds == ("numeric", "categorical")
    assert data.categories == {"code": ("2", "1")}
    assert data.target == "class"


def test_invalid_folder_and_manifest(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"`data_dir` is .* not a folder"):
        load_dataset("iris", tmp_path / "no")
    monkeypatch.setenv("ENSEMBLAGE_DATA", str(tmp_path / "no"))
    with pytest.raises(ValueError, match=r"ENSEMBLAGE_DATA is .* not a folder"):
        load_dataset("iris")
    (tmp_path / "a.csv").write_text("x,y\n1,2\n2,3\n", encoding="utf-8")
    for text, message in (("{", "not valid JSON"), ("[]", "one object per dataset")):
        (tmp_path / "manifest.json").write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=message):
            load_dataset("a", tmp_path)


def test_too_long_name_has_one_sentence():
    with pytest.raises(ValueError, match="i9999"):
        open_dataset("i" + "9" * 400)
