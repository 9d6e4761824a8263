"""Call paths through the code: files entered, changes of file, returns to earlier files.

Functions are counted once, in the order of their first call. A hop is a step from a function in one
file to the next in another; a return is a hop to a file that was entered before. Work in worker
processes is not counted.

    python benchmarks/count_walks.py            all walks
    python benchmarks/count_walks.py strata     some of them

``reproduce`` reads the papers' datasets from the folder that ENSEMBLAGE_DATA names.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import ensemblage

HOME = str(Path(ensemblage.__file__).parent)
IS_FUNCTION = 0x1  # CO_OPTIMIZED: bodies of classes and modules are not
NOT_NAMED = ("<module>", "<lambda>", "<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>")


def walk(task: Callable[[], None]) -> list[str]:
    """Run a task; return the file of each function, in the order of first calls."""
    seen: set[CodeType] = set()
    files: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code not in seen and _counts(frame):
            seen.add(code)
            files.append(code.co_filename)

    sys.setprofile(note)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            task()
    finally:
        sys.setprofile(None)
    return files


def _counts(frame: FrameType) -> bool:
    code = frame.f_code
    ours = code.co_filename.startswith(HOME)
    if not ours or not code.co_flags & IS_FUNCTION or code.co_name in NOT_NAMED:
        return False
    while (frame := frame.f_back) is not None:  # what runs while a module is imported
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(HOME):
            return False
    return True


def _command(*arguments: str) -> None:
    from ensemblage.cli import app

    try:
        app(list(arguments))
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"ensemblage {' '.join(arguments)} exited with {end.code}") from end


@cache
def _rows() -> tuple[Any, Any]:
    """Rows of three sources, generated before the call path is recorded."""
    from ensemblage.datasets import make_multi_source

    return make_multi_source(n_sources=3, n_samples=200, random_state=0)


def hiss() -> None:
    from ensemblage.strata import HISS

    HISS(random_state=0).fit(_rows()[0])


def strata() -> None:
    from ensemblage.strata import StrataEnsembleClassifier

    X, y = _rows()
    StrataEnsembleClassifier(random_state=0).fit(X, y).predict_proba(X)


def network() -> None:
    from sklearn.datasets import load_iris

    from ensemblage.inner import InnerBayesNetClassifier

    InnerBayesNetClassifier(random_state=0).fit(*load_iris(return_X_y=True))


def pool() -> None:
    from ensemblage.pool import EnsemblageClassifier

    EnsemblageClassifier(random_state=0).fit(*_rows())


def compare() -> None:
    from sklearn.datasets import load_iris

    iris = load_iris()
    species = iris.target_names[iris.target]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "iris.csv")
        with path.open("w", newline="", encoding="utf-8") as file:
            rows = ([*row, name] for row, name in zip(iris.data, species, strict=True))
            csv.writer(file).writerows([[*iris.feature_names, "species"], *rows])
        _command(
            "compare", str(path), "--target", "species", "--folds", "2",
            "-m", "majority", "-m", "logistic", "--jobs", "2",
        )  # fmt: skip


def reproduce() -> None:
    with tempfile.TemporaryDirectory() as folder:
        results = str(Path(folder, "results.sqlite"))
        data = os.environ.get("ENSEMBLAGE_DATA", "../shared/data")
        _command(
            "reproduce", "hiss-table2", "--quick", "--jobs", "1", "--budget", "1s",
            "--results", results, "--data-dir", data,
        )  # fmt: skip


WALKS = {task.__name__: task for task in (hiss, strata, network, pool, compare, reproduce)}


def count(name: str) -> tuple[int, int]:
    """Count files and hops of a call path, in a separate process without caches."""
    done = subprocess.run(
        [sys.executable, __file__, "--here", name], check=True, stdout=subprocess.PIPE, text=True
    )
    files, hops = map(int, done.stdout.split())
    return files, hops


def _count_here(name: str) -> tuple[int, int]:
    _rows()
    files = walk(WALKS[name])
    return len(set(files)), sum(one != other for one, other in pairwise(files))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="WALK", help=", ".join(WALKS))
    parser.add_argument("--here", choices=WALKS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.names if name not in WALKS]:
        parser.error(f"no walk has the name {unknown[0]}; there are {', '.join(WALKS)}")
    if arguments.here:
        print(*_count_here(arguments.here))
        return
    for name in arguments.names or WALKS:
        files, hops = count(name)
        print(f"{name}: {files} files, {hops} hops, {hops - files + 1} returns", flush=True)


if __name__ == "__main__":
    main()
