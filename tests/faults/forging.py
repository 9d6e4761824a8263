"""Forged model files, and a separate process to load them in.

Run as ``python -m faults.forging <task> <folder>``: one line of JSON for each file, with the error
of ``load``, its duration, and the growth of the process in bytes.
"""

import io
import json
import os
import re
import resource
import sys
import time
import warnings
import zipfile
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from ensemblage.persistence import load, save
from ensemblage.sources import PartialPoolingClassifier, SourceStrata
from ensemblage.subspace import JointSubspaceClassifier
from made_estimators import MADE, fit_on, made_rows

X, Y, _ = made_rows()
SITES = np.array(["p", "q", "r", "s"])[np.arange(40) % 4]
KINDS = {
    **{name: lambda made=made: fit_on(made, X) for name, made in MADE.items()},
    "sourced": lambda: PartialPoolingClassifier(random_state=0).fit(X, Y, sources=SITES),
    "sources": lambda: SourceStrata(min_rows=1).fit(X, sources=SITES),
    "spline": lambda: JointSubspaceClassifier(2, basis="spline", random_state=0).fit(X, Y),
    "machine": lambda: SVC(probability=False).fit(X, Y),
}
METHODS = ("predict", "predict_proba", "decision_function", "transform", "log_affinity", "score")


def mutations(value):
    """Yield forged replacements of a value, by name."""
    if isinstance(value, np.ndarray) and value.ndim and value.size:
        yield from _arrays(value)
    elif isinstance(value, bool) or value is None:
        return
    elif isinstance(value, int | float):
        yield from [("nan", float("nan")), ("text", "x")]
        yield from [("negative", -(2**40))] if isinstance(value, int) else []
    elif isinstance(value, list):
        yield from [("short", value[:-1]), ("junk", [{}] * len(value))] if value else []
        yield "none", None


def _arrays(array):
    yield "short", array[:-1].copy()
    yield "deep", array[None].copy()
    yield "none", None
    yield "list", array.tolist()
    if array.dtype.kind == "f":
        with_nan = array.copy()
        with_nan.flat[0] = np.nan
        yield "nan", with_nan
        yield "complex", array + 1j
        yield "text", array.astype(str)
    if array.dtype.kind in "iu":
        low, high = array.astype(np.int64), array.astype(np.int64)
        low.flat[0], high.flat[-1] = -(2**28), 2**40
        yield "negative", low
        yield "huge", high
        yield "floats", array.astype(float)


def fitted_attributes(part, path="", seen=None):
    """Yield every nested fitted attribute: owner, key, value, path."""
    seen = set() if seen is None else seen
    if id(part) in seen:
        return
    seen.add(id(part))
    if isinstance(part, list | tuple):
        for number, each in enumerate(part):
            yield from fitted_attributes(each, f"{path}[{number}]", seen)
    elif type(part).__module__.startswith(("ensemblage.", "sklearn.")):
        own = vars(part) if hasattr(part, "__dict__") else {}
        params = set(part.get_params(deep=False)) if hasattr(part, "get_params") else set()
        for key, value in list(own.items()):
            if key not in params:
                yield part, key, value, f"{path}.{key}"
                yield from fitted_attributes(value, f"{path}.{key}", seen)


def try_file(path, model=None):
    """Load a file, call all methods of the model, and return the outcome."""
    grown, start = _memory(), time.process_time()  # of this process only
    outcome = {"file": path.stem, "error": "", "equal": False}
    try:
        saved = load(path)
    except ValueError as error:
        outcome["error"] = str(error)
    outcome["seconds"] = time.process_time() - start
    outcome["bytes"] = _memory() - grown
    if not outcome["error"]:
        _call_methods(saved.model)
        outcome["equal"] = model is not None and _fingerprint(saved.model) == _fingerprint(model)
    return outcome


def _call_methods(model):
    """Call every method; an exception is allowed, a crash is not."""
    for name in METHODS:
        try:
            method = getattr(model, name, None)
            if method is not None:
                method(X, Y) if name == "score" else method(X)
        except Exception:  # noqa: S110
            pass


def _fingerprint(model):
    """Return every attribute of a model."""
    found = []
    for _, _, value, path in fitted_attributes(model):
        if isinstance(value, np.ndarray):
            found.append((path, value.dtype.str, value.shape, value.tobytes()))
        elif isinstance(value, int | float | str):
            found.append((path, repr(value)))
    return found


def _memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def forge_attributes(folder, names=None, every=1):
    """Load each model with each fitted attribute forged in each way."""
    path = folder / "model.skops"
    number = 0
    for kind, make in KINDS.items():
        if names is not None and kind not in names:
            continue
        model = make()
        for owner, key, value, path_in_model in fitted_attributes(model):
            for how, forged in mutations(value):
                number += 1
                if number % every:
                    continue
                object.__setattr__(owner, key, forged)
                written = _written(model, path)
                object.__setattr__(owner, key, value)
                if written:
                    yield try_file(path) | {"file": f"{kind}{path_in_model}: {how}"}


def _written(model, path):
    try:
        save(model, path)
    except Exception:
        return False
    return True


def flip_bits(folder, kind, times):
    """Flip random bits of a model file; it is refused, or the model is equal."""
    path = folder / "model.skops"
    model = KINDS[kind]()
    save(model, path, columns=["a", "b", "c"], kinds=["numeric"] * 3, X=X)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for number in range(times):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        yield try_file(path, model) | {"file": f"{kind}, flip {number}"}


def write_archives(folder):
    """Forge the archive, its header and its schema."""
    source = folder / "source.skops"
    save(
        LogisticRegression().fit(X, Y), source, columns=["a", "b", "c"], kinds=["numeric"] * 3, X=X
    )
    for number, (name, data) in enumerate(_archives(source, folder)):
        (folder / f"{number:02} {re.sub('[^a-z ]', '', name)}.skops").write_bytes(data)
    source.unlink()


def _archives(source, folder):
    whole = source.read_bytes()
    with zipfile.ZipFile(source) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    header, schema = json.loads(parts["ensemblage.json"]), json.loads(parts["schema.json"])
    arrays = [name for name in parts if name.endswith(".npy")]
    for share in (0.1, 0.5, 0.9, 0.99):
        yield f"cut at {share}", whole[: int(share * len(whole))]
    yield "empty", b""
    yield "text", b"hello"
    yield "PK alone", b"PK"
    yield "no parts", _pack({})
    yield "a tail of zeros", whole[:-30] + bytes(30)
    yield "no header", _pack({k: v for k, v in parts.items() if k != "ensemblage.json"})
    yield "no schema", _pack({k: v for k, v in parts.items() if k != "schema.json"})
    yield "no array", _pack({k: v for k, v in parts.items() if k != arrays[0]})
    yield "a bomb", _pack(parts | {"zeros.npy": bytes(400_000_000)})
    yield "many parts", _pack(parts | {f"{n}": b"" for n in range(120_000)})
    yield "a pickle", _pack(parts | {arrays[0]: _pickle(folder)})
    yield "huge shape", _pack(parts | {arrays[0]: _npy("<f8", (10**11,))})
    yield "negative shape", _pack(parts | {arrays[0]: _npy("<f8", (-1,))})
    yield "objects", _pack(parts | {arrays[0]: _npy("|O", (2,))})
    yield "no array at all", _pack(parts | {arrays[0]: b"x" * 100})
    for field, value in _header_fields():
        text = json.dumps({**header, field: value})
        yield f"header {field} {str(value)[:12]!r}", _pack(parts | {"ensemblage.json": text})
    for text in ("", "{", "[]", "null", "[" * 100_000, '{"format": 2}', "\udcff"):
        raw = text.encode("utf-8", "surrogateescape")
        yield f"header text {text[:5]!r}", _pack(parts | {"ensemblage.json": raw})
    for name, forged in _schemas(schema, folder):
        yield f"schema {name}", _pack(parts | {"schema.json": json.dumps(forged)})
    yield "schema nested", _pack(parts | {"schema.json": "[" * 100_000})


def _header_fields():
    limits = {"low": 0.0, "high": 1.0, "centre": 0.5, "scale": 1.0}
    ranges = {"ranges": [limits] * 3, "categories": [None] * 3, "radius": 1.0}
    yield from [
        ("format", 99), ("format", 0), ("format", -1), ("format", "1"), ("columns", ["a"]),
        ("columns", "abc"), ("columns", ["a", "a", "b"]), ("columns", [1, 2, 3]),
        ("kinds", ["numeric"]), ("kinds", ["numeric", "x", "categorical"]), ("classes", ["0"]),
        ("classes", ["0", "1", "2"]), ("classes", ["0", "<b>"]), ("target", 3), ("details", []),
        ("versions", 1), ("ignored", 3), ("source", "x"), ("source", {"name": 3, "known": []}),
        ("training_ranges", ranges | {"ranges": [limits]}),
        ("training_ranges", ranges | {"categories": []}),
        ("training_ranges", ranges | {"radius": -1.0}),
        ("training_ranges", ranges | {"ranges": [limits | {"scale": 0.0}] * 3}),
        ("training_ranges", ranges | {"ranges": [limits | {"low": 9.0}] * 3}),
    ]  # fmt: skip


def _schemas(schema, folder):
    yield "of a function", {
        "__class__": "system", "__module__": "posix", "__loader__": "FunctionNode",
        "content": {"module_path": "posix", "function": "system"}, "protocol": 2,
        "_skops_version": "0.13", "argument": f"touch {folder / 'proof'}",
    }  # fmt: skip
    for name in ("os.system", "subprocess.Popen", "builtins.eval", "sklearn.base.BaseEstimator"):
        module, _, kind = name.rpartition(".")
        yield name, {**schema, "__module__": module, "__class__": kind}
    yield "without a loader", {k: v for k, v in schema.items() if k != "__loader__"}
    yield "of another loader", {**schema, "__loader__": "MethodNode"}
    yield "of a later protocol", {**schema, "protocol": 10**6}
    yield "without content", {**schema, "content": {}}
    yield "empty", {}


def _pack(parts):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression=zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def _npy(kind, shape):
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    text = text.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


class _TouchOnLoad:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


def _pickle(folder):
    buffer = io.BytesIO()
    np.save(buffer, np.array([_TouchOnLoad(folder / "proof")], dtype=object), allow_pickle=True)
    return buffer.getvalue()


def main(task, folder, *options):
    """Run a task and print one line per outcome."""
    warnings.simplefilter("ignore")
    folder = Path(folder)
    tasks = {
        "files": lambda: map(try_file, sorted(folder.glob("*.skops"))),
        "attributes": lambda: forge_attributes(folder, options[1:] or None, int(options[0])),
        "flip_bits": lambda: flip_bits(folder, options[0], int(options[1])),
    }
    for outcome in tasks[task]():
        print(json.dumps(outcome), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
