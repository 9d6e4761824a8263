"""What a wheel alone must do: every public name, every estimator, every command.

python .ci/smoke.py      in a folder of no importance, with the Python that has the wheel
"""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import tempfile
import warnings
from importlib import import_module
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier, is_clusterer, is_regressor
from sklearn.datasets import load_iris

import ensemblage

EXTRAS = {"MCLA": "pymetis", "CSPA": "pymetis", "HBGF": "pymetis", "HGPA": "mtkahypar"}
ARGUMENTS = {"MemberStackingClassifier": "forest", "RecalibratedClassifier": "logistic"}
# parts of other estimators, which these try
PARTS = {"Fusion", "SoftmaxGate"}
COMMANDS = [
    "datasets",
    "compare iris.csv --target species --quick",
    "fit iris.csv --target species --method strata --output model.skops",
    "predict model.skops iris.csv --output out.csv",
    "explain model.skops",
    "audit iris.csv --target ill --source site --method logistic --drop species",
    "cluster iris.csv --clusters 3 --target species",
    "run study.toml",
    "reproduce joint-figure2 --quick",
    "doctor",
]
STUDY = '[[datasets]]\nname = "iris"\n[[methods]]\nname = "majority"\n[[methods]]\nname = "tree"\n'


def public() -> dict[str, object]:
    """Import every name that a package exports."""
    names = {}
    for package in iter_modules(ensemblage.__path__):
        door = import_module(f"ensemblage.{package.name}")
        names |= {name: getattr(door, name) for name in getattr(door, "__all__", ())}
    return names


def made(kind: type) -> BaseEstimator:
    """Make an estimator by its defaults, or with the one that it needs."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    inner = {"forest": RandomForestClassifier(5), "logistic": LogisticRegression()}
    needed = ARGUMENTS.get(kind.__name__)
    return clone(kind(inner[needed]) if needed else kind())


def try_estimator(kind: type) -> str:
    """Fit an estimator to a few rows; one that needs an extra must say which."""
    X, y = load_iris(return_X_y=True)
    X, y = X[::2], y[::2]
    sources = np.arange(len(X)) % 3
    model = made(kind)
    if kind.__name__ in EXTRAS and find_spec(EXTRAS[kind.__name__]) is None:
        return asks_for_extra(model.set_params(n_clusters=3), X)
    more = {"sources": sources} if needs_sources(kind) else {}
    target = X[:, 0] if is_regressor(model) or "squared" in str(model.get_params()) else y
    model.fit(X, target, **more)
    if is_classifier(model) or is_regressor(model):
        assert len(model.predict(X, **more)) == len(X)
    elif is_clusterer(model):
        assert len(model.labels_) == len(X)
    return "fits"


def asks_for_extra(model: BaseEstimator, X: np.ndarray) -> str:
    """Expect the name of the extra, and what installs it, in the error."""
    try:
        model.fit(X)
    except ImportError as error:
        if "ensemblage[consensus]" in str(error):
            return "asks for its extra"
        raise
    raise AssertionError(model)


def needs_sources(kind: type) -> bool:
    """Tell whether an estimator cannot do without the rows' sources."""
    return kind.__name__ in {"SourceStrata", "PartialPoolingClassifier", "PartialPoolingRegressor"}


def is_tried(value: object) -> bool:
    """Tell whether a public name is an estimator to fit by itself."""
    if not (inspect.isclass(value) and issubclass(value, BaseEstimator)):
        return False
    return value.__module__.split(".")[1] != "fusion" or value.__name__ in ARGUMENTS


def try_commands() -> None:
    """Run every command in a folder of its own."""
    X, y = load_iris(return_X_y=True)
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            ",".join(map(str, [*row, "abc"[label], "yn"[int(label > 0)], "ns"[i % 2]]))
            for i, (row, label) in enumerate(zip(X, y, strict=True))
        ]
        text = "\n".join(["a,b,c,d,species,ill,site", *rows]) + "\n"
        Path(folder, "iris.csv").write_text(text, encoding="utf-8")
        Path(folder, "study.toml").write_text(STUDY, encoding="utf-8")
        for command in COMMANDS:
            done = subprocess.run(  # noqa: S603
                [sys.executable, "-c", "from ensemblage.cli import main; main()", *command.split()],
                cwd=folder, capture_output=True, text=True, check=False,
                env=os.environ | {"COLUMNS": "120"},
            )  # fmt: skip
            assert done.returncode == 0, f"{command}: {done.stdout[-500:]}{done.stderr[-1500:]}"
            print(f"ensemblage {command}: done")  # noqa: T201


def main() -> None:
    """Try everything; the first thing that fails ends it."""
    names = public()
    assert distribution("ensemblage").read_text("METADATA").count("](docs/") == 0
    assert Path(ensemblage.__file__).with_name("py.typed").exists()
    print(f"{len(names)} public names of {ensemblage.__file__}")  # noqa: T201
    for name, value in names.items():
        if is_tried(value) and name not in PARTS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                print(f"{name}: {try_estimator(value)}")  # noqa: T201
    try_commands()


if __name__ == "__main__":
    main()
