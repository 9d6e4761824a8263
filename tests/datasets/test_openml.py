"""OpenML's answers come from a real HTTP server on this machine."""

import gzip
import hashlib
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from sklearn.datasets import _openml

from ensemblage.datasets import list_datasets, load_dataset
from ensemblage.datasets._catalogue import PAPER_DATASETS, Known
from ensemblage.datasets._openml import fetch_dataset

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


def answers(port, data_id):
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
    """A server that knows dataset 61; gives the list of paths that were asked for."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            known = answers(self.server.server_port, 61)
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
    yield asked
    server.shutdown()
    server.server_close()
    thread.join()


def test_fetch_decodes_words_and_uses_the_cache(openml):
    data = load_dataset("openml:61")
    assert data.kinds == ("number", "word")
    assert data.X[:, 1].tolist() == ["red", "green", None]
    np.testing.assert_array_equal(data.X[:, 0].astype(float), [1, np.nan, 3])
    assert data.y.tolist() == ["a", "b", "a"]
    assert data.categories["colour"] == ("red", "green")
    assert data.description.startswith("A small set.")
    first = len(openml)
    assert load_dataset("openml:61").y.tolist() == ["a", "b", "a"]
    assert len(openml) == first


def test_a_wrong_shape_is_refused(openml):
    with pytest.raises(
        ValueError, match="3 rows and 2 features for 'iris', but it is known to have 150"
    ):
        fetch_dataset("iris", 61, PAPER_DATASETS["iris"])
    assert fetch_dataset("small", 61, Known(61, 3, 2)).name == "small"


def test_the_list_knows_what_was_fetched(openml, monkeypatch):
    monkeypatch.setitem(PAPER_DATASETS, "small", Known(61, 3, 2))
    before = {info.name: info.at_hand for info in list_datasets()}
    load_dataset("small")
    after = {info.name: info.at_hand for info in list_datasets()}
    assert not before["small"]
    assert after["small"]
    assert not after["vehicle"]


def test_an_unknown_number(openml):
    with pytest.raises(ValueError, match="data_id 99 not found"):
        load_dataset("openml:99")
    with pytest.raises(ValueError, match=r"OpenML answers 404 for dataset 98 \(openml:98\)"):
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
    from ensemblage.datasets._openml import ABALONE_ID, _labels

    labels = _labels(np.array(["1", "8", "9", "10", "11", "29"]), ABALONE_ID)
    assert labels.tolist() == ["young", "young", "mid", "mid", "old", "old"]
