import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from skops import io as theirs
from skops.io import _trusted_types

from ensemblage.persistence import load, save
from ensemblage.persistence._model_files import _plain_trusted_types, skops_io
from persistence.archives import change_header, claim_versions, rewrite


def test_private_copy_of_skops():
    ours = skops_io()
    assert ours is not theirs
    assert ours is skops_io()
    data = theirs.dumps(LogisticRegression())
    assert theirs.get_untrusted_types(data=data) == []
    name = "sklearn.linear_model._logistic.LogisticRegression"
    assert ours.get_untrusted_types(data=data) == [name]
    assert ours.loads(data, trusted=[name]).C == 1.0


def test_skops_imported_later_is_unchanged():
    script = (
        "from ensemblage.persistence._model_files import skops_io\n"
        "ours = skops_io()\n"
        "import skops\n"
        "assert not hasattr(skops, 'io')\n"
        "from skops import io\n"
        "import skops.io._trusted_types as lists\n"
        "assert io is not ours and len(lists.SKLEARN_ESTIMATOR_TYPE_NAMES) > 100\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_plain_types_match_skops():
    lists, later = (
        _plain_trusted_types(),
        {"NUMPY_RANDOM_BIT_GENERATOR_TYPE_NAMES"},
    )  # not in skops 0.14
    ours, known = {name for name in vars(lists) if name.endswith("_NAMES")}, vars(_trusted_types)
    assert ours - later <= set(known)
    for name in ours & set(known):
        assert set(getattr(lists, name)) == set(known[name]), name
    assert lists.SKLEARN_ESTIMATOR_TYPE_NAMES == []


def test_loading_imports_little_of_scikit_learn(tmp_path):
    path = tmp_path / "model.skops"
    save(LogisticRegression().fit(np.eye(2), [0, 1]), path)
    script = (
        "import sys; from ensemblage.persistence import load\n"
        f"load({str(path)!r})\n"
        "heavy = {'pytest', 'numba', 'sklearn.neural_network', 'dask', 'sklearn.ensemble'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]"


RNG = np.random.default_rng(0)


X = RNG.normal(size=(80, 4))


Y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")


@pytest.fixture
def model_file(tmp_path):
    path = tmp_path / "model.skops"
    save(
        LogisticRegression().fit(X, Y), path,
        columns=list("abcd"), kinds=["numeric"] * 4, target="class", details={"method": "logistic"},
    )  # fmt: skip
    return path


def test_round_trip(model_file):
    saved = load(model_file)
    assert saved.columns == ("a", "b", "c", "d")
    assert saved.kinds == ("numeric",) * 4
    assert saved.target == "class"
    assert saved.classes == ("no", "yes")
    assert saved.details == {"method": "logistic"}
    assert set(saved.versions) == {"ensemblage", "scikit-learn", "skops"}
    assert (saved.model.predict(X) == LogisticRegression().fit(X, Y).predict(X)).all()


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.9, 0.999])
def test_truncated_files(model_file, share):
    data = model_file.read_bytes()
    model_file.write_bytes(data[: int(share * len(data))])
    with pytest.raises(ValueError, match=r"truncated or damaged|not a model file"):
        load(model_file)


def test_flipped_bytes_raise_value_error(model_file):
    data = bytearray(model_file.read_bytes())
    messages = []
    for position in range(0, len(data), max(1, len(data) // 60)):
        damaged = bytearray(data)
        damaged[position] ^= 0xFF
        model_file.write_bytes(damaged)
        try:
            load(model_file)
        except ValueError as error:
            messages.append(str(error))
    assert len(messages) > 20
    assert all(text.startswith(str(model_file)) for text in messages)


def test_files_that_are_not_models(tmp_path):
    path = tmp_path / "a.skops"
    path.write_text("hello", encoding="utf-8")
    with pytest.raises(ValueError, match=r"is not a model file: `save\(\)` writes one"):
        load(path)
    path.write_bytes(theirs.dumps(LogisticRegression()))
    with pytest.raises(
        ValueError, match=r"not a model file of Ensemblage: it does not contain ensemblage\.json"
    ):
        load(path)
    with pytest.raises(ValueError, match="There is no model file"):
        load(tmp_path / "b.skops")
    with pytest.raises(ValueError, match="is a folder"):
        load(tmp_path)


def test_other_format_versions_have_their_own_error(model_file):
    change_header(model_file, format=99)
    with pytest.raises(ValueError, match="has format 99, written by a newer Ensemblage"):
        load(model_file)
    change_header(model_file, format=1)
    with pytest.raises(ValueError, match=r"has format 1, written by an older .*: fit the model"):
        load(model_file)


@pytest.mark.parametrize(
    ("versions", "sentence"),
    [
        ({"scikit-learn": "1.0.2"}, r"was written with scikit-learn 1\.0\.2 \(here "),
        ({"scikit-learn": "99.1"}, r"was written with scikit-learn 99\.1 \(here "),
        ({"ensemblage": "99.0.0"}, r"was written with Ensemblage 99\.0\.0 \(here "),
        (
            {"ensemblage": "99.0.0", "scikit-learn": "1.0.2"},
            r"with Ensemblage 99\.0\.0 \(here .*\) and scikit-learn 1\.0\.2 \(here ",
        ),
    ],
)
def test_other_versions_are_one_warning(model_file, versions, sentence):
    claim_versions(model_file, versions)
    with pytest.warns(UserWarning, match=sentence) as caught:
        load(model_file)
    assert [each.category for each in caught] == [UserWarning]


def test_a_state_of_another_version_that_does_not_fit(model_file):
    claim_versions(model_file, {"scikit-learn": "1.0.2"})
    rewrite(model_file, lambda name, data: b"x" if name.endswith(".npy") else data)
    with pytest.raises(ValueError, match=r"written with scikit-learn 1\.0\.2 .* cannot be loaded"):
        load(model_file)


@pytest.mark.parametrize("version", ["0.0.1", "nonsense", ""])
def test_an_earlier_or_unknown_version_is_no_warning(model_file, version):
    claim_versions(model_file, {"ensemblage": version})
    load(model_file)


@pytest.mark.parametrize("facts", [{"columns": "absent"}, {"columns": 3}, {"format": "x"}])
def test_invalid_header_is_damage(model_file, facts):
    change_header(model_file, **facts)
    with pytest.raises(ValueError, match="truncated or damaged"):
        load(model_file)


def test_forged_function_is_refused_and_not_executed(model_file, tmp_path):
    """The file contains os.system; nothing of it may be executed."""
    proof = tmp_path / "proof"
    # the schema that skops writes for a function
    schema = {
        "__class__": "system", "__module__": os.system.__module__, "__loader__": "FunctionNode",
        "content": {"module_path": os.system.__module__, "function": "system"},
        "protocol": 2, "_skops_version": "0.13",
    }  # fmt: skip
    schema["argument"] = f"touch {proof}"
    rewrite(model_file, lambda name, data: json.dumps(schema) if name == "schema.json" else data)
    with pytest.raises(ValueError, match=r"types that are not trusted: \w+\.system"):
        load(model_file)
    assert not proof.exists()


class UntrustedEstimator(BaseEstimator):
    """An estimator that is not trusted."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self


def test_untrusted_type_is_named_when_loading(model_file):
    with zipfile.ZipFile(model_file) as archive:
        header = archive.read("ensemblage.json")
    model_file.write_bytes(theirs.dumps(UntrustedEstimator().fit(X, Y)))
    with zipfile.ZipFile(model_file, "a") as archive:
        archive.writestr("ensemblage.json", header)
    with pytest.raises(ValueError, match=r"not trusted: .*UntrustedEstimator\. Nothing was loaded"):
        load(model_file)


def test_untrusted_type_is_named_when_saving(tmp_path):
    path = tmp_path / "a.skops"
    with pytest.raises(
        ValueError, match=r"The model contains .*UntrustedEstimator, which load\(\) does not"
    ):
        save(UntrustedEstimator().fit(X, Y), path)
    assert not path.exists()


def forge_zeros(path, n_bytes):
    """Add an entry of ``n_bytes`` zeros, which compress to almost nothing."""
    with zipfile.ZipFile(path, "a", compression=zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros.npy", bytes(n_bytes))


def test_zip_bomb_is_refused_without_unpacking(model_file, monkeypatch):
    forge_zeros(model_file, 60_000_000)
    assert model_file.stat().st_size < 1_000_000
    with monkeypatch.context() as patched:
        patched.setattr(zipfile.ZipFile, "testzip", None)  # would unpack all of it
        patched.setattr(zipfile.ZipFile, "read", None)
        with pytest.raises(ValueError, match=r"unpacks to 60 MB, more than the 50 MB .*max_bytes="):
            load(model_file)
    assert load(model_file, max_bytes=70_000_000).columns == tuple("abcd")


def test_wrong_sizes_in_the_directory_are_damage(model_file):
    forge_zeros(model_file, 60_000_000)
    data = model_file.read_bytes()
    true, false = (size.to_bytes(4, "little") for size in (60_000_000, 60_000))
    model_file.write_bytes(data.replace(true, false))
    with pytest.raises(ValueError, match="truncated or damaged"):
        load(model_file)


def test_columns_of_nested_sources(tmp_path):
    model = LogisticRegression().fit([[0.0], [1.0]], ["no", "yes"])
    pairs = [("Bern", "2"), ("Bern", "1"), ("Aarau", "1"), ("Bern", "1")]
    save(model, tmp_path / "m.skops", source=(["site", "ward"], pairs))
    source = load(tmp_path / "m.skops").source
    assert source.names == ("site", "ward")
    assert source.known == ("Aarau", "Bern")
    assert source.known_inner == (("Aarau", "1"), ("Bern", "1"), ("Bern", "2"))
    save(model, tmp_path / "m.skops", source=("site", ["Bern", "Aarau", "Bern"]))
    source = load(tmp_path / "m.skops").source
    assert (source.names, source.known, source.known_inner) == (("site",), ("Aarau", "Bern"), ())
