"""Self-test of the installation."""

from __future__ import annotations

import os
import platform
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import numpy as np
from joblib import cpu_count
from msgspec import Meta, Struct
from threadpoolctl import threadpool_info

import ensemblage
from ensemblage.datasets import load_dataset
from ensemblage.inner import own_distances
from ensemblage.persistence import load, save
from ensemblage.studies._train import train

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "skops")
# Modules of each extra; a test compares them with the package's metadata.
EXTRAS = {
    "boost": ("lightgbm", "catboost"),
    "consensus": ("mtkahypar", "pymetis"),
    "dask": ("distributed",),
    "excel": ("python_calamine",),
    "plot": ("matplotlib",),
    "report": ("jinja2", "matplotlib"),
    "all": ("pandas", "pyarrow"),
}


class ExtraState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """State of an extra."""

    name: Annotated[str, Meta(description="Name of the extra.")]
    missing: Annotated[
        tuple[str, ...], Meta(description="Packages of the extra that are not installed.")
    ]
    install: Annotated[str, Meta(description="The command that installs it.")]


class SelfTest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Result of one test."""

    name: Annotated[str, Meta(description="Name of the test.")]
    error: Annotated[str | None, Meta(description="Error message; null if the test passed.")]
    seconds: Annotated[float, Meta(ge=0, description="Duration in seconds.")]


class DoctorDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Output of ``doctor`` with ``--json``."""

    healthy: Annotated[bool, Meta(description="Whether all tests passed.")]
    versions: Annotated[
        dict[str, str | None],
        Meta(description="Versions of Python and packages; null if not installed."),
    ]
    cores: Annotated[int, Meta(ge=1, description="Cores available to this process.")]
    blas_threads: Annotated[
        int | None, Meta(description="Threads of the BLAS library; null if not known.")
    ]
    cache: Annotated[
        str | None, Meta(description="Cache folder of compiled kernels; null if there is none.")
    ]
    cache_writable: Annotated[bool, Meta(description="Whether the cache folder is writable.")]
    extras: Annotated[tuple[ExtraState, ...], Meta(description="Optional dependencies.")]
    tests: Annotated[tuple[SelfTest, ...], Meta(description="Self-tests, in order.")]


def examine() -> DoctorDocument:
    """Inspect the machine and run the self-tests, in about two seconds."""
    tests = tuple(_run_test(name, test) for name, test in TESTS.items())
    folder = own_distances.cache_folder
    return DoctorDocument(
        healthy=all(test.error is None for test in tests),
        versions={
            "python": platform.python_version(),
            "ensemblage": ensemblage.__version__,
            **{name: _version(name) for name in LIBRARIES},
        },
        cores=cpu_count(),
        blas_threads=_blas_threads(),
        cache=folder,
        cache_writable=folder is not None and _can_write(Path(folder)),
        extras=tuple(_state(name, packages) for name, packages in EXTRAS.items()),
        tests=tests,
    )


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _blas_threads() -> int | None:
    threads = [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]
    return max(threads, default=None)


def _state(extra: str, packages: tuple[str, ...]) -> ExtraState:
    return ExtraState(
        name=extra,
        missing=tuple(name for name in packages if not _is_installed(name)),
        install=f'pip install "ensemblage[{extra}]"',
    )


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def _can_write(folder: Path) -> bool:
    """Whether a folder is writable, or can be created."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK)


def _run_test(name: str, test: Callable[[], None]) -> SelfTest:
    start = time.perf_counter()
    try:
        test()
        error = None
    except Exception as failure:  # any error is reported
        error = f"{type(failure).__name__}: {' '.join(str(failure).split())}"
    return SelfTest(name=name, error=error, seconds=round(time.perf_counter() - start, 2))


def _kernel_agrees() -> None:
    """Compare a compiled kernel with NumPy."""
    rows, centers, labels = np.arange(12.0).reshape(6, 2), np.eye(2), np.arange(6) % 2
    expected = ((rows - centers[labels]) ** 2).sum(axis=1)
    if not np.array_equal(own_distances(rows, centers, labels), expected):
        raise ArithmeticError("the compiled kernel and NumPy disagree")


def _model_survives_saving() -> None:
    """Fit, predict, save and load."""
    iris = load_dataset("iris")
    model = train(iris, "logistic", n_splits=2).model
    if model.score(iris.X, iris.y) < 0.9:
        raise ArithmeticError("logistic regression has an accuracy below 0.9 on iris")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.skops"
        save(model, path, columns=iris.feature_names, kinds=iris.kinds)
        again = load(path).model.predict(iris.X)
    if not np.array_equal(again, model.predict(iris.X)):
        raise ArithmeticError("a saved and loaded model predicts differently")


TESTS = {
    "compile a kernel and compare it with NumPy": _kernel_agrees,
    "fit, predict, save and load a model": _model_survives_saving,
}
